"""What NumPy gives as a scalar stands for one here, and what it gives as a 0-d array is an array that names share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing.compare import host

CALLS = """
x.sum() | x.max() | x.mean() | x.var() | xp.median(x) | xp.percentile(x, 50) | xp.quantile(x, .5) | xp.nanmedian(x)
xp.nanpercentile(x, 50) | xp.nanmean(x) | xp.nansum(x) | xp.nanmax(x) | xp.nanvar(x) | xp.nanstd(x) | xp.nanprod(x)
xp.nanargmax(x) | xp.argmax(x) | xp.ptp(x) | xp.count_nonzero(x) | xp.any(x) | xp.all(x) | xp.average(x) | xp.prod(x)
xp.trapezoid(x) | x[0] | x[()] | x[...] | x[0, ...] | x[xp.array(0)] | x[-1] | x.item(0) | x.take(0) | xp.take(x, 0)
xp.take(x, xp.array(0)) | xp.choose(0, [x[0], x[1]]) | xp.squeeze(x[:1]) | x[:1].reshape(()) | x[:1].squeeze()
xp.asarray(x[0]) | xp.array(x[0]) | xp.copy(x[0]) | x[0].copy() | x[0].view() | x[0].T | x[0].real | x[0].imag
x[0].conj() | x[0].astype("f4") | x[0].astype("f8") | x[0].reshape(()) | x[0].ravel() | x[0].flatten()
x[0].squeeze() | xp.squeeze(x[0]) | x[0].round() | xp.round(x[0]) | xp.round(x[0], 2) | x[0].clip(0, 1)
xp.clip(x[0], 0, 1) | xp.real(x[0]) | xp.imag(x[0]) | xp.conj(x[0]) | -x[0] | +x[0] | abs(x[0]) | x[0]+1 | x[0]==1
x[0]>1 | xp.sqrt(x[0]) | xp.add(x[0], x[0]) | xp.add(s, s) | s+1 | s.copy() | s.real | s.imag | s.T | s.reshape(())
s.astype("f4") | s.astype("f8") | s.round() | s.round(1) | xp.round(s) | xp.round(s, 1) | s.clip(0, 1)
xp.clip(s, 0, 1) | xp.copy(s) | s[()] | s[...] | s.sum() | s.max() | s.mean() | xp.sum(s) | s.squeeze()
xp.squeeze(s) | xp.real(s) | xp.imag(s) | xp.abs(s) | s.conj() | xp.conj(s) | xp.where(s>0, s, 0)
xp.where(True, 1, 2) | xp.isnan(s) | xp.isreal(s) | xp.iscomplex(s) | xp.isposinf(s) | xp.isneginf(s)
xp.nan_to_num(s) | xp.nan_to_num(x[0]) | xp.nan_to_num(1.) | xp.real_if_close(s) | xp.angle(s) | xp.angle(1j)
xp.fix(s) | xp.fix(x[0]) | xp.fix(1.5) | xp.i0(s) | xp.i0(1.) | xp.sinc(s) | xp.sinc(1.) | xp.heaviside(s, 1)
xp.signbit(s) | xp.dot(x, x) | x.dot(x) | xp.vdot(x, x) | xp.inner(x, x) | x@x | xp.matmul(x, x)
xp.tensordot(x, x, 1) | xp.tensordot(x, x, ([0], [0])) | xp.einsum("i, i", x, x) | xp.einsum("i->", x)
xp.einsum("", s) | xp.einsum(", ", s, s) | xp.einsum("ii", m) | xp.einsum("...->...", s) | xp.trace(m) | m.trace()
xp.vecdot(x, x) | xp.dot(s, s) | xp.dot(2., 3.) | xp.inner(s, s) | xp.inner(2, 3) | xp.outer(s, s) | xp.kron(s, s)
xp.kron(2, 3) | xp.multiply.outer(s, s) | xp.multiply.outer(2, 3) | xp.linalg.norm(x) | xp.linalg.norm(m)
xp.linalg.det(m) | xp.linalg.matrix_rank(m) | xp.linalg.cond(m) | xp.linalg.slogdet(m)[0] | xp.linalg.slogdet(m)[1]
xp.linalg.vector_norm(x) | xp.linalg.matrix_norm(m) | xp.linalg.multi_dot([x, m2, x]) | xp.linalg.trace(m)
xp.linalg.tensordot(x, x, axes=1) | xp.linalg.vecdot(x, x) | xp.linalg.matmul(x, x) | xp.convolve(x[:1], x[:1])
xp.trim_zeros(s) | xp.pad(s, 0) | xp.pad(s, ()) | xp.pad(s, 0, "edge") | xp.pad(s, []) | xp.flip(s) | xp.flip(s, ())
xp.roll(s, 1) | xp.rollaxis(m, 1) | xp.broadcast_to(s, ()) | xp.broadcast_to(2, ()) | xp.broadcast_arrays(s, s)[0]
xp.moveaxis(s, (), ()) | xp.transpose(s) | xp.expand_dims(s, ()) | xp.reshape(s, ()) | xp.ravel(s) | xp.resize(s, ())
xp.append(s, s) | xp.delete(x, 0) | xp.insert(s, 0, 1) | xp.repeat(s, 2) | xp.tile(s, ()) | xp.tile(s, 1) | xp.diff(x)
xp.cumsum(s) | xp.unwrap(x) | xp.ediff1d(s) | xp.sort(s, axis=None) | xp.argsort(s) | xp.searchsorted(x, 1)
xp.searchsorted(x, s) | xp.searchsorted(x, x[0]) | xp.digitize(1, x) | xp.digitize(s, x) | xp.interp(1, x, x)
xp.interp(s, x, x) | xp.interp(x[0], x, x) | xp.polyval([1, 2], s) | xp.polyval([1, 2], 2) | xp.bincount([0])
xp.histogram(s)[0] | xp.unique(s) | xp.isin(s, x) | xp.isin(1, x) | xp.allclose(x, x) | xp.array_equal(x, x)
xp.isclose(s, s) | xp.isclose(1, 1) | xp.isclose(x[0], x[0]) | xp.cov(x) | xp.corrcoef(x) | xp.cov(x[:1], bias=True)
xp.correlate(x, x, "valid") | xp.ix_([0])[0] | xp.ravel_multi_index((1, 2), (3, 4)) | xp.unravel_index(3, (2, 2))[0]
xp.unravel_index(s.astype(int), (9, 9))[0] | xp.packbits(xp.array([1], "u1")) | xp.select([s>0], [s], 0)
xp.piecewise(s, [s>0], [1, 2]) | xp.vectorize(lambda a:a)(s) | xp.apply_over_axes(xp.sum, m, [0, 1])
xp.apply_along_axis(xp.sum, 0, x) | xp.fromfunction(lambda i:i.sum(), (3, )) | xp.meshgrid(s)[0]
xp.diag_indices(1)[0] | xp.linspace(1, 2, 1) | xp.asarray(3) | xp.array(3.) | xp.zeros(()) | xp.ones(())
xp.full((), 3) | xp.empty_like(s) | xp.zeros_like(s) | xp.zeros_like(x[0]) | xp.ones_like(2) | xp.full_like(s, 1)
xp.full_like(2, 1) | xp.ascontiguousarray(s) | xp.asfortranarray(s) | xp.atleast_1d(s) | xp.asarray(s)
xp.asanyarray(x[0]) | xp.require(s) | xp.concatenate([s, s], axis=None) | xp.stack([s, s]) | xp.block(s)
xp.block([s, s]) | xp.block(1) | xp.add.reduce(x) | xp.add.reduce(s) | xp.add.reduce(s, axis=None)
xp.maximum.reduce(x) | xp.subtract.reduce(x) | xp.add.reduce(m, axis=(0, 1)) | xp.add.outer(s, s)
xp.cumulative_sum(x)[0] | xp.divmod(s, 2)[0] | xp.modf(s)[0] | xp.frexp(s)[1] | divmod(s, 2)[0] | xp.max(s)
xp.max(s, axis=()) | xp.sum(s, axis=()) | xp.mean(s, axis=0) | xp.var(s, axis=0) | xp.std(s) | xp.median(s)
xp.percentile(s, 50) | xp.percentile(x, s) | xp.quantile(x, s/4) | xp.argmax(s) | xp.argmin(s) | xp.ptp(s)
xp.cumprod(s) | xp.trapezoid(x, x) | xp.gradient(x)[0] | xp.fft.fft(x)[0] | xp.bitwise_count(s.astype(int))
xp.ldexp(s, 1) | xp.gcd(2, 4) | xp.matvec(m, x[:2])[0] | xp.nonzero(x)[0][0] | xp.sum(x, keepdims=True)[0]
xp.emath.sqrt(s) | xp.emath.sqrt(-1) | xp.emath.log(s) | sum(x) | x.sum().copy() | x.sum().real | x.sum().T
x.sum().reshape(()) | x.sum().squeeze() | x.sum().astype("f4") | x.sum().round() | x.sum()[()] | x.sum()[...]
xp.asarray(x.sum()) | x.sum().view() | xp.transpose(x.sum()) | x.sum().transpose() | x.sum().flatten()
x.sum().clip(0, 1) | x.sum().take(0) | x.sum().repeat(2) | x.sum().conj() | x.sum().conjugate() | x.sum().max()
x.sum().argmax() | x.sum().any() | x.sum().byteswap() | x.sum().view("i8") | s.view("i8") | s.byteswap() | s.take(0)
s.argmax() | x[1:2].sum(axis=0) | m.sum(axis=(0, 1)) | m[0, 0] | m[0][0] | m.flat[0] | next(iter(x)) | list(x)[0]
x.flat[0] | x.mean().item() | x.tolist()[0] | c.real[0] | c[0].real | c[0].imag | xp.real(c[0]) | c.sum().real
xp.abs(c[0]) | xp.iscomplexobj(c[0]) | xp.isscalar(c[0]) | xp.isscalar(s) | xp.isscalar(1) | xp.isscalar(x.max())
xp.ndim(x.max()) | xp.size(x.max()) | xp.shape(s) | xp.result_type(s)
"""


def names(xp: Any) -> dict[str, Any]:
    return {
        "xp": xp,
        "x": xp.asarray(np.array([0.25, 1.5, 3.0])),
        "s": xp.asarray(np.array(1.25)),
        "m": xp.asarray(np.array([[1.0, 2], [3, 5]])),
        "m2": xp.asarray(np.ones((3, 3))),
        "c": xp.asarray(np.array([1 + 2j, 3])),
    }


def kind(found: Any) -> tuple[Any, ...]:
    """Whether something is a scalar or an array, its shape and dtype; of other things the type."""
    if type(found) is nl.ndarray:
        return "scalar" if found.is_scalar else "array", found.shape, found.dtype
    if isinstance(found, (np.ndarray, np.generic)):
        return "array" if isinstance(found, np.ndarray) else "scalar", found.shape, found.dtype
    return (type(found),)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("line", [line for line in CALLS.splitlines() if line])
def test_scalars_and_arrays_without_axes(line: str) -> None:
    for text in line.split(" | "):
        found = []
        for xp in (nl, np):
            try:
                found.append(kind(eval(text, names(xp))))
            except (TypeError, ValueError, IndexError) as error:
                found.append((type(error),))
        assert found[0] == found[1], text


MADE = """
xp.tensordot(x, x, 1) | xp.pad(s, 0) | xp.trim_zeros(s) | xp.asarray(x[0]) | xp.array(x[0]) | xp.i0(s)
xp.where(True, s, s)
x.sum() | x[0] | x.max().T | xp.squeeze(x[:1]) | x[0][...] | xp.asarray(x.sum()) | x.sum().reshape(()) | s | s[...]
s.T
xp.einsum("", s) | xp.copy(x[0]) | xp.nan_to_num(s) | xp.real(s) | xp.imag(c)[0] | xp.broadcast_to(s, ()).copy()
"""


@pytest.mark.parametrize("text", [text for line in MADE.splitlines() if line for text in line.split(" | ")])
def test_names_that_share_an_array_without_axes(text: str) -> None:
    """``t += 1`` changes an array for all of its names, and no scalar."""
    results = []
    for xp in (nl, np):
        known = names(xp)
        exec(f"before = {text}; t = before; t += 1", known)
        results.append([host(known[name]) for name in ("before", "t", "x", "s")])
    for ours, theirs in zip(*results, strict=True):
        np.testing.assert_array_equal(ours, theirs)
