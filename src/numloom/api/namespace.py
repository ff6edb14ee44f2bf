"""Names of NumPy that have no code here: its own objects, which are handed on, and what is refused, with the cure."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from numloom.base.wording import no_name

_CLASS = "NumPy's own class; arrays of it stay in NumPy"
_DATES = "NumPy's own; dates stay in NumPy arrays"
_ITSELF = "NumPy's own; it speaks of NumPy"
_SETTING = "NumPy's own setting; nothing here asks for it"
_TABLE = "NumPy's own table"

OF_NUMPY: dict[str, str] = {
    "False_": "NumPy's own number",
    "ScalarType": _TABLE,
    "True_": "NumPy's own number",
    "busday_count": _DATES,
    "busday_offset": _DATES,
    "busdaycalendar": _DATES,
    "bytes_": _CLASS,
    "character": _CLASS,
    "clongdouble": _CLASS,
    "complex256": _CLASS,
    "datetime64": _CLASS,
    "datetime_as_string": _DATES,
    "datetime_data": _DATES,
    "flexible": _CLASS,
    "float128": _CLASS,
    "get_include": _ITSELF,
    "getbufsize": _SETTING,
    "geterrcall": _SETTING,
    "info": _ITSELF,
    "is_busday": _DATES,
    "little_endian": "NumPy's own constant",
    "longdouble": _CLASS,
    "object_": _CLASS,
    "record": _CLASS,
    "sctypeDict": _TABLE,
    "setbufsize": _SETTING,
    "seterrcall": _SETTING,
    "show_config": _ITSELF,
    "show_runtime": _ITSELF,
    "str_": _CLASS,
    "timedelta64": _CLASS,
    "typecodes": _TABLE,
    "void": _CLASS,
}
"""Objects of NumPy that programs ask for and that have nothing to do with arrays on a device."""

_MATRIX = "arrays with two axes and the operator @ do what it did: use numloom.asarray"
_RECORDS = "arrays with fields stay in NumPy: keep one numloom array for each field"

REFUSED: dict[str, str] = {
    "asmatrix": f"there is no class of matrices; {_MATRIX}",
    "bmat": "there is no class of matrices; use numloom.block, which gives an array",
    "char": "strings stay in NumPy: use numpy.char",
    "core": "NumPy made this private: use the public names",
    "ctypeslib": "pointers of host memory: take numpy.ctypeslib of x.get(), or x.__cuda_array_interface__ on a GPU",
    "f2py": "it wraps Fortran code, and no arrays: use numpy.f2py",
    "frompyfunc": "arrays of Python objects stay on the host: use numloom.vectorize, which compiles the function, or "
    "numpy.frompyfunc on x.get()",
    "ma": "masked arrays stay in NumPy: use where=, the nan functions, or a mask beside the array",
    "matrix": f"there is no class of matrices; {_MATRIX}",
    "rec": _RECORDS,
    "recarray": _RECORDS,
    "strings": "strings stay in NumPy: use numpy.strings",
    "test": "it runs NumPy's own tests: use numpy.test, or pytest in numloom's repository",
}
"""Why a name of NumPy is not here and what to do."""

_RENAMED = {
    "Inf": "inf", "Infinity": "inf", "NAN": "nan", "NINF": "-numloom.inf", "NZERO": "-0.0", "NaN": "nan", "PINF": "inf",
    "PZERO": "0.0", "alltrue": "all", "asfarray": "asarray", "asscalar": "x.item()", "bool8": "bool_",
    "byte_bounds": "lib.array_utils.byte_bounds", "cfloat": "complex128", "complex_": "complex128",
    "cumproduct": "cumprod", "find_common_type": "result_type", "float_": "float64", "in1d": "isin", "infty": "inf",
    "issubclass_": "issubdtype", "mat": "asarray", "msort": "sort", "product": "prod", "rank": "x.ndim",
    "round_": "round", "row_stack": "vstack", "singlecomplex": "complex64", "sometrue": "any", "trapz": "trapezoid",
}  # fmt: skip
"""Names that NumPy has removed, and those of today."""
_OF_PYTHON = ("complex", "float", "int", "object", "str", "long", "unicode")

OF_OTHERS: dict[str, str] = {
    **{old: f"NumPy removed it; use {new if new[0] in '-0x' else 'numloom.' + new}" for old, new in _RENAMED.items()},
    **{name: f"NumPy removed it; use Python's {name}, or a dtype such as numloom.float64" for name in _OF_PYTHON},
    "chararray": "strings stay in NumPy: use numpy.char.chararray",
    "is_available": "use numloom.cuda.is_available",
    "jit": "use numloom.cupyx.jit, numloom.vectorize for functions of elements, or numloom.kernel",
    "memoize": "kernels are kept in a cache of numloom's own; use functools.cache",
    "rawkernel": "use numloom.RawKernel, or numloom.kernel for kernels in Python",
    "scatter_add": "use numloom.add.at(x, indices, values)",
    "scatter_max": "use numloom.maximum.at(x, indices, values)",
    "scatter_min": "use numloom.minimum.at(x, indices, values)",
    "scipy": "scipy.special is numloom.special, scipy.fft works on our arrays through numloom.fft.scipy_backend",
    "set_allocator": "use numloom.cuda.set_allocator",
}
"""Names that NumPy had once, and names of CuPy's, with what to use here."""


def lookup(name: str, names: Iterable[str] = ()) -> Any:
    """What stands for a name that no module of ours defines: NumPy's object, or how an AttributeError is to read.

    Parameters
    ----------
    name : str
        What was asked for.
    names : iterable of str
        What there is, of which some may be meant.

    Returns
    -------
    object or Missing
    """
    if name in OF_NUMPY:
        return getattr(np, name)
    return Missing(no_name("numloom", name, REFUSED | OF_OTHERS, names))


class Missing(str):
    """What the AttributeError says about a name that is not there."""


__all__ = ["OF_NUMPY", "OF_OTHERS", "REFUSED", "Missing", "lookup"]
