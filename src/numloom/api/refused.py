"""Names of NumPy that are deliberately not here, each with the cure; asking for one says so."""

from __future__ import annotations

_MATRIX = "arrays with two axes and the operator @ do what it did: use numloom.asarray"
_OBJECTS = "arrays of Python objects stay on the host"
_RECORDS = "arrays with fields stay in NumPy: keep one numloom array for each field"
_STRINGS = "strings stay in NumPy: use numpy.{name}"

REFUSED: dict[str, str] = {
    "asmatrix": f"there is no class of matrices; {_MATRIX}",
    "bmat": "there is no class of matrices; use numloom.block, which gives an array",
    "char": _STRINGS.format(name="char"),
    "core": "NumPy made this private: use the public names",
    "ctypeslib": "pointers of host memory: take numpy.ctypeslib of x.get(), or x.__cuda_array_interface__ on a GPU",
    "f2py": "it wraps Fortran code, and no arrays: use numpy.f2py",
    "frompyfunc": f"{_OBJECTS}: use numloom.vectorize, which compiles the function, or numpy.frompyfunc on x.get()",
    "ma": "masked arrays stay in NumPy: use where=, the nan functions, or a mask beside the array",
    "matrix": f"there is no class of matrices; {_MATRIX}",
    "nested_iters": "elements are not visited one by one on a device: write the loop as array operations",
    "nditer": "elements are not visited one by one on a device: write the loop as array operations, or use "
    "numloom.vectorize",
    "rec": _RECORDS,
    "recarray": _RECORDS,
    "strings": _STRINGS.format(name="strings"),
    "test": "it runs NumPy's own tests: use numpy.test, or pytest on numloom's repository",
}
"""Why a name is not here and what to do, by name."""


def refusal(name: str) -> str:
    """What asking for a name says."""
    if name in REFUSED:
        return f"numloom.{name} is not supported: {REFUSED[name]}"
    return f"module 'numloom' has no attribute {name!r}"


__all__ = ["REFUSED", "refusal"]
