"""Gradients through reductions, scans, products, factorisations, transforms, order, indices, views and writes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.compiled.gradients import NoGradientError, grad

Make = Callable[[np.random.Generator], Any]


def near(function: Any, x: Any, step: float = 1e-6) -> Any:
    """The gradient of a cost by differences; of complex numbers ``dC/dx - i dC/dy``."""
    x = np.array(x)
    found = np.zeros(x.shape, x.dtype)
    for place in np.ndindex(x.shape):
        for unit in (1, 1j) if x.dtype.kind == "c" else (1,):
            more, less = x.copy(), x.copy()
            more[place] += unit * step
            less[place] -= unit * step
            slope = (float(function(nl.array(more))) - float(function(nl.array(less)))) / (2 * step)
            found[place] += slope * (1 if unit == 1 else -1j)
    return found


def check(function: Any, make: Make, second: bool = True, times: int = 5, tolerance: float = 1e-6) -> None:
    """First derivatives by differences, and second ones by differences of the first."""
    generator = np.random.default_rng(7)
    for turn in range(times):
        x = make(generator)
        weights: Any = None

        def cost(array: Any) -> Any:
            nonlocal weights
            result = function(array)
            if weights is None:
                weights = np.random.default_rng(3).uniform(0.5, 1.5, result.shape)
            weighted = result * weights
            if result.dtype.kind == "c":
                weighted = weighted * (0.7 + 0.4j)
                weighted = weighted.real + weighted.imag**2
            return weighted.sum()

        first = grad(cost)
        found = first(nl.array(x))
        assert found.dtype == x.dtype
        assert found.shape == x.shape
        scale = 1 + np.abs(found.get()).max(initial=0)
        np.testing.assert_allclose(found.get(), near(cost, x), rtol=2e-5, atol=tolerance * scale)
        if second and turn == 0:
            direction = np.random.default_rng(5).uniform(0.5, 1.5, x.shape)

            def slope(array: Any, first: Any = first, direction: Any = direction) -> Any:
                result = first(array) * direction
                return (result.real + 0.5 * result.imag).sum() if result.dtype.kind == "c" else result.sum()

            again = grad(slope, allow_unused=True)(nl.array(x)).get()
            scale = 1 + np.abs(again).max(initial=0)
            np.testing.assert_allclose(again, near(slope, x), rtol=1e-4, atol=1e-5 * scale)


def real(*shape: int, low: float = -2.0, high: float = 2.0) -> Make:
    return lambda generator: generator.uniform(low, high, shape)


def complex_numbers(*shape: int) -> Make:
    return lambda generator: generator.uniform(-2, 2, shape) + 1j * generator.uniform(-2, 2, shape)


def apart(*shape: int) -> Make:
    """Numbers that are not near each other."""

    def make(generator: np.random.Generator) -> Any:
        count = int(np.prod(shape))
        return (generator.permutation(count) + generator.uniform(-0.2, 0.2, count)).reshape(shape) / 3 - 1

    return make


def definite(*lead: int, n: int = 3, complex: bool = False) -> Make:
    def make(generator: np.random.Generator) -> Any:
        a = generator.normal(size=(*lead, n, n))
        if complex:
            a = a + 1j * generator.normal(size=(*lead, n, n))
        return a @ a.conj().swapaxes(-1, -2) + n * np.eye(n)

    return make


def hermitian(a: Any) -> Any:
    return (a + nl.conj(a.swapaxes(-1, -2))) / 2


REDUCED: dict[str, Any] = {
    "sum": lambda x: x.sum(),
    "sum of an axis": lambda x: x.sum(1),
    "sum kept": lambda x: x * x.sum(0, keepdims=True),
    "mean": lambda x: x.mean((0, 2)),
    "prod": lambda x: x.prod(),
    "prod of an axis": lambda x: x.prod(1),
    "prod of two": lambda x: x.prod((0, 2), keepdims=True),
    "var": lambda x: x.var(0),
    "std": lambda x: x.std((1, 2), ddof=1),
    "norm": lambda x: nl.linalg.norm(x, axis=1),
    "logaddexp": lambda x: nl.logaddexp.reduce(x, 1),
    "logaddexp2": lambda x: nl.logaddexp2.reduce(x, 1),
    "hypot": lambda x: nl.hypot.reduce(x, 0),
    "subtract": lambda x: nl.subtract.reduce(x, 1),
    "divide": lambda x: nl.divide.reduce(x + 4, 2),
    "arctan2": lambda x: nl.arctan2.reduce(x + 4, 1),
    "initial": lambda x: nl.subtract.reduce(x, 1, initial=2.0),
    "where": lambda x: nl.add.reduce(x, 1, where=np.arange(2) > 0),
    "nansum": lambda x: nl.nansum(x, 1),
    "average": lambda x: nl.average(x, 1, weights=np.array([1.0, 2.0, 3.0])),
    "softmax": lambda x: (
        nl.exp(x - x.max(-1, keepdims=True)) / nl.exp(x - x.max(-1, keepdims=True)).sum(-1, keepdims=True)
    ),
    "trapezoid": lambda x: nl.trapezoid(x, axis=1),
}


@pytest.mark.parametrize("name", REDUCED)
def test_reductions(name: str) -> None:
    check(REDUCED[name], real(2, 3, 2))


ORDERED: dict[str, Any] = {
    "max": lambda x: x.max(1),
    "min of all": lambda x: x.min() * x,
    "max of two": lambda x: x.max((0, 1)),
    "fmax": lambda x: nl.fmax.reduce(x, 0),
    "ptp": lambda x: nl.ptp(x, 1),
    "sort": lambda x: nl.sort(x, 1) ** 2,
    "sort of all": lambda x: nl.sort(x, None) ** 2,
    "median": lambda x: nl.median(x, 1),
    "quantile": lambda x: nl.quantile(x, 0.3, 1),
    "partition": lambda x: nl.sort(nl.partition(x, 2, 1)[:, :2], 1) ** 2,
    "cummax": lambda x: nl.maximum.accumulate(x, 1) ** 2,
    "cummin": lambda x: nl.minimum.accumulate(x, 0) ** 2,
    "argmax": lambda x: nl.take_along_axis(x, x.argmax(1, keepdims=True), 1) ** 2,
}


@pytest.mark.parametrize("name", ORDERED)
def test_order(name: str) -> None:
    check(ORDERED[name], apart(3, 4))


SCANNED: dict[str, Any] = {
    "cumsum": lambda x: nl.cumsum(x, 1) ** 2,
    "cumsum of all": lambda x: nl.cumsum(x) ** 2,
    "cumprod": lambda x: nl.cumprod(x, 1),
    "cumprod of 7": lambda x: nl.cumprod(x),
    "logaddexp": lambda x: nl.logaddexp.accumulate(x, 1),
    "subtract": lambda x: nl.subtract.accumulate(x, 0) ** 2,
    "divide": lambda x: nl.divide.accumulate(x + 4, 1),
    "reduceat": lambda x: nl.add.reduceat(x, [0, 2, 1], 1) ** 2,
    "diff": lambda x: nl.diff(x, 2, 1) ** 2,
    "gradient": lambda x: nl.gradient(x, axis=1) ** 2,
}


@pytest.mark.parametrize("name", SCANNED)
def test_scans(name: str) -> None:
    check(SCANNED[name], real(2, 5))


def test_products_with_zeros() -> None:
    for zeros in ([0.0, 2.0, 3.0], [0.0, 0.0, 3.0], [0.0, 0.0, 0.0], [1.0, 2.0, 3.0]):
        x = np.array(zeros)
        others = [np.prod(np.delete(x, k)) for k in range(3)]
        assert grad(lambda x: x.prod())(nl.array(x)).tolist() == others
        np.testing.assert_allclose(
            grad(lambda x: nl.cumprod(x).sum())(nl.array(x)).get(), near(lambda x: nl.cumprod(x).sum(), x), atol=1e-6
        )


B = np.random.default_rng(11).uniform(-1, 1, (2, 3, 4))
PRODUCTS: dict[str, Any] = {
    "matmul": lambda x: x @ B[0],
    "matmul of itself": lambda x: x @ x.swapaxes(-1, -2),
    "stacks": lambda x: x[0] @ B,
    "vector": lambda x: x @ B[0, :, 0],
    "dot": lambda x: nl.dot(x[0, 0], x[0, 1]),
    "outer": lambda x: nl.outer(x[0, 0], x[1, 0]),
    "inner": lambda x: nl.inner(x, B[0].T),
    "tensordot": lambda x: nl.tensordot(x, B, ([2, 0], [1, 0])),
    "einsum": lambda x: nl.einsum("abc,acd->bd", x, B),
    "einsum of one": lambda x: nl.einsum("abb->a", x[:, :, :2]),
    "einsum of three": lambda x: nl.einsum("abc,acd,abe->de", x, B, x),
    "kron": lambda x: nl.kron(x[0], B[0]),
    "cross": lambda x: nl.cross(x[0], x[1]),
    "trace": lambda x: nl.trace(x[0]) ** 2,
    "multi_dot": lambda x: nl.linalg.multi_dot([x[0], B[0], B[1].T, x[1].T]),
    "power": lambda x: nl.linalg.matrix_power(x[:, :, :2], 3),
    "convolve": lambda x: nl.convolve(x.ravel(), x[0, 0]),
    "convolve same": lambda x: nl.convolve(x.ravel(), B[0, 0, :3], "same") ** 2,
    "convolve same, even": lambda x: nl.convolve(x.ravel(), B[0, 0], "same") ** 2,
    "convolve valid": lambda x: nl.convolve(B.ravel(), x.ravel(), "valid"),
    "correlate": lambda x: nl.correlate(x.ravel(), x[0].ravel(), "full"),
    "vander": lambda x: nl.vander(x[0, 0], 4),
    "interp": lambda x: nl.interp(np.array([0.3, 1.2]), np.arange(3.0), x[0, 0]),
    "cov": lambda x: nl.cov(x[0]),
    "polyval": lambda x: nl.polyval(x[0, 0], x[1]),
}


@pytest.mark.parametrize("kind", [real, complex_numbers])
@pytest.mark.parametrize("name", PRODUCTS)
def test_products(name: str, kind: Any) -> None:
    check(PRODUCTS[name], kind(2, 2, 3), times=2)


@pytest.mark.parametrize("name", ["matmul", "stacks", "einsum"])
def test_large_products_are_routines(name: str) -> None:
    wide = np.random.default_rng(2).normal(size=(40, 40))
    b = np.random.default_rng(3).normal(size=(40, 40))
    calls: dict[str, Any] = {
        "matmul": lambda x: ((x @ b) ** 2).sum(),
        "stacks": lambda x: ((x @ nl.array([b, 2 * b])) ** 2).sum(),
        "einsum": lambda x: (nl.einsum("ij,kj->ik", x, b) ** 2).sum(),
    }
    factor = b @ b.T if name == "matmul" else 5 * b @ b.T if name == "stacks" else b.T @ b
    np.testing.assert_allclose(grad(calls[name])(nl.array(wide)).get(), 2 * wide @ factor, rtol=1e-9)


PHASES = np.exp(1j * np.random.default_rng(4).uniform(-3, 3, (3, 3)))


def mixed(a: Any) -> Any:
    """Without the real diagonal of a Hermitian matrix, where the phases of LAPACK's factors jump."""
    return a * PHASES if a.dtype.kind == "c" else a


FACTORED: dict[str, Any] = {
    "det": nl.linalg.det,
    "slogdet": lambda a: nl.linalg.slogdet(a)[1],
    "inv": nl.linalg.inv,
    "solve": lambda a: nl.linalg.solve(a, np.arange(3.0)),
    "solve right": lambda a: nl.linalg.solve(np.eye(3) + np.ones((3, 3)), a),
    "solve stack": lambda a: nl.linalg.solve(a, a.swapaxes(-1, -2) + 1),
    "cholesky": lambda a: nl.linalg.cholesky(hermitian(a)),
    "cholesky upper": lambda a: nl.linalg.cholesky(hermitian(a), upper=True),
    "eigvalsh": lambda a: nl.linalg.eigvalsh(hermitian(a)),
    "eigh": lambda a: nl.abs(nl.linalg.eigh(hermitian(a))[1]) ** 2,
    "eigvals": lambda a: nl.sort(nl.abs(nl.linalg.eigvals(a))),
    "eig": lambda a: nl.abs(nl.linalg.eig(a + np.diag([1.0, 3.0, 6.0]))[1]).sum(-2),
    "svdvals": lambda a: nl.linalg.svd(a, compute_uv=False),
    "svd u": lambda a: nl.abs(nl.linalg.svd(a[..., :2], full_matrices=False)[0]) ** 2,
    "svd vh": lambda a: nl.abs(nl.linalg.svd(a[..., :2, :], full_matrices=False)[2]) ** 2,
    "svd square": lambda a: nl.abs(nl.linalg.svd(a)[0]) ** 2,
    "svd low rank": lambda a: (lambda u, s, vh: (u * (s > 2) * s[..., None, :]) @ vh)(*nl.linalg.svd(a)),
    "qr q": lambda a: nl.linalg.qr(a)[0],
    "qr r": lambda a: nl.linalg.qr(a)[1],
    "qr tall": lambda a: nl.linalg.qr(a[..., :2])[0],
    "qr wide": lambda a: nl.linalg.qr(mixed(a)[..., :2, :])[1],
    "qr wide q": lambda a: nl.linalg.qr(mixed(a)[..., :2, :])[0],
    "qr mode r": lambda a: nl.linalg.qr(a[..., :2], mode="r"),
    "pinv": lambda a: nl.linalg.pinv(a[..., :2]),
    "nuclear": lambda a: nl.linalg.norm(a, "nuc", axis=(-2, -1)),
    "cond": lambda a: nl.linalg.cond(a),
}


@pytest.mark.parametrize("complex", [False, True])
@pytest.mark.parametrize("name", FACTORED)
def test_factorisations(name: str, complex: bool) -> None:
    check(FACTORED[name], definite(complex=complex), times=2, tolerance=3e-6)


@pytest.mark.parametrize("name", ["det", "inv", "solve stack", "cholesky", "eigvalsh", "svdvals", "qr q"])
def test_stacks_of_matrices(name: str) -> None:
    check(FACTORED[name], definite(2, 2, n=3), times=1, second=False)


def test_sign_of_a_complex_determinant() -> None:
    check(lambda a: nl.linalg.slogdet(a)[0], definite(complex=True), times=2)


def test_lstsq() -> None:
    b = np.arange(3.0)
    check(lambda a: nl.linalg.lstsq(a[:, :2], b)[0], definite(), times=1)


def test_refusals() -> None:
    a = nl.array(definite()(np.random.default_rng(0)))
    for cost in (
        lambda a: nl.linalg.qr(a[:, :2], mode="complete")[0].sum(),
        lambda a: nl.linalg.qr(a, mode="raw")[0].sum(),
        lambda a: nl.linalg.svd(a[:, :2])[0].sum(),
        lambda a: nl.power.reduceat(a, [0, 1]).sum(),
    ):
        with pytest.raises(NoGradientError):
            grad(cost)(a)


TRANSFORMS: dict[str, Any] = {
    "fft": lambda x: nl.fft.fft(x, axis=1),
    "ifft": lambda x: nl.fft.ifft(x, axis=0, norm="ortho"),
    "fft2": lambda x: nl.fft.fft2(x, norm="forward"),
    "fft padded": lambda x: nl.fft.fft(x, 9, 1),
    "fft cut": lambda x: nl.fft.fft(x, 3, 1),
    "irfft": lambda x: nl.fft.irfft(x, 8, 1),
    "irfft odd": lambda x: nl.fft.irfft(x, 9, 1),
    "irfftn": lambda x: nl.fft.irfftn(x, (4, 7), (0, 1), norm="ortho"),
    "hfft": lambda x: nl.fft.hfft(x),
    "fftshift": lambda x: nl.fft.fftshift(x) ** 2,
}


@pytest.mark.parametrize("kind", [real, complex_numbers])
@pytest.mark.parametrize("name", TRANSFORMS)
def test_transforms(name: str, kind: Any) -> None:
    check(TRANSFORMS[name], kind(4, 5), times=2)


@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
@pytest.mark.parametrize("shape", [(4, 5), (3, 6)])
def test_transforms_of_real_numbers(norm: str, shape: tuple[int, int]) -> None:
    check(lambda x: nl.fft.rfft(x, axis=1, norm=norm), real(*shape), times=2)
    check(lambda x: nl.fft.rfftn(x, norm=norm), real(*shape), times=1)


@pytest.mark.parametrize("kind", [1, 2, 3, 4])
@pytest.mark.parametrize("norm", ["backward", "ortho", "forward"])
def test_cosine_and_sine_transforms(kind: int, norm: str) -> None:
    from scipy import fft

    from numloom.fft.uarray import scipy_backend

    functions = [name for name in ("dct", "idct", "dst", "idst", "dctn") if hasattr(fft, name)]
    with fft.set_backend(scipy_backend):
        for name in functions:
            check(lambda x, name=name: getattr(fft, name)(x, type=kind, norm=norm), real(2, 5), times=1)
            check(
                lambda x, name=name: getattr(fft, name)(x, type=kind, norm=norm, orthogonalize=norm != "ortho"),
                real(2, 5), times=1,
            )  # fmt: skip


INDEX = np.array([2, 0, 2, -1])


def written(x: Any) -> Any:
    y = nl.zeros(6)
    y[1:4] = x[0, :3] * 2
    y[::2] = x[1, 1:] ** 2
    return y * x.ravel()[:6]


def accumulated(x: Any) -> Any:
    y = x * 2
    y[:, 1] += x[:, 0] ** 2
    y[0] *= y[1]
    return y * y


def views_of_one(x: Any) -> Any:
    y = x.copy()
    row, column = y[1], y[:, 2]
    row *= 3
    column += row[:3]
    return y * y


def swapped(x: Any) -> Any:
    y = x + 0
    y[:, 0], y[:, 1] = y[:, 1].copy(), y[:, 0] * 2
    return y**2


def stored(x: Any) -> Any:
    y = x[0] * 3
    y[INDEX] = x[1] ** 2
    return y**2


def added_at(x: Any) -> Any:
    y = x[0] * 3
    nl.add.at(y, INDEX, x[1] ** 2)
    return y**2


def scattered(op: str) -> Any:
    def function(x: Any) -> Any:
        y = x[0] * 3
        getattr(nl, op).at(y, INDEX, x[1] ** 2 + 1)
        return y**2

    return function


def put(x: Any) -> Any:
    y = x * 2
    nl.put_along_axis(y, np.array([[1], [0], [3]]), x[:, :1] ** 2, 1)
    return y**2


def masked(x: Any) -> Any:
    y = x * 2
    y[x > 0] = 5.0
    return y**2


def whole_row(x: Any) -> Any:
    y = nl.empty((3, 4))
    y[...] = x
    y[1] = x[0]
    y[1, 2] = x[2, 3] * 7
    return y**2


SEEN: dict[str, Any] = {
    "transpose": lambda x: x.T**2,
    "slice": lambda x: x[1:, ::2] ** 2,
    "negative": lambda x: x[::-1, -1:0:-2] ** 2,
    "element": lambda x: x[1, 2] ** 2,
    "newaxis": lambda x: x[:, None, ::-1] ** 2,
    "reshape": lambda x: x.reshape(2, 6) ** 2 @ np.ones((6, 2)),
    "reshape of a view": lambda x: x.T.reshape(6, 2) ** 2,
    "broadcast": lambda x: nl.broadcast_to(x[:, None], (3, 2, 4)) ** 2,
    "windows": lambda x: nl.lib.stride_tricks.sliding_window_view(x, 3, 1) ** 2,
    "windows of both": lambda x: nl.lib.stride_tricks.sliding_window_view(x, (2, 2)).sum((2, 3)) ** 2,
    "diagonal": lambda x: nl.diagonal(x, 1) ** 2,
    "diag": lambda x: nl.diag(x[0]) ** 2,
    "flip": lambda x: nl.flip(x, 1) ** 2,
    "roll": lambda x: nl.roll(x, 2, 1) ** 2,
    "rot90": lambda x: nl.rot90(x) ** 2,
    "moveaxis": lambda x: nl.moveaxis(x[None], 1, 2) ** 2,
    "concatenate": lambda x: nl.concatenate([x, x[:1] ** 2, x[:, ::-1]]) ** 2,
    "stack": lambda x: nl.stack([x, 2 * x, x.T.reshape(3, 4)], 1) ** 2,
    "split": lambda x: nl.hstack(nl.split(x, 2, 1)[::-1]) ** 2,
    "tile": lambda x: nl.tile(x, (2, 2)) ** 2,
    "repeat": lambda x: nl.repeat(x, 3, 1) ** 2,
    "repeat each": lambda x: nl.repeat(x, [1, 0, 2], 0) ** 2,
    "pad": lambda x: nl.pad(x, 2) ** 2,
    "pad edge": lambda x: nl.pad(x, 2, "edge") ** 2,
    "pad reflect": lambda x: nl.pad(x, 2, "reflect") ** 2,
    "pad wrap": lambda x: nl.pad(x, 1, "wrap") ** 2,
    "pad mean": lambda x: nl.pad(x, 1, "mean") ** 2,
    "pad ramp": lambda x: nl.pad(x, 2, "linear_ramp") ** 2,
    "take": lambda x: nl.take(x, INDEX, 1) ** 2,
    "take flat": lambda x: nl.take(x, INDEX) ** 2,
    "index": lambda x: x[:, INDEX] ** 2,
    "index rows": lambda x: x[np.array([[0, 1], [0, 0]])] ** 2,
    "index both": lambda x: x[np.array([0, 2, 2]), np.array([3, 1, 1])] ** 2,
    "index and slice": lambda x: x[:, None][np.array([0, 0, 2]), :, 1:] ** 2,
    "index with an index": lambda x: x[nl.array([0, 2])][:, nl.array([1, 1])] ** 2,
    "take_along_axis": lambda x: nl.take_along_axis(x, np.array([[0], [1], [1]]), 1) ** 2,
    "where": lambda x: nl.where(x > 0, x**2, -x),
    "select": lambda x: nl.select([x > 1, x > 0], [x**2, x**3], 0.5 * x),
    "choose": lambda x: nl.choose(np.array([0, 1, 2, 0]), [x[0], x[1] ** 2, x[2]]),
    "tril": lambda x: nl.tril(x) ** 2,
    "astype": lambda x: x.astype(np.float64) ** 2,
    "real and imaginary": lambda x: (x + 1j * x**2).real + (x + 1j * x**2).imag,
    "complex": lambda x: nl.abs(nl.exp(1j * x) * x) ** 2,
    "angle": lambda x: nl.angle(x + 5 + 1j * x**2),
    "clip": lambda x: nl.clip(x, -1.0, 1.0) ** 2,
    "nan_to_num": lambda x: nl.nan_to_num(x) ** 2,
    "sinc": lambda x: nl.sinc(x),
    "meshgrid": lambda x: nl.meshgrid(x[0], x[1])[0] * nl.meshgrid(x[0], x[1])[1],
    "bincount": lambda x: nl.bincount(np.array([0, 2, 2, 1]), weights=x[0]) ** 2,
    "written": written,
    "accumulated": accumulated,
    "views of one": views_of_one,
    "swapped": swapped,
    "stored": stored,
    "added at": added_at,
    **{f"{op} at": scattered(op) for op in ("subtract", "multiply", "divide", "maximum", "minimum")},
    "put_along_axis": put,
    "masked": masked,
    "whole row": whole_row,
}


@pytest.mark.parametrize("name", SEEN)
def test_views_and_writes(name: str) -> None:
    check(SEEN[name], real(3, 4))


@pytest.mark.parametrize("name", ["transpose", "negative", "broadcast", "windows", "written", "added at", "index both"])
@pytest.mark.parametrize("order", ["F", "back"])
def test_views_of_other_orders(name: str, order: str) -> None:
    x = np.random.default_rng(1).uniform(-2, 2, (3, 4))
    laid = nl.array(np.asfortranarray(x)) if order == "F" else nl.array(x[::-1].copy())[::-1]
    plain = grad(lambda x: (SEEN[name](x) ** 2).sum())
    np.testing.assert_array_equal(plain(laid).get(), plain(nl.array(x)).get())


COMPLEX = (
    "transpose",
    "negative",
    "windows",
    "concatenate",
    "pad",
    "take",
    "accumulated",
    "stored",
    "added at",
    "pad edge",
)


@pytest.mark.parametrize("name", COMPLEX)
def test_views_of_complex_numbers(name: str) -> None:
    check(SEEN[name], complex_numbers(3, 4), times=1)


COMPLEX_FUNCTIONS: dict[str, Any] = {
    "abs": nl.abs,
    "abs2": lambda x: (x * nl.conj(x)).real,
    "real": lambda x: x.real**2,
    "imag": lambda x: x.imag**2,
    "parts": lambda x: x.view(np.float64) ** 2,
    "conj": lambda x: nl.conj(x) * x**2,
    "sign": nl.sign,
    "angle": nl.angle,
    "write": lambda x: _parts_written(x),
    "sum": lambda x: x.sum(0),
    "mean": lambda x: x.mean(0) * x,
    "var": lambda x: x.var(0),
    "prod": lambda x: x.prod(0),
    "cumsum": lambda x: nl.cumsum(x, 0) ** 2,
    "cumprod": lambda x: nl.cumprod(x, 0),
    **{name: getattr(nl, name) for name in ("exp", "log", "sqrt", "sin", "cos", "tan", "tanh", "arcsin", "arctan")},
    **{name: getattr(nl, name) for name in ("sinh", "cosh", "square", "reciprocal", "expm1", "log1p", "arccosh")},
    "power": lambda x: x**2.5,
    "power of two": lambda x: x ** x[::-1],
    "divide": lambda x: x / (x[::-1] + 5),
}


def _parts_written(x: Any) -> Any:
    y = x * 1
    y.real = x.imag**2
    y.imag[0] = x.real[1]
    return y


@pytest.mark.parametrize("name", COMPLEX_FUNCTIONS)
def test_complex_numbers(name: str) -> None:
    check(COMPLEX_FUNCTIONS[name], complex_numbers(3, 4), times=3)
