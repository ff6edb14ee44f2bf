"""Every ufunc over all dtype pairs, layouts, arguments and methods, against NumPy."""

from __future__ import annotations

import itertools
import warnings
from typing import Any

import numpy as np
import pytest

import numloom as nl
from numloom.api.elementwise import UFUNCS
from numloom.base.dtypes import NUMPY_CHARS as CHARS
from numloom.base.dtypes import NUMPY_DTYPES as DTYPES
from numloom.ops.elementwise import ELEMENTWISE, OF_UFUNC
from numloom.testing import assert_allclose, assert_bits_equal

warnings.filterwarnings("ignore", message="'where' used without 'out'")

UNARY = sorted({name for name, f in UFUNCS.items() if f.nin == 1 and f.__name__ == name})
BINARY = sorted({name for name, f in UFUNCS.items() if f.nin == 2 and f.__name__ == name})
TOLERANCE = {"e": 2e-3, "f": 2e-6, "d": 1e-14, "F": 5e-5, "D": 1e-12}
SEVERAL = {
    "divmod": ("floor_divide", "remainder"),
    "modf": ("modf_fraction", "modf_integral"),
    "frexp": ("frexp_mantissa", "frexp_exponent"),
}


def attempt(call: Any) -> Any:
    try:
        with np.errstate(all="ignore"):
            return call(), None
    except Exception as error:
        return None, error


def op_defs_of(name: str) -> list[Any]:
    return [ELEMENTWISE[op_def] for op_def in SEVERAL[name]] if name in SEVERAL else [OF_UFUNC[getattr(np, name)]]


def compare(ours: Any, theirs: Any, op_def: Any, dtypes: tuple[Any, ...], message: str) -> None:
    with np.errstate(all="ignore"):
        loop = op_def.ufunc or getattr(np, {"floor_divide": "floor_divide"}.get(op_def.name, ""), None)
        chars = "".join(CHARS[DTYPES.index(d)] for d in dtypes)
        if loop is not None:
            found = loop.resolve_dtypes((*dtypes, *[None] * loop.nout))
            chars = "".join(CHARS[DTYPES.index(d)] for d in found[: loop.nin])
    if op_def.name == "nextafter":
        # Between the two zeros NumPy 2.4 and 2.5 differ in float16; all else is exact.
        host, theirs = np.asarray(ours.get()), np.asarray(theirs)
        assert host.dtype == theirs.dtype and np.array_equal(host, theirs, equal_nan=True), message
        return
    if op_def.is_exact(chars):
        assert_bits_equal(ours, theirs, message=message)
        return
    ours, theirs = np.asarray(ours.get()), np.asarray(theirs)
    assert ours.dtype == theirs.dtype, message
    if theirs.dtype.kind == "c":  # infinities of complex functions are tested elsewhere
        usable = np.isfinite(theirs) & np.isfinite(ours)
        assert (np.isfinite(theirs) == np.isfinite(ours)).mean() > 0.9, message
        ours, theirs = ours[usable], theirs[usable]
    elif op_def.name == "hypot" and theirs.dtype.kind == "f":
        # Within its bound of 2 ulp, CUDA's function rounds the largest numbers to infinity.
        edge = np.isinf(ours) & (np.abs(theirs) > 0.999 * np.finfo(theirs.dtype).max)
        ours = np.where(edge, theirs, ours)
    rtol = TOLERANCE[CHARS[DTYPES.index(theirs.dtype)]] if theirs.dtype.kind in "fc" else 0
    with np.errstate(all="ignore"):
        atol = float(np.finfo(theirs.dtype).tiny) * 4 if theirs.dtype.kind in "fc" else 0.0
        if op_def.name.startswith("logaddexp"):
            atol = rtol  # near 0 the sum of the two cancels
        assert_allclose(ours, theirs, rtol=rtol, atol=atol, err_msg=message)


@pytest.mark.parametrize("name", UNARY)
def test_unary_over_all_dtypes(name: str, sample: Any) -> None:
    cases = []
    for dtype in DTYPES:
        host = sample(dtype)
        ours, raised = attempt(lambda host=host: getattr(nl, name)(nl.asarray(host)))
        theirs, expected = attempt(lambda host=host: getattr(np, name)(host))
        assert type(raised) is type(expected), f"{name} {dtype}: {raised!r}, NumPy {expected!r}"
        if expected is None:
            cases.append((dtype, ours, theirs))
    nl.evaluate(*[a for _, ours, _ in cases for a in (ours if isinstance(ours, tuple) else (ours,))])
    for dtype, ours, theirs in cases:
        outs = zip(*[r if isinstance(r, tuple) else (r,) for r in (ours, theirs)], strict=True)
        for op_def, (a, b) in zip(op_defs_of(name), outs, strict=True):
            compare(a, b, op_def, (dtype,), f"{name} {dtype}")


@pytest.mark.parametrize("name", BINARY)
def test_binary_over_all_dtype_pairs(name: str, sample: Any) -> None:
    left = {d: sample(d) for d in DTYPES}
    plain = name in ("power", "pow", "left_shift", "right_shift", "ldexp")
    right = {d: sample(d, seed=1, plain=plain) for d in DTYPES}
    ours_left = {d: nl.asarray(x) for d, x in left.items()}
    ours_right = {d: nl.asarray(x) for d, x in right.items()}
    for a in DTYPES:
        cases = []
        for b in DTYPES:
            ours, raised = attempt(lambda a=a, b=b: getattr(nl, name)(ours_left[a], ours_right[b]))
            theirs, expected = attempt(lambda a=a, b=b: getattr(np, name)(left[a], right[b]))
            assert isinstance(raised, TypeError) == isinstance(expected, TypeError), (
                f"{name} {a} {b}: {raised!r}, NumPy {expected!r}"
            )
            if expected is None:
                assert raised is None, f"{name} {a} {b}: {raised!r}"
                cases.append((b, ours, theirs))
        nl.evaluate(*[x for _, ours, _ in cases for x in (ours if isinstance(ours, tuple) else (ours,))])
        for b, ours, theirs in cases:
            outs = zip(*[r if isinstance(r, tuple) else (r,) for r in (ours, theirs)], strict=True)
            for op_def, (x, y) in zip(op_defs_of(name), outs, strict=True):
                compare(x, y, op_def, (a, b), f"{name} {a} {b}")


@pytest.mark.parametrize("name", ["add", "divide", "less", "power", "floor_divide", "bitwise_and", "arctan2", "ldexp"])
def test_python_numbers_are_weak(name: str, sample: Any) -> None:
    for dtype, number in itertools.product(DTYPES, (2, 2.5, 1 + 2j, True)):
        host = sample(dtype, plain=True)
        for swap in (False, True):
            args = (number, host) if swap else (host, number)
            mine = tuple(nl.asarray(x) if x is host else x for x in args)
            ours, raised = attempt(lambda mine=mine: getattr(nl, name)(*mine))
            theirs, expected = attempt(lambda args=args: getattr(np, name)(*args))
            assert isinstance(raised, TypeError) == isinstance(expected, TypeError), (name, dtype, number, swap)
            if expected is None:
                assert ours.dtype == theirs.dtype, (name, dtype, number, swap)
                assert_allclose(ours, theirs, rtol=3e-3)


LAYOUTS = {
    "contiguous": lambda x: x.reshape(4, 6),
    "strided": lambda x: x.reshape(4, 6)[::2, 1::2],
    "negative": lambda x: x.reshape(4, 6)[::-1, ::-2],
    "transposed": lambda x: x.reshape(6, 4).T,
    "row": lambda x: x[:6],
    "column": lambda x: x[:4].reshape(4, 1),
    "empty": lambda x: x.reshape(4, 6)[:, :0],
    "0-d": lambda x: x[3:4].reshape(()),
    "3-d": lambda x: x.reshape(2, 3, 4).transpose(2, 0, 1),
}


@pytest.mark.parametrize("name", ["add", "greater_equal", "divmod", "hypot"])
@pytest.mark.parametrize("chars", ["dd", "fi", "bH", "e?"])
def test_layouts(name: str, chars: str, sample: Any) -> None:
    a, b = (sample(c, 24, seed=n, plain=True) for n, c in enumerate(chars))
    mine = nl.asarray(a), nl.asarray(b)
    for one, two in itertools.product(LAYOUTS, LAYOUTS):
        ours, raised = attempt(lambda one=one, two=two: getattr(nl, name)(LAYOUTS[one](mine[0]), LAYOUTS[two](mine[1])))
        theirs, expected = attempt(lambda one=one, two=two: getattr(np, name)(LAYOUTS[one](a), LAYOUTS[two](b)))
        assert type(raised) is type(expected), f"{one} {two}: {raised!r}, NumPy {expected!r}"
        if expected is not None:
            assert str(raised).strip() == str(expected).strip()
            continue
        for x, y in zip(*[r if isinstance(r, tuple) else (r,) for r in (ours, theirs)], strict=True):
            assert_allclose(x, y, rtol=2e-3 if y.dtype.itemsize < 4 else 1e-6, err_msg=f"{one} {two}")
            assert x.dtype == y.dtype
            if y.size > 1:
                steps = [s for s, e in zip(x.strides, x.shape, strict=True) if e > 1]
                assert steps == [s for s, e in zip(y.strides, y.shape, strict=True) if e > 1], f"order {one} {two}"


def both(call: Any) -> None:
    """The same call under both modules gives the same values or kind of error."""
    ours, raised = attempt(lambda: call(nl))
    theirs, expected = attempt(lambda: call(np))
    if expected is not None or raised is not None:
        kinds = [k for k in type(expected).__mro__ if k.__module__ == "builtins"] if expected else [type(None)]
        assert isinstance(raised, kinds[0]), f"{raised!r}, NumPy {expected!r}"
        return
    for x, y in zip(*[r if isinstance(r, tuple) else (r,) for r in (ours, theirs)], strict=True):
        assert x.dtype == y.dtype, (x.dtype, y.dtype)
        assert_allclose(x, y, rtol=1e-6)


CALLS = {
    "out": lambda xp: xp.add(xp.arange(3), 1, out=xp.zeros(3)),
    "out positional": lambda xp: xp.add(xp.arange(3), 1, xp.zeros(3)),
    "out tuple": lambda xp: xp.add(xp.arange(3), 1, out=(xp.zeros(3),)),
    "out broader": lambda xp: xp.add(xp.arange(3), 1, out=xp.zeros((2, 3))),
    "out narrower": lambda xp: xp.add(xp.ones((2, 3)), 1, out=xp.zeros(3)),
    "out other dtype": lambda xp: xp.add(xp.arange(3), 1, out=xp.zeros(3, "f4")),
    "out refused": lambda xp: xp.add(xp.arange(3), 1.5, out=xp.zeros(3, "i4")),
    "out unsafe": lambda xp: xp.add(xp.arange(3), 1.5, out=xp.zeros(3, "i4"), casting="unsafe"),
    "out both": lambda xp: xp.add(xp.arange(3), 1, xp.zeros(3), out=xp.zeros(3)),
    "out view": lambda xp: xp.multiply(xp.arange(3), 2, out=xp.zeros(7)[::3]),
    "outs": lambda xp: xp.divmod(xp.arange(5), 3, out=(xp.zeros(5, "i8"), None)),
    "where": lambda xp: xp.add(xp.arange(3), 1, out=xp.full(3, 9), where=xp.asarray([True, False, True])),
    "where broadcast": lambda xp: xp.add(xp.arange(3), 1, out=xp.full((2, 3), 9), where=xp.asarray([[True], [False]])),
    "where integers": lambda xp: xp.add(xp.arange(3), 1, out=xp.full(3, 9), where=xp.asarray([1, 0, 1])),
    "dtype": lambda xp: xp.add(xp.arange(3), 1, dtype="f4"),
    "dtype comparison": lambda xp: xp.less(xp.arange(3), 1, dtype=bool),
    "signature": lambda xp: xp.add(xp.arange(3), 1, signature="ff->f"),
    "signature tuple": lambda xp: xp.add(xp.arange(3), 1, signature=("f8", "f8", "f8")),
    "signature refused": lambda xp: xp.add(xp.arange(3) + 0.5, 1, signature="ii->i"),
    "signature and dtype": lambda xp: xp.add(xp.arange(3), 1, signature="ff->f", dtype="f4"),
    "casting no": lambda xp: xp.add(xp.arange(3), 1.5, casting="no"),
    "order": lambda xp: xp.add(xp.ones((2, 3)), 1, order="F"),
    "too few": lambda xp: xp.add(xp.arange(3)),
    "too many": lambda xp: xp.add(xp.arange(3), 1, None, None),
    "no keyword": lambda xp: xp.add(xp.arange(3), 1, nothing=1),
    "lists": lambda xp: xp.add([1, 2], (3.5, 4)),
    "numbers": lambda xp: xp.add(1, 2.5),
    "big integer": lambda xp: xp.add(xp.arange(3, dtype="i1"), 1000),
    "big comparison": lambda xp: xp.less(xp.arange(3, dtype="i1"), 1000),
    "big comparison out": lambda xp: xp.less(xp.arange(3, dtype="i1"), 1000, out=xp.zeros(3, bool)),
    "unsigned negative": lambda xp: xp.subtract(xp.arange(3, dtype="u1"), -1),
    "bool subtract": lambda xp: xp.subtract(xp.ones(3, bool), xp.ones(3, bool)),
    "object": lambda xp: xp.add(xp.arange(3), object()),
    "string": lambda xp: xp.add(xp.arange(3), "a"),
}


@pytest.mark.parametrize("case", CALLS)
def test_arguments_of_a_call(case: str) -> None:
    both(CALLS[case])


def test_of_outputs_that_share_memory_the_first_stays() -> None:
    for xp in (nl, np):
        x = xp.arange(7.0)
        out = xp.zeros(7)
        xp.divmod(x, 3, out=(out, out))
        assert nl.asnumpy(out).tolist() == [0, 0, 0, 1, 1, 1, 2]


def test_order_and_results_of_calls() -> None:
    x = nl.ones((2, 3))
    assert nl.add(x, 1, order="F").strides == (8, 16)
    assert nl.add(x.T, 1).strides == (8, 24)
    assert nl.add(x.T, 1, order="A").strides == (8, 24)
    assert nl.add(x.T, 1, order="C").strides == (16, 8)
    assert nl.sqrt(nl.asarray(4.0)).is_scalar
    out = nl.zeros((2, 3))
    assert nl.add(x, 1, out=out) is out
    with pytest.raises(TypeError, match="numloom"):
        nl.add(x, 1, out=np.zeros((2, 3)))
    with pytest.raises(ValueError, match="read-only"):
        nl.add(x, 1, out=nl.broadcast_to(nl.zeros(3), (2, 3)))


REDUCIBLE = ["add", "multiply", "maximum", "minimum", "fmax", "fmin", "logical_and", "logical_or", "logical_xor"]


@pytest.mark.parametrize("name", [*REDUCIBLE, "bitwise_and", "bitwise_or", "bitwise_xor", "gcd", "hypot", "logaddexp",
                                  "subtract", "divide", "power"])  # fmt: skip
def test_reduce(name: str, sample: Any) -> None:
    # Five axes, nine dtypes: each axis meets both of `keepdims`.
    for number, (char, axis) in enumerate(itertools.product("?bHiqefdD", (0, 1, -1, None, (0, 2)))):
        keepdims = number % 2 == 1
        host = sample(char, 24, plain=True).reshape(2, 3, 4)
        mine = nl.asarray(host)
        ours, raised = attempt(lambda: getattr(nl, name).reduce(mine, axis, keepdims=keepdims).get())
        theirs, expected = attempt(lambda: getattr(np, name).reduce(host, axis, keepdims=keepdims))
        kinds = [k for k in type(expected).__mro__ if k.__module__ == "builtins"]
        assert isinstance(raised, kinds[0]), f"{char} {axis}: {raised!r}, NumPy {expected!r}"
        if expected is None and name in ("arctan2", "power"):
            # NumPy's own reduce is wrong where its loops are AVX-512's.
            last = getattr(np, name).accumulate(host, axis, theirs.dtype).take([-1], axis)
            theirs = last if keepdims else last.squeeze(axis)
        if expected is None:
            assert ours.dtype == theirs.dtype, (name, char, axis)
            assert_allclose(ours, theirs, rtol={"e": 2e-2, "f": 1e-4}.get(theirs.dtype.char, 1e-10))


METHODS = {
    "reduce initial": lambda xp: xp.add.reduce(xp.arange(6).reshape(2, 3), axis=1, initial=10),
    "reduce dtype": lambda xp: xp.add.reduce(xp.arange(6).reshape(2, 3), dtype="f4"),
    "reduce out": lambda xp: xp.add.reduce(xp.arange(6).reshape(2, 3), out=xp.zeros(3)),
    "reduce out narrow": lambda xp: xp.add.reduce(xp.arange(6, dtype="i1").reshape(2, 3), out=xp.zeros(3, "i2")),
    "reduce out refused": lambda xp: xp.add.reduce(xp.arange(6.0).reshape(2, 3), out=xp.zeros(3, "i4")),
    "reduce out shape": lambda xp: xp.add.reduce(xp.arange(6).reshape(2, 3), out=xp.zeros(4, "i8")),
    "reduce where": lambda xp: xp.add.reduce(xp.arange(6).reshape(2, 3), where=xp.asarray([True, False, True])),
    "reduce where initial": lambda xp: xp.maximum.reduce(
        xp.arange(6).reshape(2, 3), where=xp.asarray([True, False, True]), initial=-7
    ),
    "reduce where none": lambda xp: xp.maximum.reduce(xp.arange(3), where=xp.asarray([True, False, True])),
    "reduce initial none": lambda xp: xp.add.reduce(xp.zeros((2, 0)), axis=1, initial=None),
    "reduce empty": lambda xp: xp.multiply.reduce(xp.zeros((2, 0)), axis=1),
    "reduce empty kept": lambda xp: xp.multiply.reduce(xp.zeros((2, 0)), axis=0),
    "reduce empty max": lambda xp: xp.maximum.reduce(xp.zeros((2, 0)), axis=1),
    "reduce empty max kept": lambda xp: xp.maximum.reduce(xp.zeros((2, 0)), axis=0),
    "reduce empty max initial": lambda xp: xp.maximum.reduce(xp.zeros((2, 0)), axis=1, initial=3),
    "reduce 0-d": lambda xp: xp.add.reduce(xp.asarray(5)),
    "reduce no axes": lambda xp: xp.add.reduce(xp.arange(6, dtype="i1").reshape(2, 3), axis=()),
    "reduce axis": lambda xp: xp.add.reduce(xp.arange(6), axis=1),
    "reduce axes twice": lambda xp: xp.add.reduce(xp.ones((2, 2)), axis=(0, 0)),
    "reduce unary": lambda xp: xp.sqrt.reduce(xp.arange(6.0)),
    "reduce two outputs": lambda xp: xp.divmod.reduce(xp.arange(6.0)),
    "reduce comparison": lambda xp: xp.less.reduce(xp.arange(6.0)),
    "bits of unsigned": lambda xp: xp.bitwise_and.reduce(xp.zeros((2, 0), "u2"), axis=1),
    "accumulate": lambda xp: xp.add.accumulate(xp.arange(6, dtype="i1").reshape(2, 3), axis=1),
    "accumulate max": lambda xp: xp.maximum.accumulate(xp.asarray([3.0, 1, 4, 1, 5])),
    "accumulate dtype": lambda xp: xp.multiply.accumulate(xp.arange(1, 6), dtype="f8"),
    "accumulate out": lambda xp: xp.add.accumulate(xp.arange(6), out=xp.zeros(6)),
    "accumulate 0-d": lambda xp: xp.add.accumulate(xp.asarray(5)),
    "outer": lambda xp: xp.subtract.outer(xp.arange(3), xp.arange(4.0).reshape(2, 2)),
    "outer numbers": lambda xp: xp.multiply.outer(xp.arange(3, dtype="i1"), 2),
    "outer unary": lambda xp: xp.sqrt.outer(xp.arange(3), 2),
    "reduceat": lambda xp: xp.add.reduceat(xp.arange(8), [0, 4, 1, 5, 2, 6, 3, 7]),
    "reduceat axis": lambda xp: xp.maximum.reduceat(xp.arange(16.0).reshape(4, 4), [0, 3, 1], axis=1),
}


@pytest.mark.parametrize("case", METHODS)
def test_methods(case: str) -> None:
    both(METHODS[case])


def test_at() -> None:
    def run(xp: Any) -> Any:
        x = xp.arange(6.0)
        xp.add.at(x, xp.asarray([0, 0, 3]), 10)
        xp.negative.at(x, [1, 2])
        y = xp.zeros((3, 4), "i4")
        xp.add.at(y, (slice(None), xp.asarray([1, 1])), 1)
        xp.multiply.at(y, (xp.asarray([0, 0]), xp.asarray([1, 1])), xp.asarray([3, 5]))
        return x, y

    both(run)
    both(lambda xp: xp.add.at(xp.arange(3), [5], 1))
    both(lambda xp: xp.add.at(xp.arange(3), [0]))


def test_attributes_and_names() -> None:
    missing = {"matmul", "matvec", "vecdot", "vecmat", "isnat"}
    for name in dir(np):
        theirs = getattr(np, name)
        if isinstance(theirs, np.ufunc) and name not in missing:
            ours = getattr(nl, name)
            assert (ours.nin, ours.nout, ours.nargs) == (theirs.nin, theirs.nout, theirs.nargs)
            assert ours.__name__ == theirs.__name__
            assert ours.identity == theirs.identity
            assert set(ours.types) <= set(theirs.types)
            assert ours.ntypes == len(ours.types)
            assert ours.signature is None
    assert nl.abs is nl.absolute and nl.pow is nl.power and nl.divide is nl.true_divide
    assert "sin" in nl.sin.__doc__ and repr(nl.sin) == "<numloom ufunc 'sin'>"


def test_pinned_operands_run_at_once() -> None:
    x = nl.arange(4.0)
    host = np.from_dlpack(x) if x.device == "cpu" else None
    if host is None:
        pytest.skip("device memory")
    y = nl.add(x, 1)
    z = nl.add(x, 1, dtype="f4")
    host[:] = 100
    assert y.tolist() == z.tolist() == [1, 2, 3, 4]


@pytest.mark.parametrize("name", UNARY)
def test_a_float_gives_what_an_array_of_it_gives(name: str) -> None:
    for value in (0.5, -2.0, 0.0, -0.0, 1e300, float("inf"), -float("inf"), float("nan")):
        ours, wrong = attempt(lambda value=value: getattr(nl, name)(value))
        wanted, error = attempt(lambda value=value: getattr(nl, name)(nl.array(value)))
        theirs, refused = attempt(lambda value=value: getattr(np, name)(value))
        assert type(wrong) is type(error)
        assert (wrong is None) == (refused is None)
        if error is None:
            several = isinstance(ours, tuple)
            for x, y, z in zip(*[one if several else (one,) for one in (ours, wanted, theirs)], strict=True):
                assert_bits_equal(x, y)
                assert x.is_scalar
                assert x.dtype == np.asarray(z).dtype
