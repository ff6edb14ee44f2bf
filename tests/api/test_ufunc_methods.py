"""Methods of every ufunc against NumPy's: values, dtypes, memory order and errors."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.testing import matches_numpy

BINARY = sorted(
    name
    for name in nl.__all__
    if isinstance(getattr(nl, name), nl.ufunc) and getattr(nl, name).nin == 2 and getattr(nl, name).__name__ == name
)
UNARY = sorted(
    name
    for name in nl.__all__
    if isinstance(getattr(nl, name), nl.ufunc) and getattr(nl, name).nin == 1 and getattr(nl, name).__name__ == name
)
CHARS = "?bQeD"


def outcome(call: Any, xp: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            result = call(xp)
            return (result.get() if isinstance(result, nl.ndarray) else np.asarray(result)), None
    except Exception as error:
        return None, next(kind for kind in type(error).__mro__ if kind.__module__ == "builtins")


def check(name: str, char: str, call: Any) -> None:
    theirs, expected = outcome(call, np)
    ours, raised = outcome(call, nl)
    if expected is not None or raised is not None:
        assert raised is not None and expected is not None, f"{name} {char}: {raised}, NumPy {expected}"
        assert issubclass(raised, expected), f"{name} {char}: {raised}, NumPy {expected}"
        return
    assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape), f"{name} {char}"
    assert ours.strides == theirs.strides or ours.size < 2, f"{name} {char}: {ours.strides}, NumPy {theirs.strides}"
    rtol = {"e": 2e-2, "f": 1e-4, "F": 1e-4}.get(theirs.dtype.char, 1e-9) if theirs.dtype.kind in "fc" else 0
    np.testing.assert_allclose(ours, theirs, rtol, err_msg=f"{name} {char}")


def values(char: str, shape: tuple[int, ...]) -> Any:
    """Small numbers, of which every function has a finite value."""
    random = np.random.default_rng([ord(char), *shape])
    if char == "?":
        return random.random(shape) < 0.6
    x = random.integers(1, 5, shape)
    return (x + 1j * random.integers(1, 3, shape)).astype(char) if char in "FD" else x.astype(char)


@pytest.mark.parametrize("name", [name for name in BINARY if name not in ("divmod", "ldexp")])
def test_methods_of_binary_functions(name: str) -> None:
    """Most have one dtype here: each is kernels of its own."""
    chars = CHARS if name in ("add", "subtract", "less") else "qD" if name in ("maximum", "power") else "d"
    for char in chars:
        x, pairs = values(char, (3, 4)), values(char, (3, 2))

        def updated(xp: Any, index: Any, value: Any, x: Any = x) -> Any:
            y = xp.array(x)
            getattr(xp, name).at(y, index, value(xp) if callable(value) else value)
            return y

        calls = {
            "reduce": lambda xp, x=x: getattr(xp, name).reduce(xp.asarray(x).T, axis=1),
            "reduce all": lambda xp, x=x: getattr(xp, name).reduce(xp.asarray(x), axis=None),
            "reduce where": lambda xp, x=x: getattr(xp, name).reduce(
                xp.asarray(x), axis=1, where=[True, False, True, True], initial=2, keepdims=True
            ),
            "reduce dtype": lambda xp, x=x: getattr(xp, name).reduce(xp.asarray(x), dtype="D"),
            "accumulate": lambda xp, x=x: getattr(xp, name).accumulate(xp.asarray(x).T, axis=1),
            "reduceat": lambda xp, x=x: getattr(xp, name).reduceat(xp.asarray(x).T, [0, 2, 1], axis=1),
            "at": lambda xp, f=updated: f(xp, [0, 2, 0], 2),
            "at pairs": lambda xp, f=updated, v=pairs: f(xp, (slice(None), [1, 1]), lambda xp: xp.asarray(v)),
            "at part": lambda xp, f=updated: f(xp, (slice(None), slice(0, 2)), np.float32(1.5)),
        }
        for method, call in calls.items():
            if method.startswith("reduce ") and name in ("arctan2", "power") and char == "d":
                continue  # NumPy's own is wrong where its loops are AVX-512's; test_reduce has another oracle.
            check(f"{name}.{method}", char, call)


def test_left_to_right_with_a_mask() -> None:
    x = values("d", (3, 5))
    mask = np.array([True, False, True, True, False])
    for name in ("arctan2", "power", "subtract"):
        function = getattr(np, name)
        steps = function(function(function(2.0, x[:, 0]), x[:, 2]), x[:, 3])
        got = getattr(nl, name).reduce(nl.asarray(x), axis=1, where=nl.asarray(mask), initial=2)
        np.testing.assert_allclose(got.get(), steps, rtol=1e-9)


def test_at_of_unary_functions() -> None:
    for name in UNARY:

        def updated(xp: Any, name: str = name) -> Any:
            y = xp.asarray([0.5, 0.25, 0.75])
            getattr(xp, name).at(y, [0, 2, 0])
            return y

        check(name, "d", updated)


CASES = {
    "reduce in turn over two axes": lambda xp: xp.subtract.reduce(xp.ones((2, 3)), axis=(0, 1)),
    "reduce without a start": lambda xp: xp.divide.reduce(xp.ones((2, 3)), where=[True, False, True]),
    "reduce nothing": lambda xp: xp.subtract.reduce(xp.ones((0, 3))),
    "reduce nothing from a start": lambda xp: xp.subtract.reduce(xp.ones((0, 3)), initial=4),
    "reduce no axes": lambda xp: xp.subtract.reduce(xp.ones((2, 3)), axis=(), initial=4),
    "reduce several": lambda xp: xp.logaddexp.reduce(xp.ones((2, 3, 2)), axis=(0, 2), keepdims=True),
    "reduce mask of another shape": lambda xp: xp.subtract.reduce(
        xp.ones((1, 3)), axis=1, where=xp.asarray([[True], [False]]), initial=9
    ),
    "reduce out tuple": lambda xp: xp.subtract.reduce(xp.ones((2, 3)), out=(xp.zeros(3, "f4"),)),
    "reduce out pair": lambda xp: xp.subtract.reduce(xp.ones((2, 3)), out=(xp.zeros(3), xp.zeros(3))),
    "reduce without any": lambda xp: xp.bitwise_and.reduce(xp.ones((2, 3), "u2"), where=False),
    "logical dtype": lambda xp: xp.logical_and.reduce(xp.ones(3), dtype="d"),
    "accumulate axis": lambda xp: xp.add.accumulate(xp.ones((2, 3)), axis=2),
    "accumulate axes": lambda xp: xp.add.accumulate(xp.ones((2, 3)), axis=(0, 1)),
    "accumulate one axis": lambda xp: xp.add.accumulate(xp.ones((2, 3)), axis=(1,)),
    "accumulate no axis": lambda xp: xp.subtract.accumulate(xp.ones(3), axis=None),
    "accumulate out shape": lambda xp: xp.subtract.accumulate(xp.ones(3), out=xp.zeros(4)),
    "accumulate ldexp": lambda xp: xp.ldexp.accumulate(xp.ones(3, int)),
    "accumulate comparison": lambda xp: xp.less.accumulate(xp.ones(3)),
    "accumulate unary": lambda xp: xp.sqrt.accumulate(xp.ones(3)),
    "reduceat beyond": lambda xp: xp.add.reduceat(xp.arange(5), [0, 5]),
    "reduceat beyond, on the device": lambda xp: xp.add.reduceat(xp.arange(5), xp.asarray([0, 5])),
    "reduceat before": lambda xp: xp.add.reduceat(xp.arange(5), [-1]),
    "reduceat nowhere": lambda xp: xp.add.reduceat(xp.arange(5), []),
    "reduceat of nothing": lambda xp: xp.add.reduceat(xp.zeros((0, 3)), [], axis=0),
    "reduceat 0-d": lambda xp: xp.add.reduceat(xp.asarray(5), [0]),
    "reduceat 2-d": lambda xp: xp.add.reduceat(xp.arange(5), [[0]]),
    "reduceat number": lambda xp: xp.add.reduceat(xp.arange(5), 0),
    "reduceat words": lambda xp: xp.add.reduceat(xp.arange(5), xp.asarray([0], "u8")),
    "reduceat axes": lambda xp: xp.add.reduceat(xp.ones((2, 3)), [0], axis=None),
    "reduceat dtype": lambda xp: xp.add.reduceat(xp.ones((2, 3), "i1"), [0, 1], dtype="f4"),
    "reduceat out": lambda xp: xp.multiply.reduceat(xp.ones((2, 3)), [0, 1, 0], out=xp.zeros((3, 3), "f4")),
    "reduceat long": lambda xp: xp.add.reduceat(xp.arange(3000.0).reshape(2, 1500), [0, 7, 1400, 9], axis=1),
    "reduceat comparison": lambda xp: xp.equal.reduceat(xp.ones(3), [0]),
}


@pytest.mark.parametrize("case", CASES)
def test_cases(case: str) -> None:
    matches_numpy(CASES[case], rtol=1e-12)()


def changed(index: Any, *values: Any, name: str = "add", shape: tuple[int, ...] = (2, 3), dtype: str = "d") -> Any:
    def run(xp: Any) -> Any:
        x = xp.ones(shape, dtype)
        getattr(xp, name).at(x, index, *values)
        return x

    return run


AT = {
    "all": changed(..., 1),
    "new axis": changed(None, 1),
    "0-d": changed((), 1, shape=()),
    "out of bounds": changed(5, 1),
    "list out of bounds": changed([5], 1),
    "mask": changed(np.ones((2, 3), bool), np.arange(6.0)),
    "rows": changed([0, 0], [1, 2, 3]),
    "does not broadcast": changed([0, 0], [1, 2]),
    "wraps": changed([0], 300, shape=(2,), dtype="i1"),
    "casts": changed([0], 0.5, shape=(2,), dtype="i4"),
    "divides whole numbers": changed([0, 0], 2, name="divide", shape=(2,), dtype="i4"),
    "compares": changed([0, 1], 2, name="less", shape=(2,)),
    "other second dtype": changed([0, 0, 1], 2, name="ldexp", shape=(2,), dtype="f4"),
    "float16 rounds each time": changed([0] * 9, 0.001, shape=(2,), dtype="e"),
    "float32 rounds each time": changed([0] * 9, np.full(9, 1e-8), shape=(2,), dtype="f4"),
    "two outputs": changed([0], name="modf"),
    "no second": changed([0]),
    "second": changed([0], 1, name="negative"),
    "unary of whole numbers": changed([0, 0], name="sqrt", dtype="q"),
    "nothing": changed([], 1),
}


@pytest.mark.parametrize("case", AT)
def test_at(case: str) -> None:
    matches_numpy(AT[case])()


def test_at_leaves_values_that_were_read_alone() -> None:
    x = nl.arange(4.0)
    before, view = x + 0, x[1:]
    nl.add.at(view, [0, 0], x[1:3])
    nl.add.at(x[::2], nl.asarray([1]), x[0])
    assert before.tolist() == [0, 1, 2, 3] and x.tolist() == [0, 4, 2, 3]
    with pytest.raises(TypeError, match="array"):
        nl.add.at([1], [0], 1)
    fixed = nl.zeros(3)
    fixed.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        nl.add.at(fixed, [0], 1)


def test_sums_of_segments_have_the_same_bits_wherever_they_lie() -> None:
    x = np.random.default_rng(2).normal(size=(700, 3)).astype("f4")
    starts = [0, 100, 650, 3]
    long = nl.add.reduceat(nl.asarray(x), starts).get()
    wide = nl.add.reduceat(nl.asarray(np.asfortranarray(x)[:, ::-1]), starts).get()[:, ::-1]
    np.testing.assert_array_equal(long, wide)


@pytest.mark.slow
@pytest.mark.parametrize("char", "?bBhHiIlLfd")
@pytest.mark.parametrize("name", ["logaddexp", "logaddexp2"])
def test_reductions_begin_with_what_an_output_makes_of_the_identity(name: str, char: str) -> None:
    """NumPy begins in the output's memory, and -inf is 1 of booleans, 0 or the least number of integers."""
    x = np.array([[1.0, 2.0, 0.0], [3.0, 4.0, -5.0]])
    for given in ({"axis": 0}, {"axis": 1}, {"axis": 0, "where": x > 1}, {"axis": None}):
        shape = np.add.reduce(x, axis=given["axis"]).shape
        expected, out = np.zeros(shape, char), nl.zeros(shape, char)
        with np.errstate(all="ignore"):
            getattr(np, name).reduce(x, out=expected, **given)
        if "where" in given:
            given = given | {"where": nl.asarray(given["where"])}
        getattr(nl, name).reduce(nl.asarray(x), out=out, **given)
        tolerance = 1e-6 if char == "f" else 1e-14
        np.testing.assert_allclose(nl.asnumpy(out).astype("d"), expected.astype("d"), tolerance)
