"""The text of a ufunc, made of what the tables say: ``help(np.sin)``."""

from __future__ import annotations

from numloom.ops.definitions import OpDef
from numloom.ops.descriptions import DESCRIPTIONS, ERRORS


def described(name: str, nin: int, nout: int, op_defs: tuple[OpDef, ...]) -> str:
    """The docstring of a ufunc.

    Examples
    --------
    >>> from numloom.ops.elementwise import ELEMENTWISE
    >>> described("sin", 1, 1, (ELEMENTWISE["sin"],)).splitlines()[2]
    'Sine of an angle in radians: sin x'
    """
    inputs = ["x"] if nin == 1 else ["x1", "x2"]
    operands = ", ".join(inputs)
    found = DESCRIPTIONS[name]
    formula = f": ``{found.formula}``" if found.formula else ""
    together = "Numbers" if nin == 1 else "Numbers, which are broadcast against each other"
    results = "ndarray" if nout == 1 else "tuple of ndarray"
    return f"""{name}({operands}, /, out=None, *, where=True, casting='same_kind', order='K', dtype=None)

{found.sentence}{formula}

As `numpy.{name}`, for each element. It is recorded, and runs when a value is looked at.

Parameters
----------
{operands} : array_like
    {together}.
out : ndarray, optional
    Where the result goes.
where : array_like of bool
    Where it is computed; elsewhere `out` stays as it is.
casting, order, dtype
    As for all ufuncs: which casts are allowed, the memory order, and the dtype to compute in.

Returns
-------
{results}

Notes
-----
{_accuracy(name, op_defs)}

Examples
--------
>>> import numloom as np
>>> np.{name}({found.example})
{found.shown}
"""


def _accuracy(name: str, op_defs: tuple[OpDef, ...]) -> str:
    if name in ERRORS and not op_defs[0].exact:
        single, double = ERRORS[name]
        return (
            f"Largest errors seen on the host: {single} units in the last place of float32, {double} of float64.\n"
            "float64 has the same bits on the GPU; docs/accuracy.md has the rest."
        )
    if all(op_def.exact for op_def in op_defs):
        return "Real numbers have NumPy's bits, on every device."
    return "docs/accuracy.md has the errors."


__all__ = ["described"]
