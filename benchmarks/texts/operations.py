"""Fixed programs of single operations, casts, several results in one kernel, and users' kernels."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

import numloom as nl
from benchmarks.texts.program import COMPLEX, DTYPES, FLOATS, INTEGERS, LOW, REAL, Named, data, dtype_of

OF_FLOATS = (
    "sqrt", "cbrt", "reciprocal", "exp", "exp2", "expm1", "log", "log2", "log10", "log1p", "sin", "cos", "tan",
    "arcsin", "arccos", "arctan", "sinh", "cosh", "tanh", "arcsinh", "arccosh", "arctanh", "degrees", "radians",
    "floor", "ceil", "trunc", "rint", "spacing", "signbit", "isfinite", "isinf", "isnan", "modf", "frexp", "sinc",
)  # fmt: skip
OF_TWO_FLOATS = (
    "arctan2", "hypot", "logaddexp", "logaddexp2", "nextafter", "copysign", "heaviside", "fmod", "float_power", "power",
)  # fmt: skip
OF_NUMBERS = ("negative", "positive", "absolute", "sign", "square", "logical_not")
OF_TWO_NUMBERS = (
    "add", "subtract", "multiply", "divide", "floor_divide", "remainder", "divmod", "maximum", "minimum", "fmax",
    "fmin", "equal", "not_equal", "less", "less_equal", "greater", "greater_equal", "logical_and", "logical_or",
    "logical_xor",
)  # fmt: skip
OF_INTEGERS = ("invert", "bitwise_count")
OF_TWO_INTEGERS = ("bitwise_and", "bitwise_or", "bitwise_xor", "left_shift", "right_shift", "gcd", "lcm")
OF_COMPLEX = (
    "negative", "absolute", "conjugate", "real", "imag", "angle", "sqrt", "exp", "log", "sin", "cos", "tan", "sinh",
    "cosh", "tanh", "arcsin", "arccos", "arctan", "square", "reciprocal", "sign", "isnan", "expm1", "log1p",
)  # fmt: skip
OF_TWO_COMPLEX = ("add", "multiply", "divide", "power", "equal", "maximum", "logical_and")

TABLES = (
    (OF_FLOATS, 1, FLOATS),
    (OF_TWO_FLOATS, 2, FLOATS),
    (OF_NUMBERS, 1, (*INTEGERS, *FLOATS)),
    (OF_TWO_NUMBERS, 2, (*INTEGERS, *FLOATS)),
    (OF_INTEGERS, 1, INTEGERS),
    (OF_TWO_INTEGERS, 2, INTEGERS),
)
"""Names of functions, how many numbers they take, and the dtypes that take turns."""


def applied(name: str, count: int, dtype: str) -> list[Any]:
    """The results of a function of one array, or of one and a number in memory."""
    found = getattr(nl, name)(*[data(dtype, 1000), data(dtype, 1)][:count])
    return list(found) if isinstance(found, tuple) else [found]


def applied_to_both(name: str, count: int, dtypes: tuple[str, ...]) -> list[Any]:
    """One kernel's results of several dtypes."""
    return [result for dtype in dtypes for result in applied(name, count, dtype)]


def operations() -> Iterator[Named]:
    """Functions of real numbers, each of two dtypes, which take turns."""
    for names, count, dtypes in TABLES:
        for number, name in enumerate(names):
            both = dtypes[number % len(dtypes)], dtypes[(number + 1) % len(dtypes)]
            yield f"{name} of {' and '.join(both)}", partial(applied_to_both, name, count, both)
    for name in ("logical_and", "logical_not", "bitwise_xor", "invert", "add", "maximum", "less"):
        yield f"{name} of bool", partial(applied, name, 1 if name in ("logical_not", "invert") else 2, "bool")


def complex_operations() -> Iterator[Named]:
    """Functions of complex numbers."""
    for names, count in ((OF_COMPLEX, 1), (OF_TWO_COMPLEX, 2)):
        for number, name in enumerate(names):
            dtype = COMPLEX[number % 2]
            yield f"{name} of {dtype}", partial(applied, name, count, dtype)


SPECIAL = (
    ("erf", 1), ("erfc", 1), ("erfinv", 1), ("ndtr", 1), ("ndtri", 1), ("gamma", 1), ("gammaln", 1), ("psi", 1),
    ("beta", 2), ("i0", 1), ("j0", 1), ("y1", 1), ("k0", 1), ("gammainc", 2), ("betainc", 3), ("expit", 1),
    ("logit", 1), ("entr", 1), ("rel_entr", 2), ("xlogy", 2), ("huber", 2), ("exp1", 1), ("ellipk", 1), ("zeta", 2),
    ("spence", 1), ("binom", 2), ("stdtr", 2), ("softplus", 1),
)  # fmt: skip


def special(name: str, count: int, dtype: str) -> Any:
    """A special function of arrays."""
    return getattr(nl.special, name)(*[data(dtype, 500)] * count)


def special_functions() -> Iterator[Named]:
    """Special functions, the two wide dtypes in turns."""
    for number, (name, count) in enumerate(SPECIAL):
        dtype = FLOATS[number % 2]
        yield f"{name} of {dtype}", partial(special, name, count, dtype)


def cast(source: str, target: str, shape: tuple[int, ...] = (1000,)) -> Any:
    """Memory of one dtype as another."""
    return data(source, *shape).astype(dtype_of(target))


def casts() -> Iterator[Named]:
    """From every dtype to two others, some to all, and dtypes of eight bits."""
    for number, source in enumerate(DTYPES):
        for step in (1, 6):
            target = DTYPES[(number + step) % len(DTYPES)]
            yield f"{source} to {target}", partial(cast, source, target)
    for source in ("float64", "uint8"):
        yield f"{source} to all", lambda s=source: [cast(s, target) for target in DTYPES]
    for low in ("float8_e4m3fn", "float8_e5m2"):
        yield f"float32 to {low}", partial(cast, "float32", low)
        yield f"{low} to float32", partial(cast, low, "float32")
        yield f"{low} + 1", lambda d=low: data(d, 300) + data(d, 300)
    for low in LOW:
        yield f"{low}, transposed", lambda d=low: cast(d, "float32", (60, 90)).T
        yield f"{low}, computed wide", lambda d=low: (cast(d, "float32") * 2 + 1).astype(dtype_of(d))
    yield "bits of float32", lambda: data("float32", 1000).view(np.int32) ^ 1
    yield "bits of int64", lambda: data("int64", 1000).view(np.float64) + 1
    yield "int64 by way of int8", lambda: cast("int64", "int8").astype(np.float32)


# ---------------------------------------------------------------- several results


def many(x: Any, y: Any) -> list[Any]:
    """Maps and reductions of the same memory along different axes."""
    positive = nl.where(x > 0, x, -x).max(1)
    return [x + y.T, nl.exp(x).sum(0), (x * x).sum(), x.T.sum(0), positive, nl.sin(x) + 1j]


def chain(x: Any, count: int) -> list[Any]:
    """Each result is made of the last."""
    results = [x]
    for number in range(count):
        results.append(results[-1] * 0.5 + number)
    return results[1:]


def several_results() -> Iterator[Named]:
    """Several outputs of one program."""
    x, y = partial(data, "float32", 300, 400), partial(data, "float32", 400, 300)
    yield "maps and reductions", lambda: many(x(), y())
    yield "sine and cosine", lambda: [nl.sin(x()), nl.cos(x())]
    yield "sum and map", lambda: [x().sum(), x() + 1]
    yield "moments of columns", lambda: [x().mean(0), x().var(0), x().min(0), x().max(0)]
    yield "moments of rows", lambda: [x().mean(1), x().std(1), x().argmax(1)]
    yield "rows and columns", lambda: [x().sum(0), x().sum(1)]
    yield "a value and its use", lambda: used_again(x())
    yield "a sum and its use", lambda: normed(x())
    yield "two of different sizes", lambda: [data("float32", 100) + 1, data("float32", 3000) * 2]
    yield "parts of complex", lambda: polar(data("complex64", 1000))
    for count in (3, 8, 30):
        yield f"chain of {count}", lambda n=count: chain(data("float32", 5000), n)
    for dtype in REAL[1:6]:
        yield f"quotient and rest of {dtype}", lambda d=dtype: [data(d, 700) // 3, data(d, 700) % 3]
    yield "adam", lambda: adam(*(data("float32", 4096) for _ in range(4)))
    yield "black and scholes", lambda: prices(data("float64", 1000), data("float64", 1000), data("float64", 1000))
    yield "n bodies", lambda: forces(data("float32", 200, 3))


def used_again(x: Any) -> list[Any]:
    """A value that is a result and an argument."""
    y = nl.exp(x)
    return [y, y / (1 + y)]


def normed(x: Any) -> list[Any]:
    """A reduction that is a result and an argument."""
    total = (x * x).sum(1, keepdims=True)
    return [total, x / nl.sqrt(total)]


def polar(z: Any) -> list[Any]:
    """Length, angle and parts."""
    return [nl.abs(z), nl.angle(z), z.real + z.imag]


def adam(x: Any, gradient: Any, first: Any, second: Any) -> list[Any]:
    """One step of an optimiser."""
    first = 0.9 * first + 0.1 * gradient
    second = 0.999 * second + 0.001 * gradient * gradient
    return [x - 0.01 * first / (nl.sqrt(second) + 1e-8), first, second]


def prices(spot: Any, strike: Any, years: Any) -> list[Any]:
    """Of calls and puts."""
    root = 0.2 * nl.sqrt(years)
    first = (nl.log(spot / strike) + 0.03 * years) / root
    discounted = strike * nl.exp(-0.01 * years)
    call = spot * nl.special.ndtr(first) - discounted * nl.special.ndtr(first - root)
    return [call, call - spot + discounted]


def forces(x: Any) -> Any:
    """Of every body on every other."""
    between = x[None] - x[:, None]
    return (between / ((between * between).sum(2, keepdims=True) + 0.1) ** 1.5).sum(1)


# ---------------------------------------------------------------- users' kernels

HELPER = "template <class T> __device__ T helper(T x) { return x * x + sqrt(x); }"

ELEMENTWISE: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "squared difference": (("T x, T y", "T z", "z = (x - y) * (x - y)"), ("float32", "float32")),
    "squared difference, float16": (("T x, T y", "T z", "z = (x - y) * (x - y)"), ("float16", "float16")),
    "mixed types": (("T x, U y", "T z", "z = x + (T)y"), ("float64", "int32")),
    "two results": (("T x, float32 y", "T z, bool w", "z = x * y; w = z > 1"), ("float32", "float32")),
    "functions": (("T x", "T y", "y = exp(-x * x) + erf(x) + pow(x, (T)0.3)"), ("float64",)),
    "a branch": (("T x", "T y", "if (x > 0) y = log(x); else y = -x;"), ("float32",)),
    "complex": (("complex64 z", "complex64 w", "w = z * conj(z)"), ("complex64",)),
    "index": (("T x", "T y", "y = x * i"), ("float32",)),
    "raw memory": (("raw T x, T y", "T z", "z = x[i / 2] * y"), ("float32", "float32")),
    "integers": (("int32 a, int32 b", "int32 c", "c = (a << 3) ^ b"), ("int32", "int32")),
}
REDUCERS: dict[str, tuple[str, ...]] = {
    "length": ("T x", "T y", "x * x", "a + b", "y = sqrt(a)", "0"),
    "largest": ("T x", "T y", "abs(x)", "max(a, b)", "y = a", "0"),
    "dot": ("T x, T w", "T y", "x * w", "a + b", "y = a", "0"),
}


def elementwise(parts: tuple[str, ...], dtypes: tuple[str, ...], shape: tuple[int, ...], **options: Any) -> Any:
    """A new kernel's results: a kernel that ran before knows what it did."""
    return nl.ElementwiseKernel(*parts, "fixed", **options)(*(data(dtype, *shape) for dtype in dtypes))


def reducer(parts: tuple[str, ...], dtype: str, axis: int | None) -> Any:
    """A new reduction kernel's results."""
    arguments = [data(dtype, 90, 200)] * (1 + parts[0].count(","))
    return nl.ReductionKernel(*parts, "fixed")(*arguments, axis=axis)


def user_kernels() -> Iterator[Named]:
    """Kernels that users write."""
    for name, (parts, dtypes) in ELEMENTWISE.items():
        yield name, partial(elementwise, parts, dtypes, (1000,))
    helped = ("T x", "T z", "z = helper(x)")
    yield "with a preamble", partial(elementwise, helped, ("float32",), (60, 70), preamble=HELPER)
    yield "in an expression", lambda: elementwise(*ELEMENTWISE["functions"], (500,)) * 2 + 1
    yield "and a sum", lambda: elementwise(*ELEMENTWISE["squared difference"], (50, 60)).sum(1)
    for name, parts in REDUCERS.items():
        yield f"{name} of rows", partial(reducer, parts, "float32", 1)
        yield f"{name} of columns", partial(reducer, parts, "float64", 0)
        yield f"{name} of all", partial(reducer, parts, "float32", None)
