"""NumPy's protocols (its ufuncs and functions called with our arrays), flags, and questions about arrays."""

from __future__ import annotations

import operator
import sys
from math import prod
from typing import Any

import numpy as np

from numloom.api.manipulation import normal_axes
from numloom.api.ufunc import FUNCTIONS, store
from numloom.array.convert import asarray
from numloom.array.devices import device_at
from numloom.array.foreign import answered, answers, assigned_other, check_cast, divided, foreign_operand, unlike
from numloom.array.ndarray import bind, later, ndarray, node_of, view_of
from numloom.array.views import view_as
from numloom.base.dtypes import DTYPES, SCALAR_CODES, limits_of
from numloom.base.errors import not_in_place
from numloom.base.nesting import deeper
from numloom.base.tracebacks import waits
from numloom.engine.owners import name_of
from numloom.graph.layout import is_c_contiguous, is_f_contiguous, named_order

Array = Any


_PLAIN = frozenset((ndarray, bool, int, float, complex, *SCALAR_CODES))
"""Types of arrays of ours and of numbers."""

# ---------------------------------------------------------------- NEP 13 and NEP 18


def _ours(module: str, name: str) -> Any:
    """Our function of NumPy's name, or None: looked up where users find it."""
    found: Any = sys.modules[__name__.partition(".")[0]]
    for part in module.split(".")[1:]:
        found = getattr(found, part, None)
    return getattr(found, name, None)


def _all_known(types: Any) -> bool:
    """Whether all of these types are arrays that work with ours: no other library's, which would decide itself."""
    return all(one is ndarray or issubclass(one, (np.ndarray, np.generic)) for one in types)


def array_ufunc(function: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``__array_ufunc__``: a ufunc of NumPy on our arrays is our function of that name."""
    if not callable(function) or type(method) is not str:
        raise TypeError(
            f"__array_ufunc__ is given a function and the name of a method, not {function!r} and {method!r}"
        )
    ours = FUNCTIONS.get(function)
    if ours is not None and not options and method == "__call__" and _PLAIN.issuperset(map(type, inputs)):
        return ours(*inputs)  # A number of NumPy's and an array of ours, mostly.
    name = function.__name__
    ours = ours or _ours("numpy", name) or _ours("numpy.special", name)  # SciPy's ufuncs
    for x in (*inputs, options.get("where")):
        if type(x) is not ndarray and hasattr(x, "__array_ufunc__") and not isinstance(x, (np.ndarray, np.generic)):
            return NotImplemented  # Another library's array decides itself.
    out = options.get("out")
    written = out if method != "at" else inputs[:1]
    if written is not None and any(map(_is_host, written)):
        # ``host += x``: NumPy's own arithmetic, in NumPy's memory.
        mixed = any(type(one) is ndarray for one in written)
        return NotImplemented if mixed else _on_the_host(function, method, inputs, options)
    if ours is None:
        return NotImplemented if out is not None else _on_the_host(function, method, inputs, options)
    if out is not None and any(one is not None and type(one) is not ndarray for one in out):
        return NotImplemented
    if method != "__call__":
        ours = getattr(ours, method, None)
        if ours is None:
            return NotImplemented
    if out is not None and len(out) == 1:
        options = {**options, "out": out[0]}
    return ours(*inputs, **options)


def _on_the_host(function: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A ufunc that is not ours (SciPy's, Numba's, of ``frompyfunc``), or stores into NumPy's arrays, over our memory.

    What it gives is ours again, but for the arrays that the program gave it to store into.
    """
    options = {name: _host(value) for name, value in options.items()}
    result = getattr(function, method)(*map(_host, inputs), **options)
    given = [one for one in options.get("out", ()) if one is not None]

    def back(value: Any) -> Any:
        return value if any(value is one for one in given) else _back(value)

    return tuple(map(back, result)) if isinstance(result, tuple) else back(result)


def _is_host(value: Any) -> bool:
    """Whether this is NumPy's array."""
    return type(value) is not ndarray and isinstance(value, np.ndarray)


def _host(value: Any, depth: int = 0) -> Any:
    """NumPy's array over the memory of ours (on a GPU a copy that is counted), also in lists; others as they are."""
    if type(value) in (list, tuple):
        depth = deeper(depth)
        return type(value)([_host(item, depth) for item in value])
    return np.asarray(value) if type(value) is ndarray else value


def _back(value: Any) -> Any:
    """Our array of NumPy's, if ours can hold it."""
    held = isinstance(value, (np.ndarray, np.generic)) and value.dtype in DTYPES
    return asarray(value) if held else value


STORING = {"copyto": "dst", "fill_diagonal": "a", "place": "arr", "put": "a", "put_along_axis": "arr", "putmask": "a"}
"""NumPy's functions that store into their first argument, and its name."""


def _stores_on_host(function: Any, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
    """Whether a call of NumPy's function stores into an array of NumPy's."""
    out = options.get("out")
    if out is not None:
        return any(map(_is_host, out)) if type(out) is tuple else _is_host(out)
    target = STORING.get(function.__name__)
    return target is not None and _is_host(args[0] if args else options.get(target))


def array_function(function: Any, types: Any, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """``__array_function__``: a function of NumPy on our arrays is our function of that name.

    One that stores into NumPy's arrays is NumPy's, and reads ours on the host.
    """
    if not callable(function):
        raise TypeError(f"__array_function__ is given a function of NumPy's, not {function!r}")
    if not isinstance(args, tuple) or not isinstance(options, dict):
        raise TypeError("__array_function__ is given the arguments as a tuple and a dict")
    if not hasattr(types, "__iter__"):
        raise TypeError("types argument to ndarray.__array_function__ must be iterable")
    if _stores_on_host(function, args, options) and _all_known(types):
        return function(*map(_host, args), **{name: _host(value) for name, value in options.items()})
    module = getattr(function, "__module__", None) or "numpy"
    ours = _ours(module if module.startswith("numpy") else "numpy", function.__name__)
    if ours is None or ours is function or not _all_known(types):
        return NotImplemented
    return ours(*args, **options)


def foreign_in_place(name: str, target: Array, other: Any) -> Any:
    """An operator in place with what is no operand of ours: on the host, as NumPy's arrays do it, and written back.

    It is never taken for the operator that makes a new array: other names of ours would keep the old values.
    """
    protocol = getattr(type(other), "__array_ufunc__", target)
    if protocol is target and getattr(other, "__array_priority__", 0) > 0:
        return NotImplemented  # It wants to be asked itself.
    mine = isinstance(other, np.ndarray) and not later("defers_to")(other)
    if mine or waits(other):
        raise not_in_place(name, other, target.dtype)
    if protocol is target:
        raise TypeError(
            f"cannot {name} {type(other).__name__!r} in place: operands are numbers, arrays, lists and tuples, and "
            "asarray(y) makes one of what can be an array"
        )
    host = np.array(target.get())
    matmul: Any = operator.imatmul  # NumPy's `@=` takes no vectors on the right, which its `matmul` does.
    result = matmul(host, other) if name == "matmul" else getattr(np, name)(host, other, out=(host,))
    target[...] = asarray(host)
    return target if result is host else result


def defers_to(value: Any) -> bool:
    """Whether an operator of our array leaves the answer to this operand; `numloom.command.serve` binds another one."""
    return False


# ---------------------------------------------------------------- flags


def _may_write(base: Any) -> bool:
    """Whether an array over this may be written: over nothing, an array, or a buffer of the host."""
    if type(base) is ndarray:
        return bool(base.writeable)
    return base is None or not memoryview(base).readonly


class flagsobj:
    """Flags of an array, as attributes and by NumPy's names and letters in brackets."""

    __slots__ = ("_array",)

    _LETTERS = {
        "C": "c_contiguous", "CONTIGUOUS": "c_contiguous", "C_CONTIGUOUS": "c_contiguous", "F": "f_contiguous",
        "FORTRAN": "f_contiguous", "F_CONTIGUOUS": "f_contiguous", "O": "owndata", "OWNDATA": "owndata",
        "W": "writeable", "WRITEABLE": "writeable", "A": "aligned", "ALIGNED": "aligned", "X": "writebackifcopy",
        "WRITEBACKIFCOPY": "writebackifcopy", "B": "behaved", "BEHAVED": "behaved", "CA": "carray", "CARRAY": "carray",
        "FA": "farray", "FARRAY": "farray", "FNC": "fnc", "FORC": "forc",
    }  # fmt: skip

    def __init__(self, array: Array) -> None:
        self._array = array

    @property
    def c_contiguous(self) -> bool:
        return is_c_contiguous(self._array.shape, self._array.strides, self._array.itemsize)

    @property
    def f_contiguous(self) -> bool:
        return is_f_contiguous(self._array.shape, self._array.strides, self._array.itemsize)

    @property
    def contiguous(self) -> bool:
        return self.c_contiguous

    @property
    def fortran(self) -> bool:
        return self.f_contiguous

    @property
    def owndata(self) -> bool:
        return self._array.base is None

    @property
    def writeable(self) -> bool:
        return bool(self._array.writeable)

    @writeable.setter
    def writeable(self, value: bool) -> None:
        if value and not _may_write(self._array.base):
            raise ValueError("cannot set WRITEABLE flag to True of this array")
        self._array.writeable = bool(value)

    @property
    def aligned(self) -> bool:
        return True

    @property
    def writebackifcopy(self) -> bool:
        return False

    @property
    def behaved(self) -> bool:
        return self.writeable

    @property
    def carray(self) -> bool:
        return self.c_contiguous and self.writeable

    @property
    def fnc(self) -> bool:
        return self.f_contiguous and not self.c_contiguous

    @property
    def forc(self) -> bool:
        return self.f_contiguous or self.c_contiguous

    @property
    def farray(self) -> bool:
        return self.fnc and self.writeable

    @property
    def num(self) -> int:
        return self.c_contiguous | self.f_contiguous << 1 | self.owndata << 2 | self.aligned << 8 | self.writeable << 10

    def __getitem__(self, key: str) -> bool:
        name = self._LETTERS.get(key)
        if name is None:
            raise KeyError("Unknown flag")
        return bool(getattr(self, name))

    def __setitem__(self, key: str, value: bool) -> None:
        if self._LETTERS.get(key) != "writeable":
            raise KeyError("Unknown flag") if key not in self._LETTERS else ValueError(f"cannot set flag {key}")
        self.writeable = value

    def __eq__(self, other: object) -> bool:
        return isinstance(other, flagsobj) and other.num == self.num

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        names = ("C_CONTIGUOUS", "F_CONTIGUOUS", "OWNDATA", "WRITEABLE", "ALIGNED", "WRITEBACKIFCOPY")
        return "".join(f"  {name} : {self[name]}\n" for name in names)


# ---------------------------------------------------------------- questions


def shape(a: Any) -> tuple[int, ...]:
    """Extents of an array."""
    return a.shape if type(a) is ndarray else np.shape(a)


def ndim(a: Any) -> int:
    """Number of axes."""
    return len(shape(a))


def size(a: Any, axis: int | tuple[int, ...] | None = None) -> int:
    """Number of elements, or along an axis, or along several axes together."""
    extents = shape(a)
    return prod(extents if axis is None else [extents[one] for one in normal_axes(axis, len(extents))])


def _typed(x: Any) -> Any:
    return x.dtype if type(x) is ndarray else x


def result_type(*arrays_and_dtypes: Any) -> np.dtype[Any]:
    """The dtype that operations between these arrays, numbers and dtypes give."""
    return np.result_type(*map(_typed, arrays_and_dtypes))


def can_cast(from_: Any, to: Any, casting: str = "safe") -> bool:
    """Whether a dtype (or an array's) casts to another one by a rule."""
    if isinstance(to, (ndarray, np.ndarray)):
        raise TypeError("Cannot construct a dtype from an array")
    return np.can_cast(_typed(from_), to, casting)  # type: ignore[arg-type]


def common_type(*arrays: Any) -> type:
    """The inexact scalar type that holds the values of all arrays."""
    for array in arrays:
        if not hasattr(array, "dtype"):
            raise TypeError(f"common_type takes arrays, not {type(array).__name__}")
    return np.common_type(*(np.empty(0, array.dtype) for array in arrays))


def min_scalar_type(a: Any) -> np.dtype[Any]:
    """The smallest dtype that holds a number (of an array: its dtype); looks at 0-d arrays."""
    if type(a) is ndarray:
        return a.dtype if a.ndim else np.min_scalar_type(a.get()[()])
    return np.min_scalar_type(a)


def iterable(y: Any) -> bool:
    """Whether an object can be iterated over (a 0-d array cannot)."""
    if type(y) is ndarray:
        return bool(y.ndim)
    return np.iterable(y)


def mintypecode(typechars: Any, typeset: Any = "GDFgdf", default: str = "d") -> str:
    """The character of the smallest type of a set to which given types (characters or arrays) cast safely."""
    return np.mintypecode(
        [typed if isinstance(typed, str) else asarray(typed).dtype.char for typed in typechars], typeset, default
    )


def isnat(x: Any, /, out: Any = None, **options: Any) -> Any:
    """Whether a date is none: TypeError for numbers as in NumPy; dates themselves stay in NumPy arrays."""
    raise TypeError(
        "ufunc 'isnat' is only defined for np.datetime64 and np.timedelta64: such arrays stay in NumPy, use numpy.isnat"
    )


def finfo(dtype: Any) -> np.finfo[Any]:
    """Limits of a floating dtype, or of an array's: `numpy.finfo`, of bfloat16 and float8 `ml_dtypes.finfo`."""
    return limits_of(_typed(dtype))


def iinfo(int_type: Any) -> np.iinfo[Any]:
    """Limits of an integer dtype, or of an array's: `numpy.iinfo`."""
    return np.iinfo(_typed(int_type))


def isscalar(element: Any) -> bool:
    """Whether this is a number, or an array that stands for a scalar of NumPy."""
    return bool(element.is_scalar) if type(element) is ndarray else np.isscalar(element)


def isfortran(a: Any) -> bool:
    """Whether an array is in Fortran order and not in C order."""
    return bool(asarray(a).flags.fnc)


# ---------------------------------------------------------------- methods


def device_of(array: Array) -> str:
    """Name of the device on which the array lies: "cpu", or "cuda:" and the GPU's number."""
    return name_of(device_at(array))


def tobytes(array: Array, order: str | None = "C") -> bytes:
    """The bytes of the values in an order; waits."""
    order = named_order(order, "C")
    if order == "A":
        order = "F" if array.flags.fnc else "C"
    return array.get().tobytes(order)  # type: ignore[no-any-return]


def tofile(array: Array, fid: Any, sep: str = "", format: str = "%s") -> None:
    """Write the values to a file in C order; waits."""
    array.get().tofile(fid, sep, format)


def byteswap(array: Array, inplace: bool = False) -> Array:
    """The bytes of each element turned around."""
    if inplace:
        return store(array, node_of(byteswap(array)), "byteswap", "unsafe")
    dense = array.copy("A")
    size_of_part = dense.itemsize // (2 if dense.dtype.kind == "c" else 1)
    parts = view_as(dense.ravel("K"), np.uint8).reshape(-1, size_of_part)
    turned = parts[:, ::-1].copy().reshape(-1).view(array.dtype)
    result = view_of(turned, 0, dense.shape, dense.strides)
    result.is_scalar = array.is_scalar
    return result


def to_device(array: Array, device: Any, /, *, stream: Any = None) -> Array:
    """The array on a device ("cpu", "cuda:1"): itself if it lies there, else a copy."""
    if stream is not None:
        raise ValueError("the order of work is kept without a stream: leave it out")
    return asarray(array, device=device)


bind(
    answered=answered,
    answers=answers,
    assigned_other=assigned_other,
    check_cast=check_cast,
    divided=divided,
    unlike=unlike,
    array_function=array_function,
    array_ufunc=array_ufunc,
    astype_elsewhere=None,  # What `astype` gives instead of an array of ours; likewise.
    defers_to=defers_to,
    flags=flagsobj,
    foreign_operand=foreign_operand,
    foreign_in_place=foreign_in_place,
    method_byteswap=byteswap,
    method_device=property(device_of),
    method_to_device=to_device,
    method_tobytes=tobytes,
    method_tofile=tofile,
)

__all__ = [
    "can_cast",
    "common_type",
    "finfo",
    "flagsobj",
    "iinfo",
    "isfortran",
    "isnat",
    "isscalar",
    "iterable",
    "min_scalar_type",
    "mintypecode",
    "ndim",
    "result_type",
    "shape",
    "size",
]
