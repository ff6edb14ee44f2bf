"""Short forms of functions: loops that try them first have the bits of loops that do not."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numloom
from numloom.ops.elementwise import ELEMENTWISE

sys.path.insert(0, str(Path(__file__).parents[1] / "ops"))

from single_loops import DTYPE, build, loops_of, same_bits, special_values

pytestmark = pytest.mark.optimized
FAST = [name for name, op_def in ELEMENTWISE.items() if op_def.fast_path and op_def.ufunc is not None]


def has_fast_path(name: str, loop: Any) -> bool:
    """Whether a loop has a short form."""
    return DTYPE[loop[1][0]].kind in ELEMENTWISE[name].fast_path


LOOPS = {loop[:2]: loop for name in FAST for loop in loops_of(ELEMENTWISE[name]) if has_fast_path(name, loop)}
SHARES = (0, 0.001, 0.2, 1)
"""Which part of the arguments is out of the ordinary."""


def arguments(char: str, count: int, share: float, rng: Any) -> Any:
    """Ordinary positive numbers, and among them others."""
    if char in "FD":
        part = char.lower()
        found = np.empty(count, DTYPE[char])
        found.real, found.imag = arguments(part, count, share, rng), arguments(part, count, share, rng)
        found[rng.random(count) < share] = special_values(char)[rng.integers(0, 81)]
        return found * rng.choice([1, 0.01], count).astype(part)
    angles = np.geomspace(5e4, 2e6, 41)  # where sine and cosine take the slow path
    special = np.concatenate([special_values(char), -np.geomspace(1e-3, 900, 40), np.geomspace(80, 900, 40), angles])
    found = rng.uniform(0.01, 4, count)
    others = rng.random(count) < share
    found[others] = rng.choice(special, others.sum())
    return found.astype(DTYPE[char])


@pytest.fixture(scope="module")
def expected() -> Any:
    return build(tuple(LOOPS.values()))


@pytest.fixture(autouse=True)
def on_compiled_kernels() -> Any:
    with numloom.config(device="cpu", cpu_compile="wait"), np.errstate(all="ignore"):
        yield


def test_there_are_such_functions() -> None:
    assert {"exp", "log", "power", "logaddexp", "sin", "tan"} <= set(FAST)


@pytest.mark.parametrize(("name", "chars"), LOOPS)
def test_bits_of_vectors(name: str, chars: str, expected: Any) -> None:
    rng = np.random.default_rng(0)
    call, loop = getattr(numloom, name), LOOPS[name, chars]
    for share in SHARES:
        for count in (0, 1, 7, 16, 33, 511, 512, 517, 5000):
            hosts = [arguments(char, count, share, rng) for char in chars]
            got = call(*(numloom.array(host) for host in hosts)).get()
            assert same_bits(got, expected[loop](*hosts)).all(), (share, count)


@pytest.mark.parametrize(("name", "chars"), [key for key in LOOPS if key[1][0] in "fdFD"])
def test_bits_of_other_layouts(name: str, chars: str, expected: Any) -> None:
    rng = np.random.default_rng(1)
    call, loop = getattr(numloom, name), LOOPS[name, chars]
    for share in SHARES:
        hosts = [arguments(char, 61 * 134, share, rng).reshape(61, 134) for char in chars]
        arrays = [numloom.array(host) for host in hosts]
        for part in (np.s_[:, ::2], np.s_[::3, 5:], np.s_[:, 3], np.s_[:, :17]):
            got = call(*(array[part] for array in arrays)).get()
            assert same_bits(got, expected[loop](*(host[part] for host in hosts))).all(), (share, part)
        if len(chars) == 2:
            got = call(arrays[0], arrays[1][:, :1]).get()
            assert same_bits(got, expected[loop](hosts[0], np.repeat(hosts[1][:, :1], 134, 1))).all(), share
            across = call(arrays[0][:60, :60], arrays[1][:60, :60].T).get()
            assert same_bits(across, expected[loop](hosts[0][:60, :60], hosts[1][:60, :60].T)).all(), share


@pytest.mark.parametrize("char", "fd")
def test_bits_in_place_and_in_chains(char: str, expected: Any) -> None:
    rng = np.random.default_rng(2)
    for share in SHARES:
        host = arguments(char, 3001, share, rng)
        x = numloom.array(host)
        exp, log = (expected[LOOPS[name, char]] for name in ("exp", "log"))
        assert same_bits((numloom.exp(x) + numloom.log(x)).get(), exp(host) + log(host)).all()
        assert (numloom.log(x) > 0).get().tolist() == (log(host) > 0).tolist()
        both = expected[LOOPS["exp", "d"]](log(host).astype("d"))
        assert same_bits(numloom.exp(numloom.log(x).astype("f8")).get(), both).all()
        numloom.exp(x, out=x)
        assert same_bits(x.get(), exp(host)).all()
