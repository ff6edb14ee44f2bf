"""Exact identities of elementwise operations: both sides have the same bits, also of zeros and infinities.

(Of NaN it is not said which one comes out, as NumPy does not.) A definition declares them as `OpDef.identities`: what
holds, and for which kinds of its first argument ("b", "i", "u", "f", "c"). Floats are those that have a zero of each
sign: float16, bfloat16, float32 and float64. `plan.rewrites` applies them.

| name | what holds |
| --- | --- |
| negates | the operation is the negation: ``f(f(x))`` is ``x`` |
| even | ``f(-x)`` is ``f(x)`` |
| odd | ``f(-x)`` is ``-f(x)`` |
| signs | ``f(-x, y)`` and ``f(x, -y)`` are ``-f(x, y)`` |
| adds | ``f(x, -y)`` is ``x - y``, and ``f(-x, y)`` is ``y - x`` |
| subtracts | ``f(x, -y)`` is ``x + y``; of integers, ``f(x, y)`` is ``-f(y, x)``; of floats where the sign is dropped |
| commutes | ``f(x, y)`` is ``f(y, x)`` |
| same | ``f(x, x)`` is ``x`` |
| keeps | ``f(x)`` is ``x`` |
| undoes | ``f(f(x))`` is ``x`` |
| chooses | ``f(c, x, x)`` is ``x`` |

Of floats ``x - y`` is not ``-(y - x)``: where both are equal, one is 0.0 and the other -0.0. So these are one only
where an even function reads them. Nor is ``-x + -y`` the same as ``-(x + y)``, as zeros show, or ``x * 2`` that of a
number: plans know no numbers.
"""

from __future__ import annotations

from collections.abc import Mapping

Identities = Mapping[str, str]

IDENTITIES: dict[str, Identities] = {
    "negative": {"negates": "iuf"},
    "add": {"adds": "iuf", "commutes": "biufc"},
    "subtract": {"subtracts": "iuf"},
    "multiply": {"signs": "iuf", "commutes": "biuf"},
    "divide": {"signs": "f"},
    "absolute": {"even": "if", "keeps": "bu"},
    "fabs": {"even": "f"},
    "square": {"even": "iuf"},
    "cos": {"even": "f"},
    "cosh": {"even": "f"},
    "isnan": {"even": "f"},
    "isinf": {"even": "f"},
    "isfinite": {"even": "f"},
    "sin": {"odd": "f"},
    "tan": {"odd": "f"},
    "arcsin": {"odd": "f"},
    "arctan": {"odd": "f"},
    "sinh": {"odd": "f"},
    "tanh": {"odd": "f"},
    "arcsinh": {"odd": "f"},
    "arctanh": {"odd": "f"},
    "cbrt": {"odd": "f"},
    "rint": {"odd": "f"},
    "trunc": {"odd": "f", "keeps": "biu"},
    "floor": {"keeps": "biu"},
    "ceil": {"keeps": "biu"},
    "positive": {"keeps": "iufc"},
    "conjugate": {"keeps": "iuf", "undoes": "c"},
    "real": {"keeps": "biuf"},
    "invert": {"undoes": "biu"},
    "logical_not": {"undoes": "b"},
    "maximum": {"same": "biuf"},
    "minimum": {"same": "biuf"},
    "fmax": {"same": "biuf"},
    "fmin": {"same": "biuf"},
    "bitwise_and": {"same": "biu", "commutes": "biu"},
    "bitwise_or": {"same": "biu", "commutes": "biu"},
    "bitwise_xor": {"commutes": "biu"},
    "logical_and": {"same": "b", "commutes": "biufc"},
    "logical_or": {"same": "b", "commutes": "biufc"},
    "logical_xor": {"commutes": "biufc"},
    "equal": {"commutes": "biufc"},
    "not_equal": {"commutes": "biufc"},
    "where": {"chooses": "b"},
    "erf": {"odd": "f"},
}
"""By the name of the operation."""

__all__ = ["IDENTITIES", "Identities"]
