"""Patterns over rows: one kernel, NumPy's numbers, and the bits of the same operations run one by one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.device.registry import current
from numloom.testing import assert_bits_equal, assert_kernels

pytestmark = pytest.mark.skipif(
    nl.config.eager or nl.config.executor != "fused", reason="counts are those of the fused executor, not eager"
)


def softmax(xp: Any, x: Any) -> Any:
    e = xp.exp(x - x.max(-1, keepdims=True))
    return e / e.sum(-1, keepdims=True)


def log_softmax(xp: Any, x: Any) -> Any:
    top = x - x.max(-1, keepdims=True)
    return top - xp.log(xp.exp(top).sum(-1, keepdims=True))


def logsumexp(xp: Any, x: Any) -> Any:
    top = x.max(-1)
    return xp.log(xp.exp(x - top[..., None]).sum(-1)) + top


def layer_norm(xp: Any, x: Any) -> Any:
    centred = x - x.mean(-1, keepdims=True)
    gain = xp.arange(x.shape[-1], dtype=x.dtype)
    return centred / xp.sqrt((centred * centred).mean(-1, keepdims=True) + 1e-5) * gain + x.dtype.type(0.5)


def standardise(xp: Any, x: Any) -> Any:
    return (x - x.mean(-1, keepdims=True)) / (x.std(-1, keepdims=True) + 1)


def normalise(xp: Any, x: Any) -> Any:
    return x / (xp.sqrt((x * x).sum(-1, keepdims=True)) + 1)


def scale(xp: Any, x: Any) -> Any:
    low, high = x.min(-1, keepdims=True), x.max(-1, keepdims=True)
    return (x - low) / (high - low + 1)


def centre(xp: Any, x: Any) -> Any:
    return x - x.mean(-1)[..., None]


def above_the_mean(xp: Any, x: Any) -> Any:
    return (x > x.mean(-1, keepdims=True)).sum(-1)


def furthest(xp: Any, x: Any) -> Any:
    return abs(x - x[..., ::-1]).argmax(-1)


def from_the_peak(xp: Any, x: Any) -> Any:
    return xp.arange(x.shape[-1]) - x.argmax(-1, keepdims=True)


def twice_standardised(xp: Any, x: Any) -> Any:
    return standardise(xp, standardise(xp, x) * 3)


PATTERNS = (
    softmax, log_softmax, logsumexp, layer_norm, standardise, normalise, scale, centre, above_the_mean,
    from_the_peak, twice_standardised,
)  # fmt: skip


def numbers(shape: tuple[int, ...], dtype: str = "f4", seed: int = 0) -> Any:
    return np.random.default_rng(seed).standard_normal(shape).astype(dtype)


def one_by_one(pattern: Callable[..., Any], *inputs: Any) -> Any:
    """The pattern with every operation run at once."""
    with nl.config(eager=True):
        return nl.asnumpy(pattern(nl, *inputs))


def check(pattern: Callable[..., Any], host: Any, kernels: int = 1) -> None:
    x = nl.asarray(host)
    nl.synchronize()
    with assert_kernels(kernels):
        got = pattern(nl, x)
        nl.evaluate(got)
    want = pattern(np, host)
    assert got.shape == want.shape
    assert got.dtype == want.dtype
    assert_bits_equal(got, one_by_one(pattern, x))
    if host.dtype.kind == "f":
        wide = pattern(np, host.astype("f8")) if host.dtype != "f8" else want
        np.testing.assert_allclose(
            nl.asnumpy(got).astype("f8"), wide, rtol={2: 3e-2, 4: 1e-4, 8: 1e-11}[host.itemsize],
            atol={2: 3e-2, 4: 1e-4, 8: 1e-11}[host.itemsize] * max(1, host.shape[-1] if pattern is layer_norm else 1),
        )  # fmt: skip
    else:
        np.testing.assert_allclose(nl.asnumpy(got), want, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("shape", [(3, 7), (40, 16), (9, 64), (5, 1000), (2, 5000), (3, 20000)], ids=str)
@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(pattern: Callable[..., Any], shape: tuple[int, int]) -> None:
    check(pattern, numbers(shape))


@pytest.mark.parametrize("dtype", ["f2", "f8", "i4", "u1", "?"])
@pytest.mark.parametrize("pattern", [softmax, standardise, centre, normalise])
def test_dtypes(pattern: Callable[..., Any], dtype: str) -> None:
    if dtype == "?" and pattern is not centre and pattern is not standardise:
        pytest.skip("NumPy subtracts no truth values")
    host = numbers((6, 300), "f8") * 3
    check(pattern, host.astype(dtype) if dtype != "u1" else abs(host).astype(dtype))


@pytest.mark.parametrize("pattern", [softmax, standardise, logsumexp])
def test_batches_and_layouts(pattern: Callable[..., Any]) -> None:
    check(pattern, numbers((3, 4, 50)))
    check(pattern, numbers((100,)))
    host = numbers((60, 80))
    x = nl.asarray(host)
    for view in (lambda a: a[::2, 3:70], lambda a: a[5:, ::-1], lambda a: a.reshape(60, 8, 10)):
        with assert_kernels(1):
            got = pattern(nl, view(x))
            nl.evaluate(got)
        np.testing.assert_allclose(nl.asnumpy(got), pattern(np, view(host)), rtol=1e-4, atol=1e-6)
        assert_bits_equal(got, one_by_one(pattern, view(x)))


def test_both_axes_of_small_images() -> None:
    x = numbers((5, 12, 20))
    check(lambda xp, a: (a - a.mean((1, 2), keepdims=True)) / a.std((1, 2), keepdims=True), x)
    check(lambda xp, a: a - a.mean(), numbers((30, 40)))


def test_results_of_rows_are_stored_where_they_are_held() -> None:
    host = numbers((50, 300))
    x = nl.asarray(host)
    nl.synchronize()
    with assert_kernels(1):
        top = x.max(1, keepdims=True)
        e = nl.exp(x - top)
        total = e.sum(1)
        y = e / total[:, None]
        nl.evaluate(y)
    for got, want in ((top, host.max(1, keepdims=True)), (e, np.exp(host - host.max(1, keepdims=True)))):
        np.testing.assert_allclose(nl.asnumpy(got), want, rtol=1e-5)
    np.testing.assert_allclose(nl.asnumpy(total), np.exp(host - host.max(1, keepdims=True)).sum(1), rtol=1e-5)
    np.testing.assert_allclose(nl.asnumpy(y).sum(1), 1, rtol=1e-5)


def test_operands_that_rows_share_or_own() -> None:
    x, gain, weight = numbers((40, 70)), numbers((70,), seed=1), numbers((40, 1), seed=2)

    def pattern(xp: Any, a: Any, b: Any, c: Any) -> Any:
        y = a * (c * c) - (a * b).sum(1, keepdims=True)
        return y * b / (abs(y).max(1, keepdims=True) + abs(c))

    arrays = [nl.asarray(each) for each in (x, gain, weight)]
    nl.synchronize()
    with assert_kernels(1):
        got = pattern(nl, *arrays)
        nl.evaluate(got)
    np.testing.assert_allclose(nl.asnumpy(got), pattern(np, x, gain, weight), rtol=1e-4, atol=1e-5)
    assert_bits_equal(got, one_by_one(pattern, *arrays))


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("shape", [(2, 100_000), (3, 70_000), (1, 131_072)], ids=str)
@pytest.mark.parametrize(("pattern", "kernels"), [(softmax, 3), (standardise, 2), (centre, 2)])
def test_long_rows(pattern: Callable[..., Any], kernels: int, shape: tuple[int, ...], dtype: str) -> None:
    """One kernel where blocks may share rows."""
    check(pattern, numbers(shape, dtype), 1 if current().cluster > 1 else kernels)


@pytest.mark.parametrize("dtype", ["f4", "f8", "f2"])
@pytest.mark.parametrize("shape", [(5, 50), (300, 40), (64, 1000), (3000, 33), (7000, 64)], ids=str)
@pytest.mark.parametrize(("pattern", "kernels"), [(softmax, 3), (standardise, 2), (centre, 2)])
def test_columns(pattern: Callable[..., Any], kernels: int, shape: tuple[int, ...], dtype: str) -> None:
    """One kernel where blocks may share them."""
    check(lambda xp, x: pattern(xp, x.T), numbers(shape, dtype), 1 if current().cluster > 1 else kernels)


def test_other_rows_are_not_of_this_row() -> None:
    # Row i reads the result of row n - 1 - i, or of its column: no kernel of its own.
    host = numbers((30, 30))
    x = nl.asarray(host)
    m = x.max(1, keepdims=True)
    np.testing.assert_array_equal(nl.asnumpy(x - m[::-1]), host - host.max(1, keepdims=True)[::-1])
    np.testing.assert_array_equal(nl.asnumpy(x - x.max(1)), host - host.max(1))
    np.testing.assert_array_equal(
        nl.asnumpy(x - x.max(1, keepdims=True).T * 2), host - host.max(1, keepdims=True).T * 2
    )
    e = nl.exp(x)
    np.testing.assert_allclose(nl.asnumpy(e.T - e.sum(1, keepdims=True)), np.exp(host).T - np.exp(host).sum(
        1, keepdims=True), rtol=1e-4, atol=1e-4)  # fmt: skip


def test_sums_of_other_orders_keep_their_bits() -> None:
    # Two sums over one space whose operands lie in different orders: each has its own tree.
    x, y = nl.asarray(numbers((60, 50))), nl.asarray(np.asfortranarray(numbers((60, 50), seed=1)))
    with nl.config(eager=True):
        alone = nl.asnumpy((x * 1.5).sum()), nl.asnumpy((y * 1.5).sum())
    a, b = (x * 1.5).sum(), (y * 1.5).sum()
    nl.evaluate(a, b)
    assert_bits_equal(a, alone[0])
    assert_bits_equal(b, alone[1])
