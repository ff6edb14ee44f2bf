"""Tables for `wrong_calls`: values that are wrong in most places, and values that are right in the place of a name.

Each is made anew for each call, by a function of the library that is called, so that nothing is shared.
"""

from __future__ import annotations

import decimal
import fractions
import re
import types
from collections.abc import Callable
from typing import Any

import numpy

Make = Callable[[Any], Any]
"""Makes a value, of a library."""


class WithFloat(float):
    """A number that says another one when asked."""

    def __float__(self) -> float:
        return 7.0


class WithIndex(int):
    """An integer that says another one when asked."""

    def __index__(self) -> int:
        return 1


class Answers:
    """An operand that NumPy asks."""

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        return f"{ufunc.__name__}.{method} of {len(inputs)}"


class Declines:
    """An operand that wants its own operators."""

    __array_ufunc__ = None


class Silent:
    """An object that has no truth."""

    def __bool__(self) -> bool:
        raise ValueError("no truth")


def in_itself(_: Any) -> list[Any]:
    """Make a list that holds itself."""
    found: list[Any] = []
    found.append(found)
    return found


WRONG: dict[str, Make] = {
    "None": lambda m: None,
    "text": lambda m: "a",
    "no text": lambda m: "",
    "bytes": lambda m: b"a",
    "object()": lambda m: object(),
    "Decimal": lambda m: decimal.Decimal("1.5"),
    "Fraction": lambda m: fractions.Fraction(1, 3),
    "nan": lambda m: float("nan"),
    "inf": lambda m: float("inf"),
    "-1": lambda m: -1,
    "-100": lambda m: -100,
    "1.5": lambda m: 1.5,
    "1j": lambda m: 1j,
    "True": lambda m: True,
    "2**31": lambda m: 2**31,
    "2**63": lambda m: 2**63,
    "-2**63": lambda m: -(2**63),
    "10**30": lambda m: 10**30,
    "-10**30": lambda m: -(10**30),
    "[]": lambda m: [],
    "()": lambda m: (),
    "(0, 0)": lambda m: (0, 0),
    "{}": lambda m: {},
    "set": lambda m: {1, 2},
    "dict": lambda m: {1: 2},
    "generator": lambda m: (i for i in (1, 2)),
    "range": lambda m: range(2),
    "list in itself": in_itself,
    "ragged": lambda m: [[1], [1, 2]],
    "[None]": lambda m: [None],
    "[text]": lambda m: ["a"],
    "[nan]": lambda m: [float("nan")],
    "[1.5]": lambda m: [1.5],
    "[2**63]": lambda m: [2**63],
    "[10**30]": lambda m: [10**30],
    "[-1, -1]": lambda m: [-1, -1],
    "objects": lambda m: numpy.array([None, 1], dtype=object),
    "structured": lambda m: numpy.zeros(2, "i4,f8"),
    "date": lambda m: numpy.datetime64("2020-01-01"),
    "span": lambda m: numpy.timedelta64(1, "D"),
    "dates": lambda m: numpy.array(["2020-01-01"], "M8[D]"),
    "texts": lambda m: numpy.array(["a", "b"]),
    "masked": lambda m: numpy.ma.array([1.0, 2.0], mask=[True, False]),
    "longdouble": lambda m: numpy.longdouble(1),
    "void": lambda m: numpy.void(b"ab"),
    "int": lambda m: int,
    "class": lambda m: Silent,
    "silent": lambda m: Silent(),
    "module": lambda m: types,
    "lambda": lambda m: lambda *given: given,
    "slice": lambda m: slice(None),
    "...": lambda m: ...,
    "NotImplemented": lambda m: NotImplemented,
    "float with __float__": lambda m: WithFloat(1),
    "int with __index__": lambda m: WithIndex(2),
    "answers": lambda m: Answers(),
    "declines": lambda m: Declines(),
    "bytearray": lambda m: bytearray(b"ab"),
    "memoryview": lambda m: memoryview(b"ab"),
    "nothing": lambda m: m.zeros(0),
    "number": lambda m: m.asarray(3),
    "vector of 5": lambda m: m.arange(5.0),
    "cube": lambda m: m.ones((2, 3, 4)),
    "complex": lambda m: m.asarray([1j, 2]),
    "truth": lambda m: m.asarray([True, False]),
    "small": lambda m: m.asarray([1, 2], "u1"),
    "read-only": lambda m: m.broadcast_to(m.ones(1), (4,)),
}


def vector(m: Any) -> Any:
    """Make four numbers."""
    return m.arange(4.0)


def whole(m: Any) -> Any:
    """Make four integers."""
    return m.arange(4)


def square(m: Any) -> Any:
    """Make a matrix that has an inverse and a Cholesky factor."""
    return m.asarray([[2.0, 1.0], [1.0, 3.0]])


def truth(m: Any) -> Any:
    """Make four truth values."""
    return m.asarray([True, False, True, True])


def pair(m: Any) -> Any:
    """Make two vectors in a list."""
    return [m.arange(4.0), m.ones(4)]


_BY_NAME: list[tuple[str, Make]] = [
    ("a b x y z x1 x2 arr ar array A B v1 v2 v X Y Z values element val vals fp xp m c p array1 array2 ary", vector),
    ("condition mask", truth),
    ("arrays tup seq choicelist", pair),
    ("indices ind index indices_or_sections multi_index axis2 destination stop M num repeats reps", lambda m: 1),
    ("n N k kth shift axis axis1 source start decimals obj axes deg", lambda m: 0),
    ("shape newshape dims", lambda m: (2, 2)),
    ("q low loc scale left right lam alpha beta mu mean kappa df dfnum dfden nonc", lambda m: 0.5),
    ("high sigma mode fill_value", lambda m: 2.0),
    ("bins pad_width nsample ngood nbad window_shape base size", lambda m: 2),
    ("func func1d function pyfunc", lambda m: m.sum),
    ("dtype from_ to", lambda m: "f8"),
    ("iterable iter", lambda m: [1.0, 2.0]),
    ("pvals", lambda m: [0.5, 0.5]),
    ("string", lambda m: "1 2"),
    ("buffer", lambda m: bytearray(16)),
]
RIGHT: dict[str, Make] = {name: make for names, make in _BY_NAME for name in names.split()}
"""What is given by the name of a parameter."""

UFUNCS = ("add", "maximum", "power", "logical_and")
"""Those whose methods are called."""

SPECIAL: dict[str, Make] = {
    "broadcast_to": lambda m: (vector(m), (2, 4)),
    "fliplr": lambda m: (square(m),),
    "indices": lambda m: ((2, 2),),
    "apply_along_axis": lambda m: (m.sum, 0, square(m)),
    "apply_over_axes": lambda m: (m.sum, square(m), 0),
    "bincount": lambda m: (whole(m),),
    "choose": lambda m: (m.asarray([0, 1]), [m.arange(2.0), m.ones(2)]),
    "compress": lambda m: (truth(m), vector(m)),
    "copyto": lambda m: (vector(m), m.ones(4)),
    "cross": lambda m: (m.arange(3.0), m.ones(3)),
    "diag_indices_from": lambda m: (square(m),),
    "diagonal": lambda m: (square(m),),
    "einsum": lambda m: ("i,i->i", vector(m), vector(m)),
    "einsum_path": lambda m: ("i,i->i", vector(m), vector(m)),
    "extract": lambda m: (truth(m), vector(m)),
    "fill_diagonal": lambda m: (square(m), 1.0),
    "interp": lambda m: (1.5, vector(m), vector(m)),
    "ix_": lambda m: ([0, 1], [0, 1]),
    "lexsort": lambda m: (pair(m),),
    "matrix_transpose": lambda m: (square(m),),
    "matvec": lambda m: (square(m), m.ones(2)),
    "vecmat": lambda m: (m.ones(2), square(m)),
    "moveaxis": lambda m: (square(m), 0, 1),
    "packbits": lambda m: (truth(m),),
    "unpackbits": lambda m: (m.asarray([1, 2], "u1"),),
    "place": lambda m: (vector(m), truth(m), [9.0]),
    "putmask": lambda m: (vector(m), truth(m), [9.0]),
    "put_along_axis": lambda m: (vector(m), m.asarray([0]), 9.0, 0),
    "take_along_axis": lambda m: (vector(m), m.asarray([0]), 0),
    "piecewise": lambda m: (vector(m), [truth(m)], [1.0, 2.0]),
    "ravel_multi_index": lambda m: ((1, 1), (2, 2)),
    "unravel_index": lambda m: (1, (2, 2)),
    "rot90": lambda m: (square(m),),
    "select": lambda m: ([truth(m)], [vector(m)]),
    "swapaxes": lambda m: (square(m), 0, 1),
    "trace": lambda m: (square(m),),
    "tril_indices_from": lambda m: (square(m),),
    "triu_indices_from": lambda m: (square(m),),
    "vsplit": lambda m: (square(m), 1),
    "dsplit": lambda m: (m.ones((2, 2, 2)), 1),
    "column_stack": lambda m: (pair(m),),
    "polyfit": lambda m: (vector(m), vector(m), 1),
    "roots": lambda m: ([1.0, -3.0, 2.0],),
    "where": lambda m: (truth(m), vector(m), m.ones(4)),
    "bmat": lambda m: ([[square(m)]],),
    "block": lambda m: ([vector(m), vector(m)],),
    "mask_indices": lambda m: (2, m.triu),
    "fromfunction": lambda m: (lambda i: i, (2,)),
    "frompyfunc": lambda m: (abs, 1, 1),
    "ldexp": lambda m: (vector(m), whole(m)),
    "tensordot": lambda m: (vector(m), vector(m), 1),
    "histogramdd": lambda m: (m.ones((3, 2)),),
    "histogram2d": lambda m: (vector(m), vector(m)),
    "isin": lambda m: (vector(m), vector(m)),
    "bitwise_count": lambda m: (whole(m),),
    "nan_to_num": lambda m: (vector(m),),
    "digitize": lambda m: (1.5, vector(m)),
    "geomspace": lambda m: (1.0, 8.0),
    "linspace": lambda m: (0.0, 1.0),
    "logspace": lambda m: (0.0, 1.0),
    "arange": lambda m: (4,),
    "eye": lambda m: (2,),
    "identity": lambda m: (2,),
    "tri": lambda m: (2,),
    "kaiser": lambda m: (3, 1.0),
    "result_type": lambda m: (vector(m), "f4"),
    "can_cast": lambda m: ("f4", "f8"),
    "promote_types": lambda m: ("f4", "f8"),
    "issubdtype": lambda m: ("f4", "f8"),
    "typename": lambda m: ("d",),
    "mintypecode": lambda m: (["d"],),
    "finfo": lambda m: ("f8",),
    "iinfo": lambda m: ("i8",),
    "base_repr": lambda m: (5,),
    "binary_repr": lambda m: (5,),
    "format_float_positional": lambda m: (1.5,),
    "format_float_scientific": lambda m: (1.5,),
    "broadcast_arrays": lambda m: (vector(m), m.ones(1)),
    "broadcast_shapes": lambda m: ((2, 1), (1, 3)),
    "meshgrid": lambda m: (vector(m), vector(m)),
    "insert": lambda m: (vector(m), 0, 1.0),
    "percentile": lambda m: (vector(m), 50),
    "nanpercentile": lambda m: (vector(m), 50),
    "partition": lambda m: (vector(m), 1),
    "argpartition": lambda m: (vector(m), 1),
    "convolve": lambda m: (vector(m), vector(m)),
    "correlate": lambda m: (vector(m), vector(m)),
    "random.randint": lambda m: (0, 5),
    "random.random_integers": lambda m: (0, 5),
    **{
        f"{room}.{name}": make
        for room in ("random", "Generator")
        for name, make in {
            "bytes": lambda m: (3,),
            "dirichlet": lambda m: ([1.0, 2.0],),
            "binomial": lambda m: (5, 0.5),
            "negative_binomial": lambda m: (5, 0.5),
            "integers": lambda m: (0, 5),
            "multivariate_normal": lambda m: ([0.0, 0.0], [[1.0, 0.0], [0.0, 1.0]]),
            "spawn": lambda m: (2,),
            "triangular": lambda m: (0.0, 0.5, 1.0),
            "zipf": lambda m: (2.0,),
            "multinomial": lambda m: (3, [0.5, 0.5]),
            "hypergeometric": lambda m: (3, 3, 2),
            "choice": lambda m: (4,),
            "shuffle": lambda m: (vector(m),),
            "permutation": lambda m: (vector(m),),
            "permuted": lambda m: (vector(m),),
        }.items()
    },
    "Generator.multivariate_hypergeometric": lambda m: ([3, 3], 2),
    "linalg.multi_dot": lambda m: ([square(m), square(m)],),
    "linalg.solve": lambda m: (square(m), m.ones(2)),
    "linalg.lstsq": lambda m: (square(m), m.ones(2)),
    "linalg.tensorsolve": lambda m: (square(m), m.ones(2)),
    "linalg.tensorinv": lambda m: (square(m), 1),
    "linalg.matrix_power": lambda m: (square(m), 2),
    "linalg.cross": lambda m: (m.arange(3.0), m.ones(3)),
    "linalg.norm": lambda m: (vector(m),),
    "linalg.vector_norm": lambda m: (vector(m),),
    "linalg.vecdot": lambda m: (vector(m), vector(m)),
    "linalg.outer": lambda m: (vector(m), vector(m)),
    "linalg.tensordot": lambda m: (m.ones((2, 2)), m.ones((2, 2))),
    **{f"{name}.at": lambda m: (vector(m), [0, 1], 2.0) for name in UFUNCS},
    **{f"{name}.reduceat": lambda m: (vector(m), [0, 2]) for name in UFUNCS},
    "fft.fftfreq": lambda m: (4,),
    "fft.rfftfreq": lambda m: (4,),
    "fft.fft2": lambda m: (square(m),),
    "fft.ifft2": lambda m: (square(m),),
    "fft.rfft2": lambda m: (square(m),),
    "fft.irfft2": lambda m: (square(m),),
    "ndarray.choose": lambda m: ([m.arange(4.0)] * 4,),
    "ndarray.__deepcopy__": lambda m: ({},),
    "ndarray.fill": lambda m: (1.0,),
    "ndarray.item": lambda m: (1,),
    "ndarray.reshape": lambda m: ((2, 2),),
    "ndarray.transpose": lambda m: (),
    "ndarray.resize": lambda m: ((4,),),
    "ndarray.astype": lambda m: ("f4",),
    "ndarray.__setitem__": lambda m: (1, 2.0),
    "ndarray.__getitem__": lambda m: (1,),
    "ndarray.__array_ufunc__": lambda m: (numpy.add, "__call__", vector(m), 1.0),
    "ndarray.__array_function__": lambda m: (numpy.sum, (), (vector(m),), {}),
    "ndarray.put": lambda m: (1, 9.0),
    "ndarray.swapaxes": lambda m: (0, 0),
    "ndarray.compress": lambda m: (truth(m),),
    "ndarray.repeat": lambda m: (2,),
    "ndarray.take": lambda m: (1,),
    "ndarray.searchsorted": lambda m: (1.5,),
    "ndarray.getfield": lambda m: ("f8",),
    "ndarray.setfield": lambda m: (1.0, "f8"),
    "ndarray.to_device": lambda m: ("cpu",),
}
"""Arguments that are right, of functions for which names of parameters do not say it; by the path in NumPy."""

ROOMS: dict[str, Make] = {"linalg": square, "random": lambda m: 0.5, "Generator": lambda m: 0.5}
"""What stands for arrays in a room."""
INTEGERS = re.compile(
    r"(bitwise_|gcd|lcm|invert|left_shift|right_shift|__i?r?(and|or|xor|lshift|rshift|invert)__|choose)"
)
"""Functions of integers, by how their names begin."""

__all__ = ["INTEGERS", "RIGHT", "ROOMS", "SPECIAL", "UFUNCS", "WRONG", "Make", "square", "vector", "whole"]
