"""Symbols with unknown extents: every public function takes them, or says why not; their shapes are computed with."""

from __future__ import annotations

import copy
import inspect
import io
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.compiled.deferred import Deferred, parts_of
from numloom.compiled.function import SPECIALISATIONS
from numloom.compiled.structure import flat

sys.path.append(str(Path(__file__).parent.parent / "api"))
from test_integer_parameters import made_call

Host = np.ndarray[Any, Any]
X = np.array([[4.0, 1.0, 0.5], [1.0, 3.0, 0.25], [0.5, 0.25, 2.0]])
"""Positive definite, so that there is little that it is no argument of."""

# Calls that parameters' names do not give; x is a symbol whose number of rows is not known.
CALLS = {
    "angle": "np.angle(x)", "apply_along_axis": "np.apply_along_axis(lambda r: r.sum(), 0, x)",
    "apply_over_axes": "np.apply_over_axes(np.sum, x, 0)", "arange": "np.arange(x.shape[0])",
    "array_equal": "np.array_equal(x, x)", "array_equiv": "np.array_equiv(x, x)", "astype": "np.astype(x, 'f4')",
    "atleast_1d": "np.atleast_1d(x, x)", "atleast_2d": "np.atleast_2d(x)", "atleast_3d": "np.atleast_3d(x)",
    "bartlett": "np.bartlett(x.shape[0])", "bincount": "np.bincount(x.astype(int)[0])",
    "blackman": "np.blackman(x.size)",
    "broadcast_arrays": "np.broadcast_arrays(x, x[0])", "broadcast_to": "np.broadcast_to(x[0], x.shape)",
    "choose": "np.choose(x.astype(int) % 2, [x, -x])", "common_type": "np.common_type(x)",
    "compare": "np.compare(x)", "compress": "np.compress([True, False], x, 0)", "convolve": "np.convolve(x[0], x[1])",
    "copyto": "np.copyto(x, 1.0)", "correlate": "np.correlate(x[0], x[1])", "cross": "np.cross(x, x)",
    "cumulative_prod": "np.cumulative_prod(x, axis=0)", "cumulative_sum": "np.cumulative_sum(x, axis=0)",
    "diag_indices": "np.diag_indices(x.shape[0])", "digitize": "np.digitize(x, [1.0, 2.0])",
    "dsplit": "np.dsplit(x[None], 3)", "einsum": "np.einsum('ij,kj->ik', x, x)",
    "einsum_path": "np.einsum_path('ij,kj->ik', x, x)", "empty": "np.zeros_like(np.empty(x.shape))",
    "evaluate": "np.evaluate(x)",
    "empty_like": "np.zeros_like(np.empty_like(x))", "expand_dims": "np.expand_dims(x, 0)",
    "extract": "np.extract(x > 1, x)", "eye": "np.eye(x.shape[0])", "fill_diagonal": "np.fill_diagonal(x, 1.0)",
    "fromfunction": "np.fromfunction(lambda i, j: i + j, x.shape)", "full": "np.full(x.shape, 7)",
    "geomspace": "np.geomspace(x[0], 9.0, 3)", "hamming": "np.hamming(x.shape[0])", "hanning": "np.hanning(x.shape[0])",
    "hsplit": "np.hsplit(x, 3)", "identity": "np.identity(x.shape[0])", "imag": "np.imag(x)",
    "indices": "np.indices(x.shape)", "insert": "np.insert(x, 1, x[0], 0)",
    "interp": "np.interp(x, x[0] * 0 + np.arange(3.0), x[1])",
    "intersect1d": "np.intersect1d(x, x)", "isin": "np.isin(x, [1.0, 2.0])", "iterable": "np.iterable(x)",
    "ix_": "np.ix_(x[0].astype(int), x[1].astype(int))", "kaiser": "np.kaiser(x.shape[0], 2.0)",
    "linspace": "np.linspace(x[0], 9.0, 4)", "logspace": "np.logspace(x[0], 3.0, 4)",
    "matvec": "np.matvec(x, x[0])", "meshgrid": "np.meshgrid(x[0], x[1])", "ones": "np.ones(x.shape)",
    "packbits": "np.packbits(x > 1)", "pad": "np.pad(x, 1)", "place": "np.place(x, x > 1, 2.0)",
    "piecewise": "np.piecewise(x, [x > 1], [1.0, 2.0])", "poly": "np.poly(x[0])", "polyadd": "np.polyadd(x[0], x[1])",
    "polyder": "np.polyder(x[0])", "polydiv": "np.polydiv(x[0], x[1])", "polyfit": "np.polyfit(x[0], x[1], 1)",
    "polyint": "np.polyint(x[0])", "polymul": "np.polymul(x[0], x[1])",
    "polysub": "np.polysub(x[0], x[1])", "put": "np.put(x, [0], 7.0)",
    "put_along_axis": "np.put_along_axis(x, x, x, 0)",
    "putmask": "np.putmask(x, x > 1, x)", "ravel_multi_index": "np.ravel_multi_index((np.array([1]),), x.shape[:1])",
    "real": "np.real(x)", "repeat": "np.repeat(x, 2, 0)", "reshape": "np.reshape(x, (3, -1))",
    "resize": "np.resize(x, (2, 5))", "result_type": "np.result_type(x)", "roots": "np.roots(x[0])",
    "save": "np.save('x', x)", "savetxt": "np.savetxt('x', x)", "savez": "np.savez('x', x)",
    "savez_compressed": "np.savez_compressed('x', x)", "searchsorted": "np.searchsorted([1.0, 2.0], x)",
    "select": "np.select([x > 1], [x], 2.0)", "setdiff1d": "np.setdiff1d(x, x)", "setxor1d": "np.setxor1d(x, x)",
    "split": "np.split(x, 3)", "squeeze": "np.squeeze(x[:, :1], 1)",
    "take_along_axis": "np.take_along_axis(x, np.argsort(x, 0), 0)",
    "tensordot": "np.tensordot(x, x, 1)", "tile": "np.tile(x, 2)", "tri": "np.tri(x.shape[0])",
    "tril_indices": "np.tril_indices(x.shape[0])",
    "triu_indices": "np.triu_indices(x.shape[0])", "union1d": "np.union1d(x, x)",
    "unpackbits": "np.unpackbits(x.astype('u1'))", "unravel_index": "np.unravel_index([1, 2], x.shape)",
    "vander": "np.vander(x[0])", "vdot": "np.vdot(x, x)", "vecmat": "np.vecmat(x[0], x)",
    "where": "np.where(x > 1, x, 0)",
    "zeros": "np.zeros(x.shape)", "linalg.lstsq": "np.linalg.lstsq(x, x[0])", "linalg.matmul": "np.linalg.matmul(x, x)",
    "linalg.outer": "np.linalg.outer(x[0], x[0])", "linalg.solve": "np.linalg.solve(x, x[0])",
    "linalg.matrix_power": "np.linalg.matrix_power(x, 2)", "linalg.cross": "np.linalg.cross(x, x)",
    "linalg.tensorinv": "np.linalg.tensorinv(x, 1)", "linalg.tensorsolve": "np.linalg.tensorsolve(x, x[0])",
    "fft.fftfreq": "np.fft.fftfreq(x.shape[0])", "fft.rfftfreq": "np.fft.rfftfreq(x.shape[0])",
    **{f"fft.{name}": f"np.fft.{name}(x)" for name in ("fft2", "fftn", "ifft2", "ifftn", "irfft2", "irfftn", "rfft2",
    "rfftn")},
    **{name: f"np.{name}(x.astype(int), x.astype(int))" for name in (
        "bitwise_and", "bitwise_left_shift", "bitwise_or", "bitwise_right_shift", "bitwise_xor", "gcd", "lcm",
    "left_shift",
        "right_shift")},
    **{name: f"np.{name}(x.astype(int))" for name in ("bitwise_count", "bitwise_invert", "bitwise_not", "invert")},
    "ldexp": "np.ldexp(x, x.astype(int))", "mask_indices": "np.mask_indices(x.shape[0], np.triu)",
    "histogram2d": "np.histogram2d(x[0], x[1], 3)", "shape": "np.shape(x)",
    "special.multigammaln": "np.special.multigammaln(x + 3, 2)",
    "special.logsumexp": "np.special.logsumexp(x)", "special.softmax": "np.special.softmax(x)",
    "special.log_softmax": "np.special.log_softmax(x)", "linalg.diagonal": "np.linalg.diagonal(x)",
    "gradient": "np.gradient(x)", "lexsort": "np.lexsort((x[0], x[1]))", "matmul": "np.matmul(x, x)",
    "rollaxis": "np.rollaxis(x, 1)", "unique": "np.unique(x)", "vecdot": "np.vecdot(x, x)", "vsplit": "np.vsplit(x, 3)",
    "linalg.tensordot": "np.linalg.tensordot(x, x, axes=1)", "linalg.vecdot": "np.linalg.vecdot(x, x)",
    "trapezoid": "np.trapezoid(x)", "unwrap": "np.unwrap(x)", "nested_iters": "np.nested_iters(x, [[1], [0]])",
}  # fmt: skip
WITHOUT_ARRAYS = frozenset((
    "base_repr", "binary_repr", "broadcast_shapes", "can_cast", "config", "finfo", "format_float_positional",
    "format_float_scientific", "from_dlpack", "frombuffer", "fromfile", "fromiter", "fromregex", "fromstring", "fuse",
    "genfromtxt", "get_array_module", "get_printoptions", "geterr", "iinfo", "isdtype", "isnat", "issubdtype", "kernel",
    "load",
    "load_ipython_extension", "loadtxt", "mintypecode", "operation", "placement", "printoptions", "promote_types",
    "set_printoptions", "seterr", "synchronize", "typename", "unload_ipython_extension", "isscalar",
))  # fmt: skip
"""Functions that take no array of numbers, or ask what kind of object something is."""
NOT_NOTED = frozenset((
    "array2string", "array_repr", "array_str", "asnumpy", "compare", "copyto", "evaluate", "explain", "fill_diagonal",
    "place", "put", "put_along_axis", "putmask", "save", "savetxt", "savez", "savez_compressed",
))  # fmt: skip
"""Functions that refuse such symbols, with the cure: they look at numbers, or write to their argument."""


def public_functions() -> Iterator[tuple[str, str]]:
    """Names of functions, and a call with x."""
    for prefix in ("", "linalg.", "fft.", "special."):
        owner: Any = getattr(nl, prefix[:-1]) if prefix else nl
        for name in sorted(owner.__all__):
            function = getattr(owner, name)
            path = f"{prefix}{name}"
            if name[0] == "_" or not callable(function) or inspect.isclass(function) or path in WITHOUT_ARRAYS:
                continue
            if path in CALLS:
                yield path, CALLS[path]
            elif hasattr(function, "nin"):
                yield path, f"np.{path}({', '.join(['x'] * function.nin)})"
            else:
                yield path, made_call(path, "", list(inspect.signature(function).parameters.values()))


def called(call: str, x: Any, xp: Any = nl) -> Any:
    return eval(call, {"np": xp, "x": x, "io": io})


def same(got: Any, expected: Any, dtypes: bool = True) -> None:
    assert len(flat(got)) == len(flat(expected))
    for one, other in zip(flat(got), flat(expected), strict=True):
        one, other = [np.asarray(each.get() if isinstance(each, nl.ndarray) else each) for each in (one, other)]
        assert one.shape == other.shape
        assert one.dtype == other.dtype or not dtypes
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-12)


def outcome(name: str, call: str) -> str:
    """What becomes of a call with a symbol whose number of rows is not known."""
    with np.errstate(all="ignore"):
        x = nl.symbol("x", (None, 3), "float64")
        try:
            noted = called(call, x)
        except TypeError as error:
            assert "nl.compile" in str(error) or "takes numloom arrays" in str(error), f"{call}: {error}"
            return "refused"
        if not parts_of(noted):
            assert noted == called(call, nl.asarray(X)), call
            return "plain"
        known = nl.symbol("x", (3, 3), "float64")
        unknown = nl.function([x], noted)
        try:
            function = nl.function([known], lambda x: called(call, x))
        except Exception as error:
            assert failure(lambda: unknown(X)) == (type(error), str(error)), call
            return "as known"
        for value in (X, X + np.eye(3)):
            same(unknown(value), function(value))
            same(unknown(value), called(call, nl.asarray(value)), dtypes="eig" not in name)  # complex in trees
        return "works"


def failure(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Exception as error:
        return type(error), str(error)


@pytest.mark.filterwarnings("ignore")
def test_every_public_function() -> None:
    wrong = []
    found: dict[str, list[str]] = {}
    for name, call in public_functions():
        try:
            found.setdefault(outcome(name, call), []).append(name)
        except Exception as error:
            wrong.append(f"{call}: {type(error).__name__}: {str(error)[:300]}")
    assert not wrong, f"{len(wrong)}\n" + "\n".join(wrong)
    assert set(found["refused"]) == NOT_NOTED
    counts = {"works": 490, "as known": 23, "refused": 17, "plain": 5}
    assert {name: len(names) for name, names in found.items()} == counts, found


def rows(*extents: int | None, name: str = "x", dtype: Any = "float64") -> Any:
    return nl.symbol(name, extents, dtype)


NUMBER = {
    "mean": lambda xp, x: x.sum() / x.shape[0],
    "centred": lambda xp, x: x - x.sum(0) / x.shape[0],
    "arange": lambda xp, x: xp.arange(x.shape[0]) * x[:, 0],
    "zeros": lambda xp, x: xp.zeros((x.shape[0], 3)) + x,
    "half": lambda xp, x: x[: x.shape[0] // 2],
    "half of known": lambda xp, x: xp.arange(20.0)[: x.shape[0] // 2],
    "rest of known": lambda xp, x: xp.arange(20.0)[x.shape[0] :],
    "backwards": lambda xp, x: x[x.shape[0] - 1 :: -1],
    "known at a number": lambda xp, x: xp.arange(20.0)[x.shape[0]],
    "rows of known": lambda xp, x: xp.arange(40.0).reshape(20, 2)[: x.shape[0], 1],
    "reshape": lambda xp, x: x.reshape(x.shape[0], -1),
    "reshape back": lambda xp, x: xp.reshape(x.T, x.shape),
    "flat": lambda xp, x: x.reshape(x.size),
    "broadcast": lambda xp, x: xp.broadcast_to(x[:1], x.shape),
    "shape of an expression": lambda xp, x: xp.ones((x @ x.T).shape[0]) * (x @ x.T).shape[1],
    "unpacked": lambda xp, x: (lambda n, m: xp.full((m, n), n * 1.5))(*x.shape),
    "arithmetic": lambda xp, x: x * (2 * x.shape[0] - x.size % 7) ** 2,
    "divmod": lambda xp, x: x + divmod(x.shape[0], 3)[1],
    "comparison": lambda xp, x: xp.where(x.shape[0] > 3, x, -x),
    "in a list": lambda xp, x: xp.concatenate([x, xp.ones((x.shape[0], 3))]),
    "root": lambda xp, x: x / xp.sqrt(x.shape[0]),
    "eye": lambda xp, x: xp.eye(x.shape[0]) @ x,
    "linspace": lambda xp, x: xp.linspace(0.0, 1.0, x.shape[0]),
    "tuple": lambda xp, x: xp.linalg.qr(x)[1].shape[0] + x,
    "real": lambda xp, x: x.real + x.imag,
    "option": lambda xp, x: xp.sum(x, axis=0, where=x > 0.5, initial=1.0),
}


@pytest.mark.parametrize("call", NUMBER.values(), ids=NUMBER)
def test_shapes_are_expressions(call: Callable[..., Any]) -> None:
    x = rows(None, 3)
    function = nl.function([x], call(nl, x))
    for count in (4, 1, 7, 4, 2):
        value = np.random.default_rng(count).random((count, 3))
        same(function(value), call(np, value), dtypes=False)


def test_an_extent_is_an_output() -> None:
    x = rows(None, 3)
    function = nl.function([x], [x.shape[0], x.size, x.shape[1]])
    assert [int(one) for one in function(np.ones((5, 3)))] == [5, 15, 3]
    assert [int(one) for one in function(np.ones((0, 3)))] == [0, 0, 3]


def test_what_is_known_of_an_expression() -> None:
    x = rows(None, None)
    w = nl.asarray(np.ones((5, 2), np.float32))
    y = nl.dot(x, w)
    assert (y.ndim, y.dtype, len(y.shape)) == (2, np.dtype("float64"), 2)
    assert (x.sum().ndim, (x > 1).dtype, x.shape[0].ndim) == (0, np.dtype(bool), 0)
    q, r = nl.linalg.qr(x)
    same(nl.function([x], q @ r)(X), X)
    assert nl.linalg.svd(x).S.ndim == 1
    with pytest.raises(TypeError, match=r"ndim .* is not known before a call"):
        nl.squeeze(x).ndim  # (one axis less where an extent is 1)
    with pytest.raises(TypeError, match=r"ndim .* is not known"):
        nl.dot(x, w).dot(nl.ones((7, 3))).ndim  # (fits for no extent)


@pytest.mark.parametrize(
    ("look", "words"),
    [
        (lambda x: len(x), r"x\.shape\[0\]"),
        (lambda x: bool(x.sum() > 1), "nl.where"),
        (lambda x: 1 if x.shape[0] > 2 else 0, "nl.where"),
        (lambda x: int(x.shape[0]), "is no number before a call"),
        (lambda x: range(x.shape[0]), "is no number before a call"),
        (lambda x: float(x.sum()), "is no number before a call"),
        (lambda x: np.zeros((x.shape[0], 3)), r"nl.zeros\(\(n, 3\)\)"),
        (lambda x: np.asarray(x), "has no numbers"),
        (lambda x: list(x), "nl.scan"),
        (lambda x: x.tolist(), "needs numbers"),
        (lambda x: x.item(), "needs numbers"),
        (lambda x: x.sort(), "writes"),
        (lambda x: x.fill(0), "writes"),
        (lambda x: x.__setitem__(0, 1), "writes"),
        (lambda x: nl.zeros(3).__setitem__(0, x), "has no numbers"),
        (lambda x: nl.add(x, 1, out=nl.zeros((3, 3))), "writes"),
        (lambda x: nl.add(x, 1, nl.zeros((3, 3))), "writes"),
        (lambda x: np.add(x, 1, out=nl.zeros((3, 3))), "writes"),
        (lambda x: nl.dot(x, x, nl.zeros((3, 3))), "writes"),
        (lambda x: nl.sum(x, 0, None, nl.zeros(3)), "writes"),
        (lambda x: nl.cumsum(x, 0, out=nl.zeros((3, 3))), "writes"),
        (lambda x: x.sum(0, out=nl.zeros(3)), "writes"),
        (lambda x: nl.zeros((3, 3)).dot(x, out=nl.zeros((3, 3))), "writes"),
        (lambda x: nl.copyto(nl.zeros((3, 3)), x), "writes"),
        (lambda x: np.copyto(nl.zeros((3, 3)), x), "writes"),
        (lambda x: nl.add.at(nl.zeros(3), [0], x), "writes"),
        (lambda x: nl.random.default_rng(1).shuffle(x), "writes"),
        (lambda x: nl.zeros(3).__setitem__(slice(0, x.shape[0]), 1), "writes"),
        (lambda x: nl.zeros((2, 3)).__setitem__((0, slice(x.shape[0])), 1), "writes"),
        (lambda x: nl.zeros(3).put([0], x), "writes"),
        (lambda x: nl.zeros(3).sort(x.shape[0]), "writes"),
        (lambda x: nl.zeros(3).partition(x.shape[0]), "writes"),
        (lambda x: nl.zeros(3).fill(x[0]), "writes"),
        (lambda x: nl.shared(np.ones(3)).set_value(x), "writes"),
        (lambda x: nl.broadcast(x, x), "gives arrays alone"),
        (lambda x: nl.testing.assert_allclose(x, x), "needs numbers"),
        (lambda x: nl.source(x), "nl.compile"),
        (lambda x: nl.tree(x), "nl.compile"),
    ],
)
def test_what_has_no_meaning_names_the_cure(look: Callable[[Any], Any], words: str) -> None:
    with pytest.raises(TypeError, match=words) as found:
        look(rows(None, 3))
    assert "nl.compile" in str(found.value) or "nl.where" in str(found.value)


def test_operators_in_place_never_write() -> None:
    x = rows(None)
    known = nl.ones(3)
    before = known
    with pytest.raises(TypeError, match="x = x"):
        known += x
    with pytest.raises(TypeError, match="x = x"):
        known **= x
    with pytest.raises(TypeError, match="x = x"):
        known @= x
    assert before is known
    same(before, np.ones(3))


def test_arrays_are_those_of_the_moment() -> None:
    x = rows(None)
    ours, theirs, several = nl.ones(3), np.ones(3), [1.0, 2.0, 3.0]
    y = x + ours + nl.asarray(theirs) + nl.multiply(x, theirs) + nl.where(x > 0, several, 0)
    ours[:] = 7
    theirs[:] = 8
    several[0] = 9
    same(nl.function([x], y)([1.0, 2.0, 3.0]), np.array([5.0, 8.0, 11.0]))


def test_what_is_read_twice_is_drawn_once_and_in_turn() -> None:
    def program(x: Any, rng: Any) -> Any:
        first, second = rng.normal(size=x.shape), rng.random(x.shape)
        return second + x, first * 1.0, first * 1.0

    known, x = rows(4), rows(None)
    mine = nl.function([x], program(x, nl.random.default_rng(5)))
    other = nl.function([known], lambda x: program(x, nl.random.default_rng(5)))
    for _ in range(2):
        got = mine(np.ones(4))
        assert np.array_equal(got[1], got[2])
    same(nl.function([x], program(x, nl.random.default_rng(5)))(np.ones(4)), other(np.ones(4)))


def test_trying_extents_draws_nothing() -> None:
    x = rows(None)
    mine, other = nl.random.default_rng(5), nl.random.default_rng(5)
    noise = mine.normal(size=x.shape)
    assert (noise.ndim, (noise + x).dtype) == (1, np.dtype("float64"))
    same(nl.function([x], noise + x)(np.zeros(4)), other.normal(size=4))


def test_loops_and_decisions() -> None:
    x, w = rows(None, 3), rows(None, name="w")
    value, weights = np.random.default_rng(3).random((40, 3)), np.array([1.0, 2.0, 3.0])
    last, sums = nl.scan(lambda s, e: (s + e * w, (s * w).sum()), x[0] * 0, x)  # w is read from outside
    got = nl.function([x, w], [last, sums])(value, weights)
    same(got[0], (value * weights).sum(0))
    state, expected = np.zeros(3), []
    for row in value:
        expected.append((state * weights).sum())
        state = state + row * weights
    same(got[1], np.array(expected))
    loop = nl.fori_loop(0, x.shape[0], lambda i, s: s + x[i].sum() * i, nl.asarray(0.0))
    for count in (40, 3, 0):
        same(nl.function([x], loop)(value[:count]), (value[:count].sum(1) * np.arange(count)).sum())
    doubled = nl.while_loop(lambda s: s.sum() < 1000, lambda s: s * 2, x[0])
    expected = value[0]
    while expected.sum() < 1000:
        expected = expected * 2
    same(nl.function([x], doubled)(value), expected)
    same(nl.function([x], nl.ifelse(x.sum() > 1, lambda: x * 2, lambda: x * 3))(value), value * 2)


def test_gradients_updates_and_givens() -> None:
    x, y = rows(None, 3), rows(None, name="y")
    w = nl.shared(np.arange(3.0), "w")
    cost = ((nl.dot(x, w) - y) ** 2).sum() / x.shape[0]
    slope = nl.grad(cost, w)
    step = nl.function([x, y], cost, updates=[(w, w - 0.1 * slope)])
    ours = np.arange(3.0)
    for count in (5, 2, 5, 1):
        value, wanted = np.random.default_rng(count).random((count, 3)), np.ones(count)
        error = value @ ours - wanted
        same(step(value, wanted), (error**2).sum() / count)
        ours = ours - 0.1 * (2 * error @ value / count)
        np.testing.assert_allclose(w.get_value(), ours)
    z = nl.symbol("z", (3,), "float64")
    same(nl.function([x], x.sum(0) + z, givens=[(z, x[0] * 2)])(X), X.sum(0) + X[0] * 2)


def test_a_thousand_sizes_keep_few_programs() -> None:
    x = rows(None)
    function = nl.function([x], (x * 2).sum() + x.shape[0])
    for count in [*range(1000), 999, 5, 998]:
        assert float(function(np.ones(count))) == 3 * count
    assert len(function._ready) == SPECIALISATIONS
    kept = list(function._ready)
    assert kept[-3:] == [((999,),), ((5,),), ((998,),)]  # In the order of their last calls.


def test_a_rank_that_follows_from_extents_is_refused() -> None:
    x = rows(None, None)
    y = nl.dot(x, nl.ones((1, 4)))  # Only one column fits; so does one row, and then there is one axis less.
    assert y.ndim == 2
    assert isinstance(y.shape[0], Deferred)
    same(nl.function([x], nl.squeeze(y) * 1.0)(np.ones((3, 1))), np.ones((3, 4)))


def test_substitute_gives_extents() -> None:
    x, y = rows(None, 3), rows(None, name="y")
    both = x.sum(1) * y + x.shape[0]
    half = nl.substitute(both, (y, rows(4, name="y")))
    assert isinstance(half, Deferred)
    whole = nl.substitute(half, [(x, rows(4, 3))])
    assert whole.shape == (4,)
    value, other = np.random.default_rng(1).random((4, 3)), np.arange(4.0)
    text = nl.source(whole)
    assert list(text.arguments) == ["x", "y"]
    same(text.compile()(value, other), value.sum(1) * other + 4)
    same(nl.substitute(both, [(x, value), (y, other)]).asnumpy(), value.sum(1) * other + 4)
    with pytest.raises(ValueError, match="extent 3 along axis 1, not 2"):
        nl.substitute(both, (x, np.ones((4, 2))))
    for look in (nl.source, nl.tree):
        with pytest.raises(TypeError, match=r"nl\.substitute"):
            look(both)


def test_rewrite_is_noted() -> None:
    x = rows(None)
    y = nl.rewrite(nl.log(nl.exp(x)), (lambda a: nl.log(nl.exp(a)), lambda a: a * 3))
    same(nl.function([x], y)([1.0, 2.0]), np.array([3.0, 6.0]))


def test_draws_of_known_and_unknown_size_in_one_function() -> None:
    x = rows(None)
    rng, other = nl.random.default_rng(1), nl.random.default_rng(1)
    with nl.symbolic():
        first, second, third = rng.normal(size=2), rng.normal(size=x.shape[0]), rng.normal(size=2)
    function = nl.function([x], [first, second, third])
    other.normal(size=2), other.normal(size=2)  # Those whose size is known are drawn as they are written,
    for count in (1, 2, 1):  # and again, before the others, by each call.
        expected = other.normal(size=2), other.normal(size=2), other.normal(size=count)
        got = function(np.ones(count))
        same([got[0], got[2], got[1]], [one.get() for one in expected])


def test_an_expression_is_no_symbol_to_replace() -> None:
    x = rows(None)
    with pytest.raises(TypeError, match="symbols are replaced"):
        nl.function([x], x * 2, givens=[(x * 2, np.ones(3))])
    with pytest.raises(TypeError, match="is none"):
        nl.substitute(x * 2 + 1, (x * 2, np.ones(3)))


def test_substitute_takes_expressions() -> None:
    x, y = rows(None, 3), rows(None, name="y")
    other = nl.substitute([x.sum(0) / x.shape[0], x], (x, y.reshape(-1, 3) * 2))
    same(nl.function([y], other)(np.arange(6.0)), [np.array([3.0, 5.0, 7.0]), np.arange(6.0).reshape(2, 3) * 2])
    with pytest.raises(ValueError, match="extent 3 along axis 1, not 2"):
        nl.function([y], nl.substitute(x * 2, (x, y.reshape(-1, 2))))(np.arange(6.0))


def test_draws_in_givens_are_new_in_each_call() -> None:
    x, y = rows(None, 3), rows(None, name="y")
    mine, other = nl.random.default_rng(2), nl.random.default_rng(2)
    function = nl.function([y], x * 1, givens={x: mine.normal(size=(y.shape[0], 3))})
    for count in (2, 1, 2):
        same(function(np.ones(count)), other.normal(size=(count, 3)))


def test_what_asks_for_ranks_and_dtypes_is_answered() -> None:
    x = rows(None, 3, dtype="float32")
    assert (nl.ndim(x), np.ndim(x * 2), nl.result_type(x, "float64"), np.result_type(x, x)) == (
        2,
        2,
        "float64",
        "float32",
    )
    assert nl.iscomplexobj(x * 1j)
    assert nl.isrealobj(x)


def test_vjp_and_pickles() -> None:
    x = rows(None)
    value, back = nl.vjp(lambda a, b: a * a * b, x, nl.ones(3) * 2)
    function = copy.deepcopy(nl.function([x], [nl.moveaxis(x[None], 0, 1), np.add.accumulate(x), nl.argsort(-x)]))
    given = np.array([1.0, 2.0, 3.0])
    same(nl.function([x], [value, *back(x)])(given), [2 * given**2, 4 * given**2, given**3])
    same(function(given), [given[:, None], np.cumsum(given), np.array([2, 1, 0])])
