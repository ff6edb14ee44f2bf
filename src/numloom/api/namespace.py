"""Names of NumPy that have no code here: its own objects, which are handed on, and what is refused, with the cure."""

from __future__ import annotations

from typing import Any

import numpy as np

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
"""Why a name is not here and what to do."""


def lookup(name: str) -> Any:
    """What stands for a name that no module of ours defines: NumPy's object, or an AttributeError with the cure."""
    if name in OF_NUMPY:
        return getattr(np, name)
    if name in REFUSED:
        raise AttributeError(f"numloom.{name} is not supported: {REFUSED[name]}")
    raise AttributeError(f"module 'numloom' has no attribute {name!r}")


__all__ = ["OF_NUMPY", "REFUSED", "lookup"]
