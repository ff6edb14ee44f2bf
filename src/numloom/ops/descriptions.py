"""What each ufunc is, for ``help``: a sentence, the formula, and what an example takes.

Largest errors are those of docs/accuracy.md (a test compares the two).
"""

from __future__ import annotations

from typing import NamedTuple


class Description(NamedTuple):
    """A ufunc in a sentence, its formula (if the sentence does not say it), and an example with what it shows."""

    sentence: str
    formula: str
    example: str
    shown: str


DESCRIPTIONS: dict[str, Description] = {
    "absolute": Description(
        "Absolute value; of a complex number its distance from 0", "|x|", "[-1.5, 2]", "array([1.5, 2. ])"
    ),
    "add": Description("Sum of two numbers", "x1 + x2", "[1, 2], 10", "array([11, 12])"),
    "arccos": Description(
        "Angle in [0, π] with this cosine", "arccos x", "[1, 0, -1]", "array([0.        , 1.57079633, 3.14159265])"
    ),
    "arccosh": Description(
        "Inverse of cosh, not negative", "ln(x + √(x² - 1))", "[1, 2]", "array([0.       , 1.3169579])"
    ),
    "arcsin": Description(
        "Angle in [-π/2, π/2] with this sine",
        "arcsin x",
        "[-1, 0, 1]",
        "array([-1.57079633,  0.        ,  1.57079633])",
    ),
    "arcsinh": Description("Inverse of sinh", "ln(x + √(x² + 1))", "[0, 1]", "array([0.        , 0.88137359])"),
    "arctan": Description(
        "Angle in (-π/2, π/2) with this tangent", "arctan x", "[0, 1]", "array([0.        , 0.78539816])"
    ),
    "arctan2": Description(
        "Angle of the point (x2, x1) in (-π, π], as the signs of both say",
        "arctan(x1 / x2)",
        "[1, -1], [1, -1]",
        "array([ 0.78539816, -2.35619449])",
    ),
    "arctanh": Description("Inverse of tanh", "½ ln((1 + x) / (1 - x))", "[0, 0.5]", "array([0.        , 0.54930614])"),
    "bitwise_and": Description("Bits that both numbers have", "x1 & x2", "[12, 10], 6", "array([4, 2])"),
    "bitwise_count": Description(
        "Number of bits that are 1 in the absolute value", "", "[7, 8]", "array([3, 1], dtype=uint8)"
    ),
    "bitwise_or": Description("Bits that one of two numbers has", "x1 | x2", "[12, 10], 6", "array([14, 14])"),
    "bitwise_xor": Description("Bits that just one of two numbers has", "x1 ^ x2", "[12, 10], 6", "array([10, 12])"),
    "cbrt": Description("Cube root", "∛x", "[8, -27]", "array([ 2., -3.])"),
    "ceil": Description("Least whole number that is not less", "⌈x⌉", "[-1.5, 1.5]", "array([-1.,  2.])"),
    "conjugate": Description("Complex conjugate", "a + bi ↦ a - bi", "[1 + 2j]", "array([1.-2.j])"),
    "copysign": Description(
        "The first number with the sign of the second", "|x1| sgn(x2)", "[1, 2], [-1, 1]", "array([-1.,  2.])"
    ),
    "cos": Description("Cosine of an angle in radians", "cos x", "[0, 1]", "array([1.        , 0.54030231])"),
    "cosh": Description("Hyperbolic cosine", "½(eˣ + e⁻ˣ)", "[0, 1]", "array([1.        , 1.54308063])"),
    "deg2rad": Description("Degrees as radians", "x π / 180", "[90, 180]", "array([1.57079633, 3.14159265])"),
    "degrees": Description("Radians as degrees", "x 180 / π", "[0, 3]", "array([  0.        , 171.88733854])"),
    "divide": Description("Quotient of two numbers", "x1 / x2", "[1, 3], 2", "array([0.5, 1.5])"),
    "divmod": Description(
        "Quotient rounded down, and remainder",
        "⌊x1 / x2⌋, x1 - x2 ⌊x1 / x2⌋",
        "[7, -7], 3",
        "(array([ 2, -3]), array([1, 2]))",
    ),
    "equal": Description("Whether two numbers are equal", "x1 == x2", "[1, 2], 2", "array([False,  True])"),
    "exp": Description("Exponential", "eˣ", "[0, 1]", "array([1.        , 2.71828183])"),
    "exp2": Description("Power of two", "2ˣ", "[3, 0.5]", "array([8.        , 1.41421356])"),
    "expm1": Description(
        "Exponential less 1, also where x is near 0", "eˣ - 1", "[0, 1e-10]", "array([0.e+00, 1.e-10])"
    ),
    "fabs": Description("Absolute value as a float", "|x|", "[-1, 2]", "array([1., 2.])"),
    "float_power": Description(
        "Power, computed in float64 at least", "x1 ^ x2", "[2, 3], -1", "array([0.5       , 0.33333333])"
    ),
    "floor": Description("Greatest whole number that is not greater", "⌊x⌋", "[-1.5, 1.5]", "array([-2.,  1.])"),
    "floor_divide": Description("Quotient rounded down", "⌊x1 / x2⌋", "[7, -7], 3", "array([ 2, -3])"),
    "fmax": Description(
        "The greater of two numbers; a NaN gives way", "max(x1, x2)", "[1, np.nan], 0", "array([1., 0.])"
    ),
    "fmin": Description("The less of two numbers; a NaN gives way", "min(x1, x2)", "[1, np.nan], 2", "array([1., 2.])"),
    "fmod": Description(
        "Remainder with the sign of the first number", "x1 - x2 trunc(x1 / x2)", "[7, -7], 3", "array([ 1, -1])"
    ),
    "frexp": Description(
        "Mantissa in [½, 1) and exponent of two",
        "x = m 2ᵉ",
        "[1, 10.]",
        "(array([0.5  , 0.625]), array([1, 4], dtype=int32))",
    ),
    "gcd": Description("Greatest common divisor", "", "[12, 18], 8", "array([4, 2])"),
    "greater": Description(
        "Whether the first number is greater", "x1 > x2", "[1, 2, 3], 2", "array([False, False,  True])"
    ),
    "greater_equal": Description(
        "Whether the first number is greater or equal", "x1 >= x2", "[1, 2, 3], 2", "array([False,  True,  True])"
    ),
    "heaviside": Description("0 below 0, 1 above, and x2 at 0", "", "[-1, 0, 2], 0.5", "array([0. , 0.5, 1. ])"),
    "hypot": Description(
        "Length of the hypotenuse, without overflow on the way", "√(x1² + x2²)", "[3, 5], [4, 12]", "array([ 5., 13.])"
    ),
    "invert": Description("All bits turned over; of a bool its negation", "~x", "[0, 5]", "array([-1, -6])"),
    "isfinite": Description(
        "Whether it is neither infinite nor NaN", "", "[1, np.inf, np.nan]", "array([ True, False, False])"
    ),
    "isinf": Description("Whether it is infinite", "", "[1, np.inf, np.nan]", "array([False,  True, False])"),
    "isnan": Description("Whether it is NaN", "", "[1, np.inf, np.nan]", "array([False, False,  True])"),
    "lcm": Description("Least common multiple", "", "[4, 6], 10", "array([20, 30])"),
    "ldexp": Description("A number times a power of two", "x1 2^x2", "[1, 3], 4", "array([16., 48.])"),
    "left_shift": Description("Bits shifted to the left", "x1 << x2", "[1, 5], 2", "array([ 4, 20])"),
    "less": Description("Whether the first number is less", "x1 < x2", "[1, 2, 3], 2", "array([ True, False, False])"),
    "less_equal": Description(
        "Whether the first number is less or equal", "x1 <= x2", "[1, 2, 3], 2", "array([ True,  True, False])"
    ),
    "log": Description("Natural logarithm", "ln x", "[1, 10]", "array([0.        , 2.30258509])"),
    "log10": Description("Logarithm to base 10", "log₁₀ x", "[1, 1000]", "array([0., 3.])"),
    "log1p": Description(
        "Logarithm of 1 + x, also where x is near 0", "ln(1 + x)", "[0, 1e-10]", "array([0.e+00, 1.e-10])"
    ),
    "log2": Description("Logarithm to base 2", "log₂ x", "[1, 8]", "array([0., 3.])"),
    "logaddexp": Description(
        "Logarithm of a sum of exponentials", "ln(e^x1 + e^x2)", "[0, 1], 1", "array([1.31326169, 1.69314718])"
    ),
    "logaddexp2": Description("The same to base 2", "log₂(2^x1 + 2^x2)", "[0, 1], 1", "array([1.5849625, 2.       ])"),
    "logical_and": Description("Whether both are true (not 0)", "", "[0, 1], [1, 1]", "array([False,  True])"),
    "logical_not": Description("Whether it is false (0)", "", "[0, 2]", "array([ True, False])"),
    "logical_or": Description("Whether one of two is true (not 0)", "", "[0, 1], [0, 0]", "array([False,  True])"),
    "logical_xor": Description(
        "Whether just one of two is true (not 0)", "", "[0, 1], [1, 1]", "array([ True, False])"
    ),
    "maximum": Description("The greater of two numbers; NaN if one is", "max(x1, x2)", "[1, 3], 2", "array([2, 3])"),
    "minimum": Description("The less of two numbers; NaN if one is", "min(x1, x2)", "[1, 3], 2", "array([1, 2])"),
    "modf": Description(
        "Fraction and whole part, both with the sign of x",
        "",
        "[1.5, -2.25]",
        "(array([ 0.5 , -0.25]), array([ 1., -2.]))",
    ),
    "multiply": Description("Product of two numbers", "x1 x2", "[1, 2], 10", "array([10, 20])"),
    "negative": Description("The number with its sign changed", "-x", "[1, -2]", "array([-1,  2])"),
    "nextafter": Description("The next number of the dtype, towards x2", "", "[1.0], [2.0]", "array([1.])"),
    "not_equal": Description("Whether two numbers differ", "x1 != x2", "[1, 2], 2", "array([ True, False])"),
    "positive": Description("The number itself", "+x", "[1, -2]", "array([ 1, -2])"),
    "power": Description(
        "Power; integers must have exponents that are not negative", "x1 ^ x2", "[2, 3], 3", "array([ 8, 27])"
    ),
    "rad2deg": Description("Radians as degrees", "x 180 / π", "[0, 3]", "array([  0.        , 171.88733854])"),
    "radians": Description("Degrees as radians", "x π / 180", "[90, 180]", "array([1.57079633, 3.14159265])"),
    "reciprocal": Description(
        "Inverse of a number; of integers cut to a whole number", "1 / x", "[0.5, 4]", "array([2.  , 0.25])"
    ),
    "remainder": Description(
        "Remainder with the sign of the second number", "x1 - x2 ⌊x1 / x2⌋", "[7, -7], 3", "array([1, 2])"
    ),
    "right_shift": Description("Bits shifted to the right", "x1 >> x2", "[8, 5], 2", "array([2, 1])"),
    "rint": Description("Nearest whole number, halves to the even one", "", "[0.5, 1.5, 2.6]", "array([0., 2., 3.])"),
    "sign": Description(
        "-1, 0 or 1 as the number is negative, 0 or positive; ``x / |x|`` of a complex one",
        "sgn x",
        "[-2, 0, 3]",
        "array([-1,  0,  1])",
    ),
    "signbit": Description(
        "Whether the sign bit is set, also of -0.0", "", "[-1.0, -0.0, 1.0]", "array([ True,  True, False])"
    ),
    "sin": Description("Sine of an angle in radians", "sin x", "[0, 1]", "array([0.        , 0.84147098])"),
    "sinh": Description("Hyperbolic sine", "½(eˣ - e⁻ˣ)", "[0, 1]", "array([0.        , 1.17520119])"),
    "spacing": Description(
        "Distance to the next number of the dtype", "", "[1.0, 1024.0]", "array([2.22044605e-16, 2.27373675e-13])"
    ),
    "sqrt": Description("Square root that is not negative", "√x", "[4, 2]", "array([2.        , 1.41421356])"),
    "square": Description("Product with itself", "x²", "[2, -3]", "array([4, 9])"),
    "subtract": Description("Difference of two numbers", "x1 - x2", "[1, 2], 10", "array([-9, -8])"),
    "tan": Description("Tangent of an angle in radians", "sin x / cos x", "[0, 1]", "array([0.        , 1.55740772])"),
    "tanh": Description("Hyperbolic tangent", "(eˣ - e⁻ˣ) / (eˣ + e⁻ˣ)", "[0, 1]", "array([0.        , 0.76159416])"),
    "trunc": Description("Whole number towards 0", "", "[-1.5, 1.5]", "array([-1.,  1.])"),
}
"""By NumPy's name of the ufunc."""

ERRORS: dict[str, tuple[float, float]] = {
    "exp": (0.81, 0.82),
    "exp2": (0.82, 0.84),
    "expm1": (1.00, 1.06),
    "log": (0.82, 0.82),
    "log2": (1.08, 0.97),
    "log10": (1.06, 0.87),
    "log1p": (0.88, 0.81),
    "sin": (1.12, 0.73),
    "cos": (1.14, 0.72),
    "tan": (2.32, 0.80),
    "arcsin": (0.62, 0.62),
    "arccos": (1.06, 1.04),
    "arctan": (1.13, 1.28),
    "sinh": (1.58, 1.58),
    "cosh": (1.28, 1.25),
    "tanh": (1.35, 1.48),
    "arcsinh": (2.09, 0.99),
    "arccosh": (2.02, 2.02),
    "arctanh": (1.65, 1.65),
    "cbrt": (0.57, 0.51),
    "sqrt": (0.50, 0.50),
    "power": (0.85, 0.81),
    "arctan2": (1.42, 1.43),
    "hypot": (0.50, 0.50),
}
"""Largest errors seen on the host in units of the last place, of float32 and float64."""

__all__ = ["DESCRIPTIONS", "ERRORS", "Description"]
