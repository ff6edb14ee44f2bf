"""``config.verify`` runs remembered ways beside full ones, and finds what is wrong in them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from math import prod
from typing import Any

import numpy as np
import pytest

import numloom as nl
from apart import stand_in
from numloom.api import reductions, verifying
from numloom.api.calling import replayed
from numloom.array.ndarray import wrap
from numloom.base.config import config
from numloom.base.dtypes import DTYPES, F64, ITEMSIZES, LOW
from numloom.device import registry
from numloom.engine import evaluate, routines
from numloom.engine.verify import VerificationError, same_bits, same_value
from numloom.graph.build import leaf

PLACES = {
    "computed": (evaluate, "check_computed"),
    "calls": (verifying, "same_bits"),
    "routines": (routines, "same_value"),
}


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> Iterator[Counter[str]]:
    """How often each comparison was made, while all are."""
    counts: Counter[str] = Counter()

    def counting(name: str, function: Any) -> Any:
        def count(*given: Any) -> Any:
            counts[name] += 1
            return function(*given)

        return count

    for name, (module, function) in PLACES.items():
        monkeypatch.setattr(module, function, counting(name, getattr(module, function)))
    with config(verify=True):
        yield counts


def program(xp: Any, k: int) -> list[Any]:
    """A bit of everything that is remembered."""
    x = xp.arange(24.0).reshape(4, 6) * k
    y = xp.sin(x) + x.T.reshape(4, 6)
    x[1:3, ::2] += y[1:3, 1::2]
    x[[0, 1]] = x[[1, 0]] * k
    xp.add.at(x, ([0, 0], [1, 1]), k)
    z = (x * 0.5 + y).sum(axis=0) / (1 + abs(k))
    return [x, y, z, xp.median(x), xp.sort(y, axis=None), x @ y.T, xp.cumsum(x), x.mean(1), xp.where(x > k, x, y)]


def test_programs_pass(compared: Counter[str]) -> None:
    for k in (1, 2, 3, -4, 5, 6):
        for got, want in zip(program(nl, k), program(np, k), strict=True):
            np.testing.assert_allclose(got.get(), want, rtol=1e-12, atol=1e-12)
        rng = nl.random.default_rng(abs(k))
        assert rng.normal(size=5).shape == (5,) and rng.integers(0, 9, 7).max() < 9
    assert compared["computed"] > 20
    if not config.eager:
        assert compared["calls"] > 20


def test_draws_take_the_same_numbers() -> None:
    def draws() -> list[Any]:
        rng = nl.random.default_rng(7)
        return [rng.random(3).get().tolist() for _ in range(6)] + [rng.normal(size=(2, 2)).get().tolist()]

    expected = draws()
    with config(verify=True):
        assert draws() == expected


@pytest.mark.skipif(config.eager, reason="nothing is replayed")
def test_a_wrong_chain_is_found() -> None:
    x = nl.asarray(np.arange(213.0).reshape(3, 71))
    for _ in range(4):
        x.sum(0).get(), x.max(0).get()
    chains = {}
    for name, plain in (("sum", reductions._SUM), ("max", reductions._MAX)):
        known = plain.traces.known.entries
        [chains[name]] = [chain for key, chain in known.items() if key[:3] == (0, F64, (3, 71))]
    kept = list(chains["sum"].instructions)
    chains["sum"].instructions[:] = chains["max"].instructions
    try:
        with config(verify=False):
            assert x.sum(0).get().tolist() == x.max(0).get().tolist()
        with config(verify=True), pytest.raises(VerificationError, match="replayed call"):
            x.sum(0)
    finally:
        chains["sum"].instructions[:] = kept
    with config(verify=True):
        assert x.sum(0).get().tolist() == np.arange(213.0).reshape(3, 71).sum(0).tolist()


def first_of(x: Any) -> float:
    """The first element of an array's memory, unknown to whoever learns the call."""
    memory = registry.current().view(x.storage.value.buffer)
    assert memory is not None
    return float(memory.view(np.float64)[0])


needs_learning = pytest.mark.skipif(config.eager or registry.current().discrete, reason="nothing is replayed, or seen")


@needs_learning
@pytest.mark.parametrize("operand", [[5.0, 5.0, 5.0], [1.0, 2.0, 3.0]])
def test_what_a_call_keeps_of_its_numbers_is_found_when_it_is_learned(operand: list[float]) -> None:
    """It would be right of these numbers for ever."""

    @replayed
    def wrong(x: Any) -> Any:
        return x * 0 + first_of(x)

    @replayed(in_place=True)
    def overwrite(x: Any) -> None:
        x[1:] = first_of(x) * x[1:]

    x = nl.asarray(np.array(operand))
    for call in (wrong, overwrite):
        with config(verify=True), pytest.raises(VerificationError, match="replayed"):
            for _ in range(2):
                call(x)
                x.get()  # runs what was written


@needs_learning
def test_what_was_recalled_for_a_call_that_is_learned_is_compared() -> None:
    @replayed
    def wrong(x: Any) -> Any:
        return x * 0 + first_of(x)

    @replayed
    def outer(x: Any) -> Any:
        return wrong(x) + 1

    x, y = (nl.asarray(np.array([k, 2.0, 3.0])) for k in (1.0, 7.0))
    with config(verify=False):
        for _ in range(3):
            wrong(x).get()
    with config(verify=True), pytest.raises(VerificationError, match="replayed"):
        for _ in range(2):
            outer(y)


def test_calls_are_tried_on_arrays_like_theirs(compared: Counter[str]) -> None:
    """Parts, transposes, arrays of one memory, read-only ones, and elements that a call does not take."""
    host = np.arange(24.0).reshape(4, 6)
    for k in (1, 2, 3):
        x = nl.asarray(host * k)
        expected = [np.median(host[::2].T * k, axis=1), np.vdot(host[0] * k, host[1, ::-1] * k),
                    np.take(host * k, [3, 0, 2], axis=0), np.digitize([k, 9], host[0] * k),
                    np.cumsum(host.real[:, ::-3] * k), np.searchsorted(host[:, 1] * k, [k, 30])]  # fmt: skip
        row = x[0]
        row.setflags(write=False)
        rows, found, levels = (nl.asarray(np.array(given)) for given in ([3, 0, 2], [k, 9], [k, 30]))
        got = [nl.median(x[::2].T, axis=1), nl.vdot(row, x[1, ::-1]), nl.take(x, rows, axis=0),
               nl.digitize(found, row), nl.cumsum(x.real[:, ::-3]), nl.searchsorted(x[:, 1], levels)]  # fmt: skip
        x[[0, 1]] = x[[1, 0]]
        for one, other in zip(got, expected, strict=True):
            np.testing.assert_allclose(one.get(), other)
        assert x.get().tolist() == (host * k)[[1, 0, 2, 3]].tolist()


def test_wrong_bits_are_found() -> None:
    nan, other = np.array([0x7FF8000000000000, 0x7FF8000000000001], np.uint64).view(np.float64)
    code = nl.zeros(1).code
    one = np.array([1.0, nan, -0.0])
    same_bits(one.view(np.uint8), np.array([1.0, other, -0.0]).view(np.uint8), code, "x")
    with pytest.raises(VerificationError, match="1 of 3"):
        same_bits(one.view(np.uint8), np.array([1.0, other, 0.0]).view(np.uint8), code, "x")
    truth = nl.zeros(1, bool).code
    same_bits(np.array([1, 85, 0], np.uint8), np.array([255, 1, 0], np.uint8), truth, "x")
    with pytest.raises(VerificationError, match="1 of 3"):
        same_bits(np.array([1, 85, 0], np.uint8), np.array([1, 0, 0], np.uint8), truth, "x")


STRIDES = {
    "one row": ((1, 3), (24, 8), (8, 8)),
    "one column": ((3, 1), (8, 8), (8, 24)),
    "nothing": ((0, 3), (24, 8), (8, 0)),
}


@pytest.mark.parametrize("name", STRIDES)
def test_strides_that_lead_nowhere_are_not_compared(name: str) -> None:
    shape, *strides = STRIDES[name]
    device, read = registry.current(), evaluate.leaf_memory
    host = np.arange(float(prod(shape)))
    nodes = [leaf(device.upload(host.view(np.uint8)), F64, shape, each) for each in strides]
    same_value(*nodes, device, read, "x")
    arrays = [wrap(node) for node in nodes]
    verifying.compare(*arrays)
    other = leaf(device.upload((host + 1).view(np.uint8)), F64, shape, strides[1])
    turned = leaf(device.upload(np.zeros(6).view(np.uint8)), F64, (2, 3), (8, 16))
    for one, two in ((nodes[0], other), (turned, leaf(turned.buffer, F64, (2, 3), (24, 8)))):
        if one.size:
            with pytest.raises(VerificationError):
                same_value(one, two, device, read, "x")
            with pytest.raises(VerificationError):
                verifying.compare(wrap(one), wrap(two))


@pytest.mark.parametrize("code", LOW, ids=lambda code: DTYPES[code].name)
def test_wrong_bits_of_low_precision_are_found(code: int) -> None:
    size = ITEMSIZES[code]
    bits = np.arange(1 << 8 * size, dtype=f"u{size}")
    with np.errstate(invalid="ignore"):
        nans = np.flatnonzero(bits.view(DTYPES[code]) != bits.view(DTYPES[code]))
    one_nan = bits.copy()
    one_nan[nans] = bits[nans[0]]
    same_bits(bits.view(np.uint8), one_nan.view(np.uint8), code, "NaN is NaN")
    for at in np.setdiff1d(np.arange(0, bits.size, 5 if size == 1 else 509), nans):
        wrong = bits.copy()
        wrong[at] ^= 1
        with pytest.raises(VerificationError, match="1 of"):
            same_bits(bits.view(np.uint8), wrong.view(np.uint8), code, "one bit")


def test_memory_that_nothing_was_written_to_is_not_compared(compared: Counter[str]) -> None:
    for _ in range(6):
        x = nl.empty((3, 5))
        y = nl.empty_like(x) * 2
        y[1:, ::2] = 3
        assert y[1:, ::2].get().tolist() == [[3] * 3] * 2


def written(xp: Any, x: Any, k: int) -> Any:
    """A copy with one row of its own."""
    y = xp.copy(x)
    y[k] = k + 7
    return y


def test_values_of_one_array_in_memory_of_the_host_are_computed_apart() -> None:
    """Each alone on the device, where the array is brought for that: none writes to what the next one reads."""
    host = np.arange(12.0).reshape(4, 3)
    with stand_in(), config(verify=True):
        shared = nl.asarray(host)
        parts = [written(nl, shared, k) for k in range(4)]
        for k, part in enumerate(parts):
            np.testing.assert_array_equal(part.get(), written(np, host, k))


def test_an_array_that_is_written_meanwhile_is_compared_with_what_it_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """As another thread may, while its value is computed: it does not come to lie in the memory of the old one."""
    first = evaluate.computed_apart
    host = np.arange(6000.0).reshape(30, 200)
    x = nl.asarray(host)
    y = written(nl, x, 3)

    def then_write(*given: Any) -> Any:
        found = first(*given)
        y[:, 1:3] += y[:, :2]
        return found

    with config(verify=True):
        monkeypatch.setattr(evaluate, "computed_apart", then_write)
        (x * 2).get()  # runs what all arrays wait for
        monkeypatch.undo()
        expected = written(np, host, 3)
        expected[:, 1:3] += expected[:, :2]
        np.testing.assert_array_equal(y.get(), expected)
