"""Parameters that NumPy refuses, by the same class of error; and some that it takes."""

from __future__ import annotations

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
            found.append(type(error))
        else:
            found.append(numpy.asarray(np.asnumpy(result) if library is np else result).tolist())
    return found


CALLS = {
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


def test_axes_that_are_missing_stay_axis_errors():
    for axis in (1, -2, 100):
        theirs, ours = both(lambda m, x, axis=axis: m.swapaxes(x, axis, 0))
        assert ours == theirs == numpy.exceptions.AxisError
