"""Results lie in memory as NumPy's do: strides of functions over arrays in several orders."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.api import subscripts
from numloom.testing.compare import host

LAYOUTS = {
    "C": lambda x: x,
    "F": lambda x: x.copy(order="F"),
    "turned": lambda x: x.transpose(1, 0, 2),
    "mixed": lambda x: x.transpose(2, 0, 1).copy().transpose(1, 2, 0),
    "backwards": lambda x: x[::-1, :, ::-1],
    "sliced": lambda x: x.copy(order="F")[:, ::-1, ::2],
    "one": lambda x: x.copy(order="F")[:, 1:2],
    "matrix": lambda x: x[0].T,
    "rows": lambda x: x[0, :, ::2],
}

READ = """
x[[1, 0, 1]] | x[[[0, 1], [1, 0]]] | x[:, [0]] | x[..., [0, 1]] | x[::-1, [0, 0]] | x[[1, 0], ::-1] | x[0, [0, 0]]
x[:, [[0], [0]]] | x[..., xp.array([[0, 1], [1, 0]]).T] | x[[1, 0], [0, 0]] | x[[0, 1], ..., [0, 1]] | x[None, [0, 1]]
x[..., 0, [0, 1]] | x[[0, 1], ..., 1] | x[:, [0], None] | x[xp.array(1)] | x[xp.ix_([0, 1], [0])] | x[x[:, 0] > 9]
x[:, xp.asarray([True] * x.shape[1])] | x[1:, [0], ..., ::-1] | x[xp.array([[0, 1], [1, 0]], order="F"), 0]
xp.ravel(x)[xp.asarray([[0, 1], [1, 0]]).T] | xp.take(x, [0, 1], 0) | xp.take(x, [[0, 1]], -1)
xp.compress([1, 0], x, 0)
"""

CALLS = """
x + 1 | x * x[0] | x.copy() | x.copy("K") | xp.copy(x) | xp.array(x) | x.astype("f4") | x.astype("f4", order="A")
xp.zeros_like(x) | xp.full_like(x, 3, order="A") | x.sum(0) | x.mean(-1) | x.max(0, keepdims=True) | x.argmax(0)
x.std(0) | xp.nanmean(x, 0) | xp.nanvar(x, -1) | xp.nanmax(x, 0) | xp.nanmedian(x, 0) | xp.median(x, -1)
xp.nanquantile(x, 0.3, 0) | xp.nanpercentile(x.astype(int), [3, 9], -1) | xp.round(x + 1j, 1)
xp.average(x, -1, weights=x) | xp.cumsum(x, 0) | xp.cumsum(x, -1) | xp.nancumsum(x, 0)
xp.cumulative_sum(x, axis=0, include_initial=True) | xp.diff(x, axis=0) | xp.gradient(x, axis=-1)
xp.sort(x, 0) | xp.sort(x) | xp.argsort(x, 0) | xp.partition(x, 1, 0) | xp.argwhere(x) | xp.where(x > 9, x, 0)
xp.where(x > 9, x, -x) | xp.clip(x, 1, 2) | xp.choose(x.astype(int) % 2, [x, -x]) | xp.select([x > 9], [x], 2)
xp.take_along_axis(x, xp.argsort(x, 0), 0) | xp.delete(x, 1, 0) | xp.delete(x, [0, 1], -1) | xp.insert(x, 1, 7, 0)
xp.insert(x, [0, 1], 7, -1) | xp.append(x, x, 0) | xp.concatenate([x, x], -1) | xp.stack([x, x]) | xp.stack([x, x], -1)
xp.tile(x, 2) | xp.repeat(x, 2, -1) | xp.pad(x, 1) | xp.roll(x, 1, 0) | xp.roll(x, 1) | x.reshape(-1) | x.reshape(2, -1)
x.reshape(x.shape[::-1], order="F") | x.ravel("K") | x.flatten("F") | xp.triu(x) | xp.unique(x, axis=0)
xp.matmul(x, xp.swapaxes(x, -1, -2)) | xp.matmul(xp.swapaxes(x, -1, -2), x) | x @ xp.ones(x.shape[-1])
xp.ones(x.shape[-2]) @ x | xp.matvec(x, xp.ones(x.shape[-1])) | xp.vecmat(xp.ones(x.shape[-2]), x) | xp.vecdot(x, x)
xp.dot(x, 2.0) | xp.dot(x, xp.ones(x.shape[-1])) | xp.inner(x, x) | xp.tensordot(x, x, ((0,), (0,))) | xp.kron(x, x)
xp.stack([x, x]) @ xp.swapaxes(x, -1, -2) | xp.swapaxes(xp.stack([x, x], -1), 0, -1) @ xp.ones((x.shape[0], 3))
xp.einsum("...i->...", x) | xp.einsum("i...->...i", x) | xp.einsum("i...,i...->...", x, x)
xp.einsum("...ij,...kj->...ki", x, x) | xp.einsum("...ij,...kj->ki...", x, x) | xp.einsum("i...j,k...j->...ik", x, x)
xp.linalg.pinv(x) | xp.linalg.norm(x, axis=0) | xp.linalg.qr(x)[0] | xp.fft.fft(x, axis=0) | xp.add.accumulate(x, 0)
xp.subtract.reduce(x, 0) | xp.add.reduceat(x, [0, 1], 0) | xp.add.outer(x, [1, 2]) | xp.apply_along_axis(abs, 0, x)
"""


def evaluated(text: str, xp: Any, layout: str) -> tuple[Any, Any]:
    x = LAYOUTS[layout](xp.asarray(np.arange(1.0, 25).reshape(2, 3, 4)))
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            return eval(text, {"xp": xp, "x": x}), None
    except (ValueError, IndexError) as error:
        return None, type(error)


def strides(array: Any) -> list[int]:
    """Strides that say something: an axis of extent 1 may have any."""
    return [stride for stride, extent in zip(array.strides, array.shape, strict=True) if extent != 1 and array.size]


@pytest.mark.parametrize("layout", LAYOUTS)
def test_strides_are_numpys(layout: str) -> None:
    wrong, count = [], 0
    for text in (READ + CALLS).replace("\n", " | ").split(" | "):
        if text:
            (ours, raised), (theirs, expected) = (evaluated(text, xp, layout) for xp in (nl, np))
            if expected is not None:
                continue
            count += 1
            assert raised is None and ours.shape == theirs.shape, text
            if strides(ours) != strides(theirs):
                wrong.append(f"{text}: {ours.strides}, NumPy has {theirs.strides}")
    assert not wrong, "\n".join(wrong)
    assert count > 80


@pytest.mark.parametrize("layout", ["F", "turned", "backwards"])
def test_what_is_read_at_indices_in_these_orders(layout: str) -> None:
    for text in READ.replace("\n", " | ").split(" | "):
        if text:
            (ours, raised), (theirs, expected) = (evaluated(text, xp, layout) for xp in (nl, np))
            assert raised is expected, text
            if expected is None:
                np.testing.assert_array_equal(host(ours), theirs, err_msg=text)


def test_large_reads_across_rows_stay_in_c_order(monkeypatch: pytest.MonkeyPatch) -> None:
    """NumPy's order would be read across: see docs/differences.md."""
    x = np.arange(12.0).reshape(3, 4)
    monkeypatch.setattr(subscripts, "ACROSS", 5)
    for host_array, expected in ((x, (16, 8)), (np.asfortranarray(x), (8, 24))):
        read = nl.asarray(host_array)[:, [2, 0]]
        assert read.strides == expected
        np.testing.assert_array_equal(host(read), x[:, [2, 0]])


NAMED = """
x.reshape(2, -1, order=order) | xp.reshape(x, -1, order=order) | x.ravel(order=order) | xp.ravel(x, order=order)
x.flatten(order=order) | x.copy(order=order) | xp.copy(x, order=order) | xp.array(x, order=order)
xp.array([[1, 2], [3, 4]], order=order) | xp.asarray(x, order=order) | xp.asanyarray(x, order=order)
xp.asarray([[1, 2], [3, 4]], order=order) | x.astype("f4", order=order) | x.astype("f8", order=order)
xp.zeros((2, 3), order=order) | xp.empty((2, 3), order=order) | xp.ones((2, 3), order=order)
xp.full((2, 3), 1, order=order) | xp.full((2, 3), [1, 2, 3], order=order) | xp.zeros_like(x, order=order)
xp.empty_like(x, order=order) | xp.full_like(x, 1, order=order) | xp.ones_like(x, order=order) | xp.eye(3, order=order)
xp.eye(0, order=order) | xp.zeros_like(x, shape=(2, 5, 2, 2), order=order) | xp.add(x, 1, order=order)
xp.sqrt(x, order=order) | xp.clip(x, 0, 1, order=order) | xp.matmul(x, x.swapaxes(-1, -2), order=order)
xp.vecdot(x, x, order=order) | xp.einsum("...ij->...ij", x, order=order)
xp.einsum("...i,...i->...i", x, x, order=order)
xp.asarray_chkfinite(x, order=order) | xp.ravel_multi_index(([1], [2]), (3, 4), order=order)
xp.ravel_multi_index((xp.asarray([1]), [2]), (3, 4), order=order) | xp.unravel_index(5, (3, 4), order=order)[0]
xp.unravel_index(xp.asarray([5, 7]), (3, 4), order=order)[1] + 0 | x.tobytes(order=order) | xp.nditer(x, order=order)
"""


@pytest.mark.parametrize("layout", ["C", "F", "mixed"])
@pytest.mark.parametrize("order", ["C", "F", "A", "K", "c", "f", "a", "k", None, b"F", "", "x", "CC", "Fortran", 1])
def test_names_of_orders_are_numpys(order: Any, layout: str) -> None:
    for text in NAMED.replace("\n", " | ").split(" | "):
        results: list[Any] = []
        for xp in (nl, np) if text else ():
            x = LAYOUTS[layout](xp.asarray(np.arange(1.0, 25).reshape(2, 3, 4)))
            try:
                results.append(eval(text, {"xp": xp, "x": x, "order": order}))
            except (ValueError, TypeError) as error:
                results.append(type(error))
        if text and isinstance(results[1], (type, bytes)):
            assert results[0] == results[1], text
        elif text and isinstance(results[1], np.ndarray):
            assert not isinstance(results[0], type), text
            assert strides(results[0]) == strides(results[1]), text
            if "empty" not in text:
                np.testing.assert_array_equal(host(results[0]), results[1], err_msg=text)


READ_OR_REDUCED = """
x[xp.asarray([True, False, True, True][: x.shape[0]])] | x[xp.asarray([True] * x.shape[0]), :, None] | x[x > 3] | x > 3
x[xp.asarray(np.arange(x.shape[0] * x.shape[1]).reshape(x.shape[:2]) % 3 == 0)] | xp.round(x, 1) | xp.round(x)
xp.round(x, -1) | x.round(2) | xp.median(x, axis=0) | xp.median(x, axis=1) | xp.median(x, axis=-1)
xp.median(x, axis=0, keepdims=True) | xp.median(x, axis=(0, 1)) | xp.percentile(x, 50, axis=0)
xp.percentile(x, 50, -1)
xp.percentile(x, [25, 75], axis=1) | xp.quantile(x, 0.3, axis=0, method="lower")
xp.quantile(x, [0.1, 0.2], 0, keepdims=True)
"""
WHOLE = {
    **LAYOUTS,
    "repeated": lambda x: (nl if type(x) is nl.ndarray else np).broadcast_to(x[:1], x.shape),
    "repeated rows": lambda x: (nl if type(x) is nl.ndarray else np).broadcast_to(x[:, :1], x.shape),
    "repeated elements": lambda x: (nl if type(x) is nl.ndarray else np).broadcast_to(x[..., :1], x.shape),
    "repeated whole": lambda x: (nl if type(x) is nl.ndarray else np).broadcast_to(x.copy(order="F"), (3, *x.shape)),
}


@pytest.mark.parametrize("layout", WHOLE)
def test_masks_roundings_and_quantiles_lie_as_numpys(layout: str) -> None:
    for text in READ_OR_REDUCED.replace("\n", " | ").split(" | "):
        results: list[Any] = []
        for xp in (nl, np) if text else ():
            x = WHOLE[layout](xp.asarray(np.arange(1.0, 25).reshape(2, 3, 4)))
            results.append(eval(text, {"xp": xp, "x": x, "np": np}))
        if text:
            assert strides(results[0]) == strides(results[1]), text
            np.testing.assert_allclose(host(results[0]), results[1], err_msg=text)


SHAPES = [(1, 8), (8, 1), (2, 4), (1, 2, 4), (2, 1, 4), (8,), (), (1, 1), (0, 3), (2, 1, 2, 2)]


@pytest.mark.parametrize("order", ["A", "C", "F"])
@pytest.mark.parametrize("shape", SHAPES)
def test_reshapes_in_order_of_arrays_with_axes_of_one(shape, order):
    """Such an axis lies anywhere, so an array may have both orders."""
    size = int(np.prod(shape))
    for made in (
        lambda xp: xp.arange(size).reshape(shape),
        lambda xp: xp.zeros(shape, order="F") + xp.arange(size).reshape(shape),
    ):
        for new in [(-1,), (size, 1), (1, size), *([(2, -1), (-1, 2)] if size % 2 == 0 and size else [])]:
            for then in (lambda x: x, lambda x: x[None], lambda x: x[..., None], lambda x: x.T):
                theirs, ours = (then(made(xp)).reshape(new, order=order) for xp in (np, nl))
                np.testing.assert_array_equal(ours.get(), theirs, strict=True)
                theirs, ours = (xp.add(then(made(xp)), 1, order=order) for xp in (np, nl))
                assert ours.flags.fnc == theirs.flags.fnc
                np.testing.assert_array_equal(ours.get(), theirs, strict=True)
