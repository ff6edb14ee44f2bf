"""`vmap`: a function of one example, called with many, beside NumPy called for one after the other."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.compiled.batching import RULES as KINDS
from numloom.compiled.batching_routines import ONE_BY_ONE, RULES, SIZED_BY_VALUES
from numloom.compiled.structure import flat
from numloom.graph.node import CAST, GATHER, OP, REDUCE, ROUTINE, UPDATE, VIEW
from numloom.ops.routines import ROUTINES

Host = np.ndarray[Any, Any]
FLOATS = ["f8", "f4", "c16"]
REALS = ["f8", "f4", "f2", "i8", "u1"]
ALL = ["f8", "f4", "f2", "c16", "c8", "i8", "i2", "u1", "?"]
SEED = 7


def numbers(shape: tuple[int, ...], dtype: str, seed: int = SEED) -> Host:
    rng = np.random.default_rng(seed)
    kind = np.dtype(dtype).kind
    if kind == "b":
        return rng.random(shape) > 0.5
    if kind in "iu":
        return rng.integers(0, 9, shape).astype(dtype)
    found = rng.uniform(-2, 2, shape) + (1j * rng.uniform(-2, 2, shape) if kind == "c" else 0)
    return found.astype(dtype)


def host_of(x: Any) -> Host:
    return x.get() if isinstance(x, nl.ndarray) else np.asarray(x)


def looped(function: Callable[..., Any], hosts: Sequence[Host], axes: Sequence[int | None], count: int) -> list[Host]:
    """What NumPy gives for one example after the other, stacked."""
    rows = []
    for number in range(count):
        given = [one if axis is None else np.take(one, number, axis) for one, axis in zip(hosts, axes, strict=True)]
        with np.errstate(all="ignore"):
            rows.append([np.asarray(one) for one in flat(function(np, *given))])
    return [np.stack(column) for column in zip(*rows, strict=True)]


def agree(found: Any, want: Sequence[Host], what: str) -> None:
    parts = flat(found)
    assert len(parts) == len(want), what
    for have, expected in zip(parts, want, strict=True):
        seen = host_of(have)
        assert (seen.dtype, seen.shape) == (expected.dtype, expected.shape), f"{what}: {seen!r}, NumPy {expected!r}"
        if expected.dtype.kind in "fc":
            eps = float(np.finfo(expected.dtype).eps)
            scale = max(1.0, float(np.abs(expected[np.isfinite(expected)]).max(initial=0)))
            assert np.allclose(seen, expected, 64 * eps, 64 * eps * scale, equal_nan=True), (
                f"{what}: {seen!r}, NumPy {expected!r}"
            )
        else:
            assert np.array_equal(seen, expected), f"{what}: {seen!r}, NumPy {expected!r}"


def check(function: Callable[..., Any], shapes: Sequence[tuple[int, ...]], dtypes: Sequence[str], what: str) -> None:
    """Each choice of what differs from example to example, at any axis, for one example and for several."""
    for count, flags in itertools.product((1, 3), itertools.product((True, False), repeat=len(shapes))):
        if not any(flags):
            continue
        for turn in (0, -1):
            axes = [turn if flag else None for flag in flags]
            hosts = [
                np.moveaxis(numbers((count, *shape), dtype, SEED + k), 0, turn)
                if flag
                else numbers(shape, dtype, SEED + k)
                for k, (shape, dtype, flag) in enumerate(zip(shapes, dtypes, flags, strict=True))
            ]
            want = looped(function, hosts, axes, count)
            found = nl.vmap(lambda *args: function(nl, *args), tuple(axes))(*[nl.asarray(one) for one in hosts])
            agree(found, want, f"{what}, {count} examples, {axes}, {dtypes}")


M, V, S = (3, 4), (4,), ()


def spd(xp: Any, x: Any) -> Any:
    """A positive definite matrix."""
    return x @ xp.conjugate(x.T) + 4 * xp.eye(3, dtype=x.dtype)


def stored(change: Callable[[Any, Any, Any], None]) -> Callable[..., Any]:
    """A write to a copy."""

    def function(xp: Any, x: Any, y: Any) -> Any:
        x = x.copy()
        change(xp, x, y)
        return x

    return function


def _write(xp: Any, x: Any, y: Any) -> None:
    x[1:, ::2] = y[::2]
    x[0] += 1
    x.T[1] = x[0, 2]


def _write_at(xp: Any, x: Any, y: Any) -> None:
    x[[0, 2]] = y
    x[:, [1, 1]] = 3
    xp.add.at(x, ([0, 0, 2], [1, 1, 3]), y[:3])


def _write_where(xp: Any, x: Any, y: Any) -> None:
    x[x > 1] = 1
    xp.copyto(x, y, where=x < 0)


EACH: dict[str, tuple[Callable[..., Any], list[tuple[int, ...]], list[str]]] = {
    "arithmetic": (lambda xp, x, y: x * 2 + y - 1, [M, V], ALL[:-1]),
    "weak numbers": (lambda xp, x: (x * 2, x + True, 3 - x, x / 2), [M], ALL[:-1]),
    "weak floats": (lambda xp, x: (x + 1.5, 0.5 * x, x**2), [S], REALS),
    "scalars": (lambda xp, x, y: x + y * xp.float32(2), [S, S], ALL[:-1]),
    "logic": (lambda xp, x, y: (x & y, ~x, xp.logical_or(x, y)), [M, V], ["i8", "u1", "?"]),
    "comparisons": (lambda xp, x, y: (x < y, x == y, xp.where(x > y, x, y)), [M, V], REALS),
    "functions": (lambda xp, x: (xp.exp(x), xp.sin(x), xp.sqrt(abs(x))), [M], FLOATS),
    "broadcasting": (lambda xp, x, y: x[:, None] + y[None], [V, (3,)], ALL),
    "other ranks": (lambda xp, x, y: (x + y, x * y[None, None]), [(2, 3, 4), V], ALL[:-1]),
    "casts": (lambda xp, x: (x.astype("c16"), x.astype(bool), x.astype("f2") if x.dtype.kind != "c" else x), [M], ALL),
    "sums": (lambda xp, x: (x.sum(), x.sum(0), x.sum(-1), x.sum((0, 1), keepdims=True), x.mean(1)), [M], ALL),
    "sums of a number": (lambda xp, x: (x.sum(), x.max(), xp.mean(x)), [S], ALL[:3]),
    "extremes": (lambda xp, x: (x.max(), x.min(1), xp.ptp(x, 0), x.argmax(), x.argmin(0), x.argmax(-1)), [M], REALS),
    "other reductions": (lambda xp, x: (x.prod(1), x.any(0), x.all(), xp.count_nonzero(x, 1)), [M], ALL),
    "moments": (lambda xp, x: (x.var(), x.std(1), xp.average(x, 0)), [M], ["f8", "f4", "i8"]),
    "masked sums": (lambda xp, x: xp.sum(x, 1, where=x > 0, initial=2), [M], ["f8", "i8"]),
    "empty sums": (lambda xp, x: (x.sum(), x.sum(0), x.prod(1)), [(0, 3)], ["f8", "i8"]),
    "matrix products": (lambda xp, x, y: x @ y, [M, (4, 2)], ALL),
    "matrix times vector": (lambda xp, x, y: (x @ y, xp.dot(x, y)), [M, V], ALL),
    "vector times matrix": (lambda xp, x, y: x @ y, [V, (4, 5)], ALL),
    "vectors": (lambda xp, x, y: (x @ y, xp.outer(x, y), xp.inner(x, y)), [V, V], ALL),
    "stacks of matrices": (lambda xp, x, y: x @ y, [(2, 3, 4), (4, 5)], FLOATS),
    "stacks and a matrix": (lambda xp, x, y: x @ y, [M, (2, 4, 5)], FLOATS),
    "larger products": (lambda xp, x, y: xp.tanh(x @ y), [(40, 50), (50, 30)], ["f8", "f4"]),
    "sums of products": (
        lambda xp, x, y: ((x[:, :, None] * y).sum(1), (x.T[..., None] * y[:, None]).sum((0, 1)), (x * y[:, 0]).sum(-1),
                          (y.T[:, None] * x).sum(2, keepdims=True), (x[0] * y.T).sum()),
        [M, (4, 2)], ["f8", "c8", "i8"],
    ),
    "products along both": (lambda xp, x, y: (x[:, None] * y).sum((0, 3)), [(2, 3, 4), (2, 5, 1, 4)], ["f8"]),
    "einsum": (lambda xp, x, y: (xp.einsum("ij,j->i", x, y), xp.einsum("ij,k->jki", x, y)), [M, V], ["f8", "i8"]),
    "tensordot": (lambda xp, x, y: xp.tensordot(x, y, ([1], [0])), [M, (4, 2)], ["f8", "i8"]),
    "shapes": (lambda xp, x: (x.T, x.reshape(2, 6), x.T.reshape(-1), x.ravel("F"), x[:, None]), [M], ALL),
    "transposes": (lambda xp, x: (x.transpose(2, 0, 1), xp.swapaxes(x, 0, 2).reshape(4, -1)), [(2, 3, 4)], ALL),
    "slices": (lambda xp, x: (x[1:], x[::-1, ::2], x[..., -1], x[0, 1], xp.diagonal(x), xp.flip(x, 1)), [M], ALL),
    "dtype views": (lambda xp, x: x.view("u1"), [M], ["f8", "i2"]),
    "parts": (lambda xp, x: (x.real * 2, x.imag, xp.conjugate(x)), [M], ["c16", "c8"]),
    "repetitions": (lambda xp, x: (xp.broadcast_to(x, (3, 4)) + 0, xp.tile(x, 2), xp.repeat(x, 2)), [V], ALL),
    "indices": (lambda xp, x: (x[[2, 0]], x[:, [1, -1]], x[[0, 1], [2, 3]], xp.take(x, [1, 5])), [M], ALL),
    "indices behind": (lambda xp, x: (x[:, :, [1, 0]], x[:, [[0, 1], [2, 0]]], x[[1, 0], :, [0, 3]]),
                       [(2, 3, 4)], ["f8"]),
    "joining": (lambda xp, x, y: (xp.concatenate([x, y]), xp.stack([x[0], y[1]], 1), xp.hstack([x, y])), [M, M], ALL),
    "padding": (lambda xp, x: (xp.pad(x, 1), xp.roll(x, 1, 0), xp.diff(x.astype("f8"))), [M], ["f8", "i8"]),
    "writes": (stored(_write), [M, V], ALL[:-1]),
    "writes at indices": (stored(_write_at), [M, V], ALL),
    "writes where": (stored(_write_where), [M, V], ["f8", "f4", "i8"]),
    "orders": (lambda xp, x: (xp.sort(x), xp.sort(x, 0), xp.argsort(x, 0, kind="stable"), xp.sort(x, None)),
               [M], REALS),
    "partitions": (lambda xp, x: (xp.partition(x, 2)[..., 2], xp.median(x, 0), xp.quantile(x, 0.3)), [M], ["f8", "i8"]),
    "places that partition": (lambda xp, x: xp.take_along_axis(x, xp.argpartition(x, 1, 0)[1:2], 0), [M], ["f8", "i8"]),
    "lexsort": (lambda xp, x, y: xp.lexsort((x, y)), [V, V], ["i8"]),
    "running sums": (lambda xp, x: (xp.cumsum(x), xp.cumsum(x, 0), xp.cumprod(x, 1)), [M], ["f8", "f4", "i8", "c16"]),
    "running extremes": (lambda xp, x: xp.maximum.accumulate(x, 1), [M], REALS),
    "folds": (lambda xp, x: (xp.arctan2.reduce(x, 0), xp.subtract.reduce(x, 1)), [M], ["f8"]),
    "segments": (lambda xp, x: xp.add.reduceat(x, [0, 2], 1), [M], ["f8", "i8"]),
    "searches": (lambda xp, x, y: xp.searchsorted(xp.sort(x), y), [(6,), M], ["f8", "i8"]),
    "convolutions": (lambda xp, x, y: (xp.convolve(x, y), xp.correlate(x, y, "same")), [(6,), (3,)], ["f8", "i8"]),
    "histograms": (lambda xp, x: xp.histogram(x, 4, (-2, 2))[0], [(20,)], ["f8"]),
    "interpolation": (lambda xp, x, y: xp.interp(x, xp.sort(y), y), [M, V], ["f8"]),
    "transforms": (lambda xp, x: (xp.fft.fft(x), xp.fft.rfft(x.real, axis=0), xp.fft.ifft2(x)), [M], FLOATS),
    "transforms back": (lambda xp, x: xp.fft.irfft(xp.fft.rfft(x, axis=1), 4), [M], ["f8", "f4"]),
    "solutions": (lambda xp, x, y: xp.linalg.solve(spd(xp, x), y), [M, (3,)], FLOATS),
    "solutions of several": (lambda xp, x, y: xp.linalg.solve(spd(xp, x), y), [M, (3, 2)], FLOATS),
    "inverses": (lambda xp, x: (xp.linalg.inv(spd(xp, x)), xp.linalg.det(spd(xp, x))), [M], FLOATS),
    "factors": (lambda xp, x: (xp.linalg.cholesky(spd(xp, x)), *xp.linalg.slogdet(spd(xp, x))), [M], FLOATS),
    "eigenvalues": (lambda xp, x: (xp.linalg.eigvalsh(spd(xp, x)), xp.linalg.svd(x, compute_uv=False)), [M], FLOATS),
    "reconstructions": (
        lambda xp, x: (xp.matmul(*xp.linalg.qr(x)), _from_eigh(xp, spd(xp, x)), _from_svd(xp, x)), [M], ["f8", "c16"],
    ),
    "norms": (lambda xp, x: (xp.linalg.norm(x), xp.linalg.norm(x, axis=0)), [M], FLOATS),
    "creation": (lambda xp, x: (x + xp.arange(4), xp.zeros_like(x), xp.eye(4) * x, xp.ones(3)), [V], ["f8", "i8"]),
    "triangles": (lambda xp, x: (xp.tril(x), xp.triu(x, 1), xp.trace(x)), [M], ALL),
}  # fmt: skip
"""By what it is called: the function, the shapes of its examples, and dtypes."""


def _from_eigh(xp: Any, a: Any) -> Any:
    values, vectors = xp.linalg.eigh(a)
    return (vectors * values) @ xp.conjugate(vectors.T)


def _from_svd(xp: Any, a: Any) -> Any:
    u, s, vh = xp.linalg.svd(a, full_matrices=False)
    return (u * s) @ vh


@pytest.mark.parametrize("name", EACH)
def test_operations_are_those_of_one_example_after_the_other(name: str) -> None:
    function, shapes, dtypes = EACH[name]
    for dtype in dtypes:
        check(function, shapes, [dtype] * len(shapes), name)


@pytest.mark.parametrize("pair", [("f8", "f4"), ("i8", "f4"), ("u1", "i2"), ("c8", "f8"), ("?", "i8")])
def test_dtypes_are_promoted_as_of_one_example(pair: tuple[str, str]) -> None:
    check(lambda xp, x, y: (x + y, x * 2, y + 1.5, xp.multiply(x, y)), [M, S], pair, "promotion")


def test_special_functions_and_their_operands_broadcast() -> None:
    special = pytest.importorskip("scipy.special")

    def of(xp: Any) -> Any:
        return nl.special if xp is nl else special

    check(
        lambda xp, x, y: (of(xp).expit(x), of(xp).gammaln(abs(x) + 1), of(xp).xlogy(x, abs(y))),
        [M, V],
        ["f8", "f8"],
        "",
    )
    check(lambda xp, x, y: of(xp).jv(x, abs(y)), [M, V], ["f8", "f8"], "on the host")
    check(lambda xp, x: of(xp).softmax(x, -1), [M], ["f8"], "softmax")


def test_cosine_transforms() -> None:
    scipy_fft = pytest.importorskip("scipy.fft")
    x = numbers((5, 3, 4), "f8")
    with scipy_fft.set_backend(nl.fft.scipy_backend):
        found = nl.vmap(lambda a: scipy_fft.dct(a, axis=0))(nl.asarray(x))
        found_all = nl.vmap(lambda a: scipy_fft.dctn(a))(nl.asarray(x))
    agree(found, [scipy_fft.dct(x, axis=1)], "dct")
    agree(found_all, [scipy_fft.dctn(x, axes=(1, 2))], "dctn")


def test_each_kind_and_each_routine_has_a_rule_or_is_named() -> None:
    assert set(KINDS) == {OP, CAST, VIEW, REDUCE, GATHER, UPDATE, ROUTINE}
    named = {*RULES, *ONE_BY_ONE, *SIZED_BY_VALUES} - {"custom_gradient", "loop"}
    assert named == set(ROUTINES)
    assert not set(RULES) & {*ONE_BY_ONE, *SIZED_BY_VALUES}


def test_of_no_examples_shapes_and_dtypes_are_right() -> None:
    for name, (function, shapes, dtypes) in EACH.items():
        ones = [numbers((1, *shape), dtypes[0], SEED + k) for k, shape in enumerate(shapes)]
        want = looped(function, ones, [0] * len(shapes), 1)
        found = flat(nl.vmap(lambda *args: function(nl, *args))(*[nl.asarray(one[:0]) for one in ones]))
        assert [(one.shape, one.dtype) for one in found] == [((0, *one.shape[1:]), one.dtype) for one in want], name


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("axis", [0, 1, 2, -1])
def test_an_example_lies_in_memory_as_it_does_alone(order: str, axis: int) -> None:
    x = np.asarray(numbers((3, 4, 5), "f8"), order=order)  # type: ignore[call-overload]
    function = lambda xp, a: (a.ravel("K"), a.T.ravel("K"), (a + 1).ravel("K"))  # noqa: E731
    rows = [[one for one in function(np, np.moveaxis(x, axis, 0)[k])] for k in range(x.shape[axis])]
    found = nl.vmap(lambda a: function(nl, a), axis)(nl.asarray(x))
    agree(found, [np.stack(column) for column in zip(*rows, strict=True)], "orders")


def test_results_are_in_c_order_and_nobody_elses() -> None:
    x = nl.asarray(numbers((3, 4), "f8"))
    kept = x.get()
    for function in (lambda a: a, lambda a: a[::-1], lambda a: a.reshape(2, 2), lambda a: a * 1):
        found = nl.vmap(function)(x)
        assert found.flags.c_contiguous and found.base is None
        before = found.get()
        found[...] = 0
        assert np.array_equal(x.get(), kept)
        found = nl.vmap(function)(x)
        x[0] = 9
        assert np.array_equal(found.get(), before)
        x[...] = nl.asarray(kept)


SEEN = [
    ("f4", "i4"),
    ("i4", "f4"),
    ("f2", "u2"),
    ("i8", "f8"),
    ("u1", "i1"),
    ("?", "u1"),
    ("c8", "i8"),
    ("f8", "i4"),
    ("f4", "f8"),
]
COMPUTED: dict[str, Callable[..., Any]] = {
    "arithmetic": lambda xp, a: a + a,
    "a sort": lambda xp, a: xp.sort(a, axis=-1),
    "a store": lambda xp, a: stored(a + a),
    "reversed": lambda xp, a: (a + a)[::-1].copy(),
    "reshaped": lambda xp, a: (a + a).reshape(2, -1),
    "a row and all": lambda xp, a: a + a[:1],
    "chosen": lambda xp, a: xp.where(a == a[0], a, a + a),
    "gathered": lambda xp, a: a[xp.asarray([3, 0, 1, 2])],
}  # fmt: skip
SEEING: dict[str, Callable[..., Any]] = {
    "all": lambda x, dtype: x.view(dtype),
    "reshaped": lambda x, dtype: x.view(dtype).reshape(-1),
    "the half": lambda x, dtype: x.reshape(-1).view(dtype)[x.size // 2 :],
    "there and back": lambda x, dtype: x.view(dtype).view(x.dtype).view(dtype),
}


def stored(x: Any) -> Any:
    x[1] = 1
    return x


@pytest.mark.parametrize("seeing", SEEING)
@pytest.mark.parametrize("computed", COMPUTED)
def test_views_of_another_dtype_as_results(computed: str, seeing: str) -> None:
    """Also where they have as many elements as the memory has, or as half of it has."""
    for dtype, other in SEEN:
        given = numbers((3, 4), dtype)

        def viewed(xp: Any, a: Any, other: str = other) -> Any:
            return SEEING[seeing](COMPUTED[computed](xp, a), other)

        want = looped(viewed, [given], [0], 3)
        for function in (
            nl.vmap(lambda a, f=viewed: f(nl, a)),
            nl.vmap(nl.compile(lambda a, f=viewed: f(nl, a))),
            lambda x, f=viewed: nl.vmap(nl.vmap(lambda a: f(nl, a)))(x[None])[0],
            lambda x, f=viewed: nl.vmap(lambda a: (a, f(nl, a)))(x)[1],
            nl.compile(nl.vmap(lambda a, f=viewed: f(nl, a))),
        ):
            have = host_of(function(nl.asarray(given)))
            assert (have.dtype, have.shape) == (want[0].dtype, want[0].shape), (dtype, other)
            assert have.tobytes() == want[0].tobytes(), (dtype, other)
