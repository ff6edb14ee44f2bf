"""What may run on the host beside a GPU has the bits there that it has on the GPU: each operation over all dtypes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.array.ndarray import node_of, wrap
from numloom.base.config import config
from numloom.device import registry
from numloom.engine.verify import same_bits
from numloom.graph.build import elementwise
from numloom.ops.elementwise import ELEMENTWISE

pytestmark = pytest.mark.cuda
CHARS = "?bBhHiIqQefdFD"
COUNT = 400


@pytest.fixture(autouse=True)
def _auto() -> Iterator[None]:
    with config(placement="auto"):
        yield


def numbers(char: str, seed: int = 0) -> Any:
    """Numbers of a dtype: special ones, of all sizes, and ordinary ones."""
    dtype, draw = np.dtype(char), np.random.default_rng(seed)
    if char == "?":
        return draw.random(COUNT) < 0.5
    if dtype.kind in "iu":
        limits = np.iinfo(dtype)
        few = draw.integers(max(-9, limits.min), 9, COUNT // 2)
        wide = draw.integers(limits.min, limits.max, COUNT - few.size - 4, dtype=dtype)
        return np.concatenate([np.array([limits.min, limits.max, 0, 1]), few, wide]).astype(dtype)
    if dtype.kind == "c":
        part = "f" if char == "F" else "d"
        with np.errstate(invalid="ignore"):
            return (draw.permutation(numbers(part, seed)) + 1j * draw.permutation(numbers(part, seed + 1))).astype(
                dtype
            )
    special = [0.0, -0.0, np.inf, -np.inf, np.nan, 1, -1, 0.5, 2, 1e-310, 1e5, 1e22, -3e300, 64.5, 700, -745.2]
    sizes = np.ldexp(draw.standard_normal(COUNT // 4), draw.integers(-60, 60, COUNT // 4))
    ordinary = draw.standard_normal(COUNT - len(special) - sizes.size) * 4
    with np.errstate(over="ignore"):
        return np.concatenate([special, sizes, ordinary]).astype(dtype)


def both(compute: Callable[[], Any]) -> tuple[list[Any], list[Any], bool]:
    """Results with small work on the host and all on the GPU, and whether the former ran on the host."""
    with np.errstate(all="ignore"):
        found = compute()
        found = [*found] if isinstance(found, (tuple, list)) else [found]
        nl.evaluate(*found)
        near = all(node_of(part).buffer.pool is not registry.current().pool for part in found)
        here = [nl.asnumpy(part) for part in found]
        with config(placement="device"):
            there = compute()
            there = [nl.asnumpy(part) for part in (there if isinstance(there, (tuple, list)) else [there])]
    return here, there, near


def compare(here: list[Any], there: list[Any], what: str) -> None:
    for one, other in zip(here, there, strict=True):
        assert one.dtype == other.dtype and one.shape == other.shape, what
        dtype = one.dtype
        same_bits(one.view(), other.view(), nl.asarray(np.zeros(1, dtype)).code, what)


@pytest.mark.parametrize("name", ELEMENTWISE)
def test_operations(name: str) -> None:
    op_def, near = ELEMENTWISE[name], 0
    for char in CHARS:
        hosts = [numbers(char, seed) for seed in range(op_def.nin)]
        if name == "power_by_halves" and char in "efd":  # which is for such exponents alone
            hosts[1] = np.random.default_rng(1).integers(-15, 16, COUNT).astype(char) / 2
        try:
            here, there, on_host = both(
                lambda hosts=hosts: wrap(elementwise(op_def, [node_of(nl.asarray(host)) for host in hosts]))
            )
        except TypeError:
            continue
        near += on_host
        compare(here, there, f"{name} of {char}")
    assert near, name


@pytest.mark.parametrize("char", CHARS)
def test_casts(char: str) -> None:
    for to in CHARS:
        host = numbers(char)
        if np.dtype(char).kind in "fc" and np.dtype(to).kind in "iu":
            host = np.where(np.isfinite(host) & (abs(host) < 100), host, 1).astype(char)  # C says nothing of others
            host = abs(host) if np.dtype(to).kind == "u" else host
        compare(*both(lambda host=host, to=to: nl.asarray(host).astype(to))[:2], f"{char} to {to}")


@pytest.mark.parametrize("char", CHARS)
@pytest.mark.parametrize("shape", [(400,), (20, 20), (4, 10, 10)])
def test_reductions(char: str, shape: tuple[int, ...]) -> None:
    host = numbers(char).reshape(shape)
    for name in ("sum", "prod", "mean", "max", "min", "argmax", "argmin", "any", "all", "var", "std"):
        for axis in (None, 0, -1):
            for order in (host, host.T):
                try:
                    here, there, _ = both(lambda n=name, a=axis, o=order: getattr(nl, n)(nl.asarray(o), axis=a))
                except TypeError:
                    continue
                compare(here, there, f"{name} of {char} over {axis}")


@pytest.mark.parametrize("char", CHARS)
def test_products_and_routines(char: str) -> None:
    a, b = numbers(char)[:144].reshape(12, 12), numbers(char, 3)[:144].reshape(12, 12)
    a = np.where(a == 0, a * a, a)  # Zeros of both signs are equal: which one comes first, no sort says.
    index = np.random.default_rng(2).integers(0, 12, 30)
    for what, call in {
        "matmul": lambda a, b, i: a @ b,
        "dot": lambda a, b, i: nl.dot(a[0], b[:, 1]),
        "einsum": lambda a, b, i: nl.einsum("ij,kj->ik", a, b),
        "sort": lambda a, b, i: nl.sort(a, axis=0),
        "argsort": lambda a, b, i: nl.argsort(a, axis=1, kind="stable"),
        "take": lambda a, b, i: a[i, i[::-1]],
        "mask": lambda a, b, i: a[a > b] if char not in "FD" else a[a == b],
        "nonzero": lambda a, b, i: nl.nonzero(a),
        "unique": lambda a, b, i: nl.unique(a) if char not in "efdFD" else a,
        "cumsum": lambda a, b, i: nl.cumsum(a, axis=1),
        "searchsorted": lambda a, b, i: nl.searchsorted(nl.sort(a[0]), b[0]),
        "histogram": lambda a, b, i: nl.histogram(nl.where(a == a, a, a[0, 5]).clip(-3, 3), 7, (-3, 3))[0],
        "where": lambda a, b, i: nl.where(a == b, a, b * b),
    }.items():
        if char in "FD" and what in ("histogram", "searchsorted"):
            continue
        try:
            here, there, _ = both(lambda call=call: call(nl.asarray(a), nl.asarray(b), nl.asarray(index)))
        except TypeError:
            continue
        compare(here, there, f"{what} of {char}")


@pytest.mark.parametrize("char", "qfdD")
def test_writes(char: str) -> None:
    index = np.random.default_rng(2).integers(0, 40, 30)

    def program() -> Any:
        x, y = nl.asarray(numbers(char)[5:405].reshape(-1, 5).copy()), nl.asarray(numbers(char, 5)[:30])
        x[1:7] += x[3]
        x[:, 2] = x[:, 0] * y[4]
        x[nl.asarray(index), 1] = y
        nl.add.at(x, (nl.asarray(index), 3), y)
        x[x == x[0, 0]] = 3
        x[::-1] = x
        return x

    here, there, on_host = both(program)
    assert on_host
    compare(here, there, f"writes of {char}")
