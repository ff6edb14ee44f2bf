"""Parameters that NumPy refuses, by the same class of error; and some that it takes."""

from __future__ import annotations

from decimal import Decimal

import numpy
import pytest

import numloom as np

HUGE = 2**63
nan = float("nan")


def both(call, x=(0.0, 1.0, 2.0)):
    """What NumPy and numloom do: a class of errors, or the numbers."""
    found = []
    for library in (numpy, np):
        try:
            result = call(library, library.asarray(x))
        except Exception as error:
            found.append(TypeError if isinstance(error, TypeError) else type(error))
        else:
            found.append(numpy.asarray(np.asnumpy(result) if library is np else result).tolist())
    return found


class WithFloat(float):
    """A number that says another one when asked."""

    def __float__(self):
        return 7.0


class WithIndex(int):
    """An integer that says another one when asked."""

    def __index__(self):
        return 1


def deleted(x, name):
    """An array of which an attribute was taken away."""
    delattr(x, name)
    return x


ROWS = ((0.0, 1.0, 2.5), (3.0, 5.0, 9.0))

CALLS = {
    "quantile of a Decimal": lambda m, x: m.quantile(x, Decimal("0.5")),
    "percentile of an object": lambda m, x: m.percentile(x, object()),
    "percentile of dates": lambda m, x: m.percentile(x, numpy.array(["2020-01-01"], "M8[D]")),
    "a list of numbers of their own": lambda m, x: m.array([WithFloat(1), 2.0]),
    "rows of numbers of their own": lambda m, x: m.array([[1.0, WithFloat(1)]]),
    "plus a number of its own": lambda m, x: x + WithFloat(1),
    "at an integer of its own": lambda m, x: x[WithIndex(2)],
    "at integers of their own": lambda m, x: m.ones((3, 3))[WithIndex(2), WithIndex(0)],
    "from an integer of its own": lambda m, x: x[WithIndex(2) :],
    "set at an integer of its own": lambda m, x: (x.__setitem__(WithIndex(2), 9), x)[1],
    **{
        f"del {name}": lambda m, x, name=name: deleted(x, name)
        for name in (
            "shape",
            "dtype",
            "strides",
            "flat",
            "real",
            "imag",
            "data",
            "T",
            "size",
            "nothing",
        )
    },
    "sum, flag": lambda m, x: m.sum(x, keepdims=None),
    "max, flag": lambda m, x: m.max(x, keepdims="a"),
    "mean, flag": lambda m, x: m.mean(x, keepdims=HUGE),
    "argmax, flag": lambda m, x: m.argmax(x, keepdims="a"),
    "casting": lambda m, x: m.add(x, x, casting=["safe"]),
    "subok": lambda m, x: m.add(x, x, subok=1),
    "signature": lambda m, x: m.add(x, x, signature=5),
    "out of a scan": lambda m, x: m.cumsum(x, out=5),
    "out of concatenate": lambda m, x: m.concatenate([x, x], out=[1]),
    "order of zeros": lambda m, x: m.zeros((2, 2), order=["C"]),
    "vstack of a generator": lambda m, x: m.vstack(a for a in [x, x]),
    "lexsort of a number": lambda m, x: m.lexsort(5),
    "select": lambda m, x: m.select(5, [x]),
    "norm": lambda m, x: m.fft.fft(x, norm=[1]),
    "axes": lambda m, x: m.fft.fftn(x, axes=object()),
    "minlength": lambda m, x: m.bincount(m.asarray([1]), minlength={1}),
    "bitorder": lambda m, x: m.packbits(m.asarray([1]), bitorder={}),
    "trace beyond C": lambda m, x: m.trace(m.ones((2, 2)), 2**31),
    "diag beyond C": lambda m, x: m.diag(m.ones((2, 2)), -(2**31) - 1),
    "tril of all": lambda m, x: m.tril(m.ones((2, 3)), HUGE),
    "triu of nothing": lambda m, x: m.triu(m.ones((2, 3)), HUGE),
    "tri of all": lambda m, x: m.tri(2, 3, HUGE),
    "take NaN of a list": lambda m, x: m.take(x, [nan]),
    "unravel_index of no shape": lambda m, x: m.unravel_index(1, None),
    "partition by fields": lambda m, x: m.partition(x, 1, order=5),
    "partition by another kind": lambda m, x: m.partition(x, 1, kind="a"),
    "dates to draw with": lambda m, x: m.random.default_rng(0).normal(numpy.array(["2020-01-01"], "M8[D]")).shape,
    "text to draw with": lambda m, x: m.random.default_rng(0).gamma(numpy.array(["1"])).shape,
    "arange of one step": lambda m, x: m.arange(4, step=float("inf")),
    "arange of one small step": lambda m, x: m.arange(0.0, 1e-300, 1e300),
    "arange of no step": lambda m, x: m.arange(4, step=-float("inf")),
    "ddof of NaN": lambda m, x: m.isnan(m.var(x, ddof=nan)),
    "ddof of a text": lambda m, x: m.std(x, ddof=["a"]),
    "bias of none": lambda m, x: m.cov(x, bias=None),
    "a mean of more axes": lambda m, x: m.var(x, mean=m.ones((2, 3))),
    "a complex mean": lambda m, x: m.var(x, mean=1j),
    **{
        f"{name} in {dtype}, {options}": lambda m, x, name=name, dtype=dtype, options=options: getattr(m, name)(
            m.asarray(ROWS), dtype=dtype, **options
        )
        for name in ("var", "std")
        for dtype in ("i8", "u1", "?")
        for options in (
            {},
            {"axis": 0},
            {"axis": 1, "keepdims": True},
            {"ddof": 1},
            {"where": numpy.asarray([[True], [False]])},
        )
    },
    "reshape(None)": lambda m, x: x.reshape(None),
    "trace": lambda m, x: m.trace(m.ones((2, 2)), HUGE),
    "diagonal": lambda m, x: m.diagonal(m.ones((2, 2)), -HUGE - 1),
    "dtype=array": lambda m, x: m.zeros(2, dtype=x),
    "asarray(dtype=array)": lambda m, x: m.asarray([1], dtype=x),
    "astype(array)": lambda m, x: x.astype(x),
    "stack of a set": lambda m, x: m.stack({1, 2}),
    "stack of a generator": lambda m, x: m.stack(a for a in [x, x]),
    "stack of a generator, axis": lambda m, x: m.stack((a for a in [x, x]), axis=numpy.int64(0)),
    "concatenate of a generator": lambda m, x: m.concatenate(a for a in [x, x]),
    "concatenate of a set": lambda m, x: m.concatenate({1, 2}),
    "stack of an array": lambda m, x: m.stack(m.ones((2, 2))),
    "concatenate of an array": lambda m, x: m.concatenate(m.ones((2, 2))),
    "resize by a set": lambda m, x: m.resize(x, {2}),
    "resize by a generator": lambda m, x: m.resize(x, (i for i in (2,))),
    "resize by a dict": lambda m, x: m.resize(x, {2: 1}),
    "resize by a list": lambda m, x: m.resize(x, [2, 2]),
    "resize by an array": lambda m, x: m.resize(x, m.asarray([2, 2])),
    "resize by a number": lambda m, x: m.resize(x, numpy.int64(2)),
    "size of a set": lambda m, x: m.random.default_rng(0).random(size={2}).shape,
    "size of a generator": lambda m, x: m.random.default_rng(0).random(size=(i for i in (2,))).shape,
    "size of a dict": lambda m, x: m.random.default_rng(0).random(size={2: 1}).shape,
    "size of an array": lambda m, x: m.random.default_rng(0).random(size=numpy.asarray([2, 3])).shape,
    "swapaxes": lambda m, x: m.swapaxes(x, nan, 0),
    "swapaxes method": lambda m, x: x.swapaxes(0, 1.0),
    "take NaN": lambda m, x: m.take(x, nan),
    "take infinity": lambda m, x: m.take(x, float("inf")),
    "require": lambda m, x: m.require(x, requirements="X"),
    "require a name": lambda m, x: m.require(x, requirements=["C_CONTIGUOUS", "o"]),
    "require letters": lambda m, x: m.require(x, requirements="caw"),
    **{
        f"axis of {name}": lambda m, x, call=call: call(m, x, HUGE)
        for name, call in {
            "sum": lambda m, x, a: m.sum(x, axis=a),
            "several": lambda m, x, a: m.sum(x, axis=(a,)),
            "argmax": lambda m, x, a: m.argmax(x, axis=a),
            "flip": lambda m, x, a: m.flip(x, a),
            "swapaxes": lambda m, x, a: m.swapaxes(x, a, 0),
            "moveaxis": lambda m, x, a: m.moveaxis(x, a, 0),
            "expand_dims": lambda m, x, a: m.expand_dims(x, a),
            "concatenate": lambda m, x, a: m.concatenate([x, x], axis=a),
            "stack": lambda m, x, a: m.stack([x, x], axis=a),
            "roll": lambda m, x, a: m.roll(x, 1, axis=a),
            "squeeze": lambda m, x, a: m.squeeze(x, axis=a),
            "cumsum": lambda m, x, a: m.cumsum(x, axis=a),
            "sort": lambda m, x, a: m.sort(x, axis=a),
            "take": lambda m, x, a: m.take(x, 0, axis=a),
            "repeat": lambda m, x, a: m.repeat(x, 2, axis=a),
        }.items()
    },
}


@pytest.mark.parametrize("name", CALLS)
def test_as_numpy(name):
    theirs, ours = both(CALLS[name])
    assert ours == theirs


def test_out_of_three_dots_is_an_array():
    for call in (np.add, np.subtract):
        found = call(np.asarray(1.0), 2.0, out=...)
        assert found.shape == () and not found.is_scalar
    assert np.sin(np.ones(3), out=...).shape == (3,)
    assert [part.shape for part in np.modf(1.5, out=...)] == [(), ()]


@pytest.mark.parametrize("call", [
    lambda x: np.percentile(x, Decimal(1)), lambda x: np.cumsum(x, out=5), lambda x: x.__dlpack__(stream="x"),
    lambda x: x.__dlpack__(max_version=-1), lambda x: np.select(5, [x]), lambda x: np.std(x, ddof="a"),
    lambda x: np.einsum("i->i", x, optimize=x), lambda x: np.einsum_path(5, x),
    lambda x: np.apply_over_axes(np.sum, x, "a"),
    lambda x: np.common_type({1: 2}), lambda x: np.zeros(2, {1: 2}), lambda x: np.array2string(x, threshold=[]),
])  # fmt: skip
def test_texts_tell_of_what_was_given(call):
    with pytest.raises(TypeError) as caught:
        call(np.arange(3.0))
    said = str(caught.value)
    assert "object has no attribute" not in said and "not iterable" not in said and "has no len" not in said


def test_axes_that_are_missing_stay_axis_errors():
    for axis in (1, -2, 100):
        theirs, ours = both(lambda m, x, axis=axis: m.swapaxes(x, axis, 0))
        assert ours == theirs == numpy.exceptions.AxisError
