"""The table of elementwise operations, their type rules and NumPy's casts as C++ text.

Text calls functions of the prelude that are overloaded by C++ type, so most definitions have one text for
each kind of number. Arguments may occur several times in a text: whoever emits passes names.
``{T}`` of a result of float16, bfloat16 or float8 is ``float``, like the values.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import numpy as np

from numloom.base.dtypes import BF16, CHARS, CTYPES, DTYPES, KIND, LOW, ROUNDED, SHORT, code_of
from numloom.ops import philox, sampling
from numloom.ops.definitions import OpDef
from numloom.ops.derivatives import DERIVATIVES, Rule, of_halves
from numloom.ops.identities import IDENTITIES

Text = Callable[[str, str], str]
Loops = Callable[[tuple[Any, ...]], tuple[np.dtype[Any], ...]]

ALL = "biufc"
"""Kinds of all dtypes."""
LOW_DTYPES = frozenset(DTYPES[code] for code in LOW)
_CODE = {char: code for code, char in enumerate(CHARS)}

HEADERS: dict[str, tuple[str, ...]] = {
    "core": (),
    "half": (),
    "low": (),
    "bfloat16": ("low",),
    "float8": ("low",),
    "cast": (),
    "integer": (),
    "order": (),
    "libm": (),
    "complex": (),
    "moments": (),
    "mean": (),
    "philox": (),
    "optional": (),
    "complex_moments": ("moments",),
    "floating": ("libm",),
    "division": ("libm",),
    "ldexp": ("libm",),
    "portable": (),
    "exp": ("libm", "portable"),
    "log": ("libm", "portable"),
    "trigonometric": ("libm",),
    "loop": ("libm",),
    "loop_sin": ("trigonometric", "loop"),
    "loop_cos": ("trigonometric", "loop"),
    "loop_tan": ("trigonometric", "loop"),
    "inverse_trigonometric": ("floating",),
    "hyperbolic": ("libm", "exp", "log"),
    "power": ("floating", "exp", "log"),
    "logaddexp": ("exp", "log"),
    "complex_parts": ("complex", "floating", "power"),
    "complex_math": ("complex_parts", "exp", "log", "trigonometric", "inverse_trigonometric", "hyperbolic", "power"),
    "complex_power": ("complex_math",),
    "complex_fast": ("complex_math",),
    "random": ("philox", "libm", "portable"),
    "series": ("exp", "log"),
    "smooth": ("series", "floating", "ldexp", "power", "trigonometric"),
    "erf": ("series",),
    "erfcx": ("erf",),
    "erf_inverse": ("erf",),
    "gamma": ("series", "power", "trigonometric"),
    "bessel": ("series",),
    "incomplete": ("erf_inverse", "gamma"),
    "inverses": ("incomplete",),
    "integrals": ("smooth", "gamma"),
    "sampling": ("random",),
}
"""Prelude headers in the order of a text, each with the headers that it uses."""


def header_order(names: Iterable[str]) -> tuple[str, ...]:
    """Headers `names` and all that they use, "core" included, in the order a text has them."""
    return _header_order(frozenset(names))


@functools.cache
def _header_order(names: frozenset[str]) -> tuple[str, ...]:
    needed = {"core"}
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in needed:
            needed.add(name)
            waiting.extend(HEADERS[name])
    return tuple(name for name in HEADERS if name in needed)


@functools.cache
def dtype_headers(chars: str) -> frozenset[str]:
    """Headers that values of these dtypes need, whatever is done with them."""
    return frozenset([_DTYPE_HEADERS[char] for char in chars if char in _DTYPE_HEADERS])


_DTYPE_HEADERS = {"e": "half", "F": "complex", "D": "complex"}
_DTYPE_HEADERS |= {CHARS[code]: "bfloat16" if code == BF16 else "float8" for code in LOW}


@functools.lru_cache(1024)
def headers_for(op: OpDef, in_chars: str, out_char: str) -> tuple[str, ...]:
    """Prelude headers of one loop of `op`, in the order a text has them."""
    kind = KIND[in_chars[0]]
    if kind == "c":
        needed = set(_COMPLEX_HEADERS.get(op.name, op.headers))
    elif kind == "f":
        needed = set(op.headers) - {"integer"}
    else:
        needed = set(op.headers) & {"integer", "order", "philox", "random", "sampling"}
    return header_order(needed | dtype_headers(in_chars + out_char))


# --- text -----------------------------------------------------------------------------------------


def _same(text: str) -> Text:
    return lambda in_chars, out_char: text


def _by_kind(*, b: str = "", i: str = "", u: str = "", f: str = "", c: str = "") -> Text:
    """Text by the kind of the first argument: bool, signed, unsigned (as signed if not given), float, complex."""
    texts = {"b": b, "i": i, "u": u or i, "f": f, "c": c}
    return lambda in_chars, out_char: texts[KIND[in_chars[0]]]


def _arithmetic(sign: str, boolean: str = "") -> Text:
    """Binary arithmetic; integers wrap, so they are computed without a sign."""

    def text(in_chars: str, out_char: str) -> str:
        kind = KIND[out_char]
        if kind == "b":
            return boolean
        if kind in "iu":
            wide = "u64" if DTYPES[_CODE[out_char]].itemsize == 8 else "u32"
            return f"({{T}})(({wide}){{0}} {sign} ({wide}){{1}})"
        return f"({{0}} {sign} {{1}})"

    return text


def _negative(in_chars: str, out_char: str) -> str:
    return "({T})(0 - (u64){0})" if KIND[out_char] in "iu" else "(-{0})"


def _comparison(sign: str, mixed: str) -> Text:
    def text(in_chars: str, out_char: str) -> str:
        if in_chars in ("qQ", "Qq"):
            return mixed
        if sign in ("<", "<=", ">", ">=") and in_chars[0] in SHORT:
            return f"(nl::wide({{0}}) {sign} nl::wide({{1}}))"
        return f"({{0}} {sign} {{1}})"

    return text


def _truth(sign: str) -> Text:
    def text(in_chars: str, out_char: str) -> str:
        one, two = (
            f"{{{k}}}" if char == "?" else f"nl::nonzero({{{k}}})" if KIND[char] == "c" else f"({{{k}}} != 0)"
            for k, char in enumerate(in_chars)
        )
        # Parts of complex numbers by bits: a branch a number would keep loops from being vectors.
        return f"({one} {sign[0] if KIND[in_chars[0]] == 'c' and sign != '!=' else sign} {two})"

    return text


def _call(name: str, count: int = 1) -> str:
    return f"nl::{name}({', '.join(f'{{{k}}}' for k in range(count))})"


# --- the table ------------------------------------------------------------------------------------

ELEMENTWISE: dict[str, OpDef] = {}
"""Op definitions by NumPy's name."""

OF_UFUNC: dict[np.ufunc, OpDef] = {}
"""Op definitions by NumPy's ufunc object."""

ALIASES = {
    "abs": "absolute", "acos": "arccos", "acosh": "arccosh", "asin": "arcsin", "asinh": "arcsinh", "atan": "arctan",
    "atan2": "arctan2", "atanh": "arctanh", "bitwise_invert": "invert", "bitwise_left_shift": "left_shift",
    "bitwise_not": "invert", "bitwise_right_shift": "right_shift", "conj": "conjugate", "mod": "remainder",
    "pow": "power", "true_divide": "divide",
}  # fmt: skip
"""NumPy's other names of the same ufuncs."""

_COMPLEX_HEADERS: dict[str, tuple[str, ...]] = {}


def _define(
    name: str,
    nin: int,
    text: Text | str,
    *,
    cost: int = 1,
    exact: bool = True,
    kinds: str = "?biufc",
    headers: tuple[str, ...] = (),
    complex_headers: tuple[str, ...] | None = None,
    numpy: Callable[..., Any] | None = None,
    loops: Loops | None = None,
    quotient: bool = False,
    fast_path: str = "",
    represents: bool = False,
    looped: str = "",
    gradient: Rule | None = None,
) -> None:
    ufunc = getattr(np, name, None) if loops is None else None
    twin = ufunc if numpy is None else numpy
    assert twin is not None, name
    op = OpDef(
        name=name,
        nin=nin,
        numpy=twin,
        text=_same(text) if isinstance(text, str) else text,
        ufunc=ufunc,
        cost=cost,
        exact=exact,
        headers=headers,
        id=len(ELEMENTWISE),
        # Kinds are asked of NumPy, whose letter for bool is b.
        exact_kinds="b" + kinds,
        loops=loops,
        quotient=quotient,
        fast_path=fast_path,
        represents=represents,
        looped=looped,
        gradient=DERIVATIVES[name] if gradient is None else gradient,
        identities=IDENTITIES.get(name, {}),
    )
    ELEMENTWISE[name] = op
    if ufunc is not None:
        OF_UFUNC[ufunc] = op
    if complex_headers is not None:
        _COMPLEX_HEADERS[name] = complex_headers


def _weak(dtypes: tuple[Any, ...]) -> list[Any]:
    """Arguments of `numpy.result_type`: Python types become Python numbers, which are weak."""
    return [dtype(0) if isinstance(dtype, type) else dtype for dtype in dtypes]


def _common(dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    dtype = np.result_type(*_weak(dtypes))
    return (dtype,) * (len(dtypes) + 1)


def _clip_loops(dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    if any(dtype in LOW_DTYPES for dtype in dtypes):  # of which NumPy clips none
        of_each = [dtype(0) if isinstance(dtype, type) else np.empty(0, dtype) for dtype in dtypes]
        return (np.clip(*of_each).dtype,) * (len(dtypes) + 1)
    return _common(dtypes)


def _where_loops(dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    dtype = np.result_type(*_weak(dtypes[1:]))
    return np.dtype("?"), dtype, dtype, dtype


def _part_loops(dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    dtype = np.result_type(*_weak(dtypes))
    return dtype, np.dtype({"F": "f", "D": "d"}[dtype.char]) if dtype.kind == "c" else dtype


def _pack_loops(dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    dtype = np.result_type(*_weak(dtypes), np.float32)
    if dtype.kind == "c":
        raise TypeError("the parts of a complex number must be real")
    return dtype, dtype, np.result_type(dtype, np.complex64)


FREQUENT_HALVES = (-6, -4, -3, -1, 3, 6, 8)
"""Twice the exponents that have definitions of their own."""


def name_of_halves(n: int) -> str:
    """Name of the definition of powers by ``n / 2``.

    >>> name_of_halves(-3)
    'power_of_minus_3_halves'
    """
    return f"power_of_{n}_halves".replace("-", "minus_")


def _power(exponent: float, x: Any) -> Any:
    return np.power(x, exponent)


def _first_output(ufunc: np.ufunc, output: int) -> Loops:
    def loops(dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
        found = ufunc.resolve_dtypes((dtypes[0], None, None))
        return found[0], found[output]

    return loops


def _pack(re: Any, im: Any) -> Any:
    shape = np.broadcast_shapes(np.shape(re), np.shape(im))
    out = np.empty(shape, np.result_type(re, im, np.complex64))
    out.real, out.imag = re, im
    return out[()]


def _fill() -> None:
    # Arithmetic
    _define("add", 2, _arithmetic("+", "({0} || {1})"))
    _define("subtract", 2, _arithmetic("-"))
    _define("multiply", 2, _arithmetic("*", "({0} && {1})"), kinds="?biuf")
    _define("divide", 2, "({0} / {1})", cost=14, kinds="?biuf", quotient=True)
    floor_headers = ("integer", "division")
    _define("floor_divide", 2, _by_kind(i="nl::integer_floor_divide({0}, {1})", f="nl::floor_divide({0}, {1})"),
         cost=40, headers=floor_headers, fast_path="f", looped="f")  # fmt: skip
    _define("remainder", 2, _by_kind(i="nl::integer_remainder({0}, {1})", f="nl::remainder({0}, {1})"), cost=40,
         headers=floor_headers, fast_path="f", looped="f")  # fmt: skip
    _define("fmod", 2, _by_kind(i="nl::truncated_remainder({0}, {1})", f="nl::exact_fmod({0}, {1})"), cost=40,
         headers=floor_headers, fast_path="f", looped="f")  # fmt: skip
    power = _by_kind(i="nl::integer_power({0}, {1})", f="nl::pow({0}, {1})", c="nl::pow({0}, {1})")
    # NumPy refuses negative exponents of integers, so its own loop cannot stand in for ours.
    _define("power", 2, power, cost=97, kinds="?bu", headers=("integer", "power"), complex_headers=("complex_power",),
         fast_path="f")  # fmt: skip
    # Exponents that are known to be few halves: for a GPU products and a root.
    by_halves = _by_kind(i="nl::integer_power({0}, {1})", f="nl::power_by_halves({0}, {1})", c="nl::pow({0}, {1})")
    _define("power_by_halves", 2, by_halves, cost=97, exact=False, headers=("integer", "power"), numpy=np.power,
         complex_headers=("complex_power",), loops=lambda dtypes: np.power.resolve_dtypes((*dtypes, None)),
         fast_path="f")  # fmt: skip
    for n in FREQUENT_HALVES:  # The frequent ones are known to the compiler.
        _define(name_of_halves(n), 1, f"nl::power_of_halves({{0}}, {n})", cost=12 if n % 2 == 0 and n > 0 else 25,
             exact=False, headers=("power",), numpy=functools.partial(_power, n / 2),
             loops=lambda dtypes: np.cbrt.resolve_dtypes((dtypes[0], None)), fast_path="f",
             gradient=of_halves(n))  # fmt: skip
    _define("float_power", 2, "nl::pow({0}, {1})", cost=97, exact=False, headers=("power",),
         complex_headers=("complex_power",), fast_path="f")  # fmt: skip
    _define("negative", 1, _negative)
    _define("positive", 1, "({0})")
    absolute = _by_kind(b="{0}", i="nl::integer_absolute({0})", u="{0}", f="nl::fabs({0})", c="nl::abs({0})")
    _define("absolute", 1, absolute, headers=("integer", "libm"), kinds="?biuf", complex_headers=("complex_parts",))
    _define("fabs", 1, "nl::fabs({0})", headers=("libm",))
    sign_text = _by_kind(i="nl::integer_sign({0})", f="nl::sign({0})", c="nl::sign({0})")
    _define(
        "sign", 1, sign_text, cost=4, headers=("integer", "floating"), kinds="?biuf", complex_headers=("complex_math",)
    )
    reciprocal = _by_kind(i="nl::integer_reciprocal({0})", f="(1 / {0})", c="nl::reciprocal({0})")
    _define("reciprocal", 1, reciprocal, cost=14, headers=("integer",), kinds="?biuf", complex_headers=())
    square = _arithmetic("*", "({0} && {0})")
    _define("square", 1, lambda a, o: square(a, o).replace("{1}", "{0}"), kinds="?biuf")
    _define("sqrt", 1, "nl::sqrt({0})", cost=14, headers=("libm",), kinds="?biuf", complex_headers=("complex_fast",),
         fast_path="c")  # fmt: skip
    _define("cbrt", 1, "nl::cbrt({0})", cost=40, exact=False, headers=("power",))
    _define("conjugate", 1, _by_kind(b="{0}", i="{0}", f="{0}", c="nl::conj({0})"))

    # Exponentials and logarithms
    for name, cost, header in (
        ("exp", 10, "exp"), ("exp2", 10, "exp"), ("expm1", 20, "exp"), ("log", 26, "log"), ("log2", 26, "log"),
        ("log10", 26, "log"), ("log1p", 32, "log"),
    ):  # fmt: skip
        _define(name, 1, _call(name), cost=cost, exact=False, headers=(header,), complex_headers=("complex_fast",),
             fast_path="c" if name == "expm1" else "fc")  # fmt: skip
    _define("logaddexp", 2, _call("logaddexp", 2), cost=50, exact=False, headers=("logaddexp",), fast_path="f")
    _define("logaddexp2", 2, _call("logaddexp2", 2), cost=50, exact=False, headers=("logaddexp",), fast_path="f")

    # Trigonometric and hyperbolic
    for name, cost in (("sin", 60), ("cos", 60), ("tan", 80)):
        _define(name, 1, _by_kind(f=_call(f"loop_{name}"), c=_call(name)), cost=cost, exact=False,
             headers=(f"loop_{name}",), complex_headers=("complex_fast",),
             fast_path="f" if name == "tan" else "fc")  # fmt: skip
    for name, function, cost, header in (
        ("arcsin", "asin", 30, "inverse_trigonometric"), ("arccos", "acos", 30, "inverse_trigonometric"),
        ("arctan", "atan", 30, "inverse_trigonometric"), ("sinh", "sinh", 40, "hyperbolic"),
        ("cosh", "cosh", 30, "hyperbolic"), ("tanh", "tanh", 17, "hyperbolic"), ("arcsinh", "asinh", 50, "hyperbolic"),
        ("arccosh", "acosh", 50, "hyperbolic"), ("arctanh", "atanh", 40, "hyperbolic"),
    ):  # fmt: skip
        _define(name, 1, _call(function), cost=cost, exact=False, headers=(header,), complex_headers=("complex_fast",),
             fast_path="" if name in ("tanh", "arctan", "arctanh") else "c")  # fmt: skip
    _define("arctan2", 2, _call("atan2", 2), cost=50, exact=False, headers=("inverse_trigonometric",))
    _define("hypot", 2, _call("hypot", 2), cost=30, exact=False, headers=("power",))
    for name in ("degrees", "rad2deg"):
        _define(name, 1, "({0} * ((({T})180) / ({T})3.141592653589793238462643383279502884))")
    for name in ("radians", "deg2rad"):
        _define(name, 1, "({0} * ((({T})3.141592653589793238462643383279502884) / ({T})180))")

    # Rounding and the representation of floats
    for name in ("floor", "ceil", "trunc"):
        _define(name, 1, _by_kind(b="{0}", i="{0}", f=_call(name)), headers=("libm",))
    _define(
        "rint", 1, _by_kind(f=_call("rint"), c="nl::rint({0})"), headers=("libm",), complex_headers=("complex_parts",)
    )
    for name, function, count in (("spacing", "spacing", 1), ("nextafter", "next_after", 2)):
        _define(name, count, _representation(function, count), cost=8, headers=("floating",), represents=True)
    _define("ldexp", 2, "nl::ldexp({0}, {1})", cost=12, headers=("ldexp",), fast_path="f")
    _define("copysign", 2, _call("copysign", 2), headers=("libm",))
    _define("signbit", 1, _call("sign_bit"), headers=("floating",))
    _define("heaviside", 2, _call("heaviside", 2), cost=4, headers=("floating",))
    _define("isfinite", 1, _by_kind(b="true", i="true", f=_call("is_finite"), c=_call("is_finite")),
         headers=("floating",), complex_headers=("complex_parts",))  # fmt: skip
    _define("isinf", 1, _by_kind(b="false", i="false", f=_call("is_inf"), c=_call("is_inf")), headers=("floating",),
         complex_headers=("complex_parts",))  # fmt: skip
    _define("isnan", 1, _by_kind(b="false", i="false", f="({0} != {0})", c="nl::is_nan({0})"))
    _define("modf_fraction", 1, _call("modf_fraction"), cost=3, headers=("floating",), numpy=lambda x: np.modf(x)[0],
         loops=_first_output(np.modf, 1))  # fmt: skip
    _define("modf_integral", 1, _call("trunc"), headers=("libm",), numpy=lambda x: np.modf(x)[1],
         loops=_first_output(np.modf, 2))  # fmt: skip
    _define("frexp_mantissa", 1, _call("frexp_mantissa"), cost=10, headers=("floating",),
         numpy=lambda x: np.frexp(x)[0], loops=_first_output(np.frexp, 1))  # fmt: skip
    _define("frexp_exponent", 1, _call("frexp_exponent"), cost=6, headers=("floating",),
         numpy=lambda x: np.frexp(x)[1], loops=_first_output(np.frexp, 2))  # fmt: skip

    # Comparison and logic
    for name, sign, mixed in (
        ("equal", "==", "nl::integers_equal({0}, {1})"), ("not_equal", "!=", "(!nl::integers_equal({0}, {1}))"),
        ("less", "<", "nl::integers_less({0}, {1})"), ("less_equal", "<=", "(!nl::integers_less({1}, {0}))"),
        ("greater", ">", "nl::integers_less({1}, {0})"), ("greater_equal", ">=", "(!nl::integers_less({0}, {1}))"),
    ):  # fmt: skip
        _define(name, 2, _comparison(sign, mixed), headers=("integer",), complex_headers=())
    for name, sign in (("logical_and", "&&"), ("logical_or", "||"), ("logical_xor", "!=")):
        _define(name, 2, _truth(sign))
    zero = "({0} == 0)"
    _define("logical_not", 1, _by_kind(b="(!{0})", i=zero, f=zero, c="(!nl::nonzero({0}))"))

    # Bits and integers
    for name, sign in (("bitwise_and", "&"), ("bitwise_or", "|"), ("bitwise_xor", "^")):
        _define(name, 2, f"({{T}})({{0}} {sign} {{1}})")
    _define("invert", 1, _by_kind(b="(!{0})", i="({T})(~{0})"))
    for name, function, cost, nin in (
        ("left_shift", "left_shift", 3, 2), ("right_shift", "right_shift", 3, 2), ("bitwise_count", "bit_count", 8, 1),
        ("gcd", "gcd", 200, 2), ("lcm", "lcm", 220, 2),
    ):  # fmt: skip
        _define(name, nin, _call(function, nin), cost=cost, headers=("integer",))

    # Choice
    for name in ("maximum", "minimum", "fmax", "fmin"):
        boolean = "({0} || {1})" if "max" in name else "({0} && {1})"
        # Which zero fmax and fmin give NumPy's loops decide by where the elements lie.
        kinds = "?iuc" if name[0] == "f" else "?biufc"
        _define(name, 2, _extreme(name, boolean), cost=3, headers=("order",), kinds=kinds)
    _define("where", 3, "({0} ? {1} : {2})", numpy=np.where, loops=_where_loops)
    _define("clip", 3, _clip_text, cost=4, headers=("order",), numpy=_clip, loops=_clip_loops,
         looped=ALL)  # fmt: skip

    # Complex numbers
    _define("real", 1, _by_kind(b="{0}", i="{0}", f="{0}", c="({0}.re)"), numpy=np.real, loops=_part_loops)
    _define("imag", 1, _by_kind(b="false", i="({T})0", f="({T})0", c="({0}.im)"), numpy=np.imag, loops=_part_loops)
    _define("complex_pack", 2, "nl::make_complex({0}, {1})", numpy=_pack, loops=_pack_loops)

    # Random numbers: functions of an element's number, of the draw's first block and of a key
    for name, function, header in (
        ("random_uniform", "uniform", "philox"), ("random_normal", "normal", "random"),
        ("random_exponential", "exponential", "random"), ("random_bits", "bits", "philox"),
    ):  # fmt: skip
        for size in (32, 64):
            letter = {"random_bits": "IQ"}.get(name, "fd")[size == 64]
            loops = functools.partial(_random_loops, np.dtype(letter))
            _define(f"{name}{size}", 3, _call(f"{name}{size}", 3), cost=120, headers=(header,),
                 numpy=getattr(philox, f"{function}{size}"), loops=loops, looped=ALL)  # fmt: skip
    for size in (32, 64):
        loops = functools.partial(_random_loops, np.dtype("IQ"[size == 64]))
        _define(f"random_below{size}", 4, _call(f"random_below{size}", 4), cost=130, headers=("philox",),
             numpy=getattr(sampling, f"below{size}"), loops=loops, looped=ALL)  # fmt: skip
    # Functions of a counter, a key and parameters
    _define("random_position", 3, _call("sampling::random_position", 3), cost=1500, headers=("sampling",),
         numpy=sampling.position, loops=functools.partial(_random_loops, np.dtype("q")), looped=ALL)  # fmt: skip
    for name, parameters, result in (
        ("gamma", "d", "d"), ("log_gamma", "d", "d"), ("beta", "dd", "d"), ("noncentral_chisquare", "dd", "d"),
        ("wald", "dd", "d"), ("vonmises", "d", "d"), ("poisson", "d", "q"), ("binomial", "qd", "q"),
        ("hypergeometric", "qqq", "q"), ("geometric", "d", "q"), ("logseries", "d", "q"), ("zipf", "d", "q"),
    ):  # fmt: skip
        _define(f"random_{name}", 2 + len(parameters), _call(f"sampling::random_{name}", 2 + len(parameters)),
             cost=600, headers=("sampling",), numpy=getattr(sampling, name),
             loops=functools.partial(_sampler_loops, parameters + result), looped=ALL)  # fmt: skip

    # The value itself, whose gradient ends there: it has no identities, so no rewrite takes it away.
    _define("stop_gradient", 1, "({0})", numpy=np.copy, loops=_common)


def _representation(function: str, count: int) -> Text:
    """Functions of the representation have a variant for each dtype that is computed in float32."""

    def text(in_chars: str, out_char: str) -> str:
        code = _CODE[in_chars[0]]
        return _call(f"{function}_{CTYPES[code]}" if code in ROUNDED else function, count)

    return text


def _extreme(function: str, boolean: str) -> Text:
    """The larger or smaller of two; of truth values by logic, which makes vectors."""
    # NumPy has other ties for float16.
    names = {"?": boolean, "e": _call(function + "_f16", 2)}
    return lambda in_chars, out_char: names.get(in_chars[0]) or _call(function, 2)


def _random_loops(out: np.dtype[Any], dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """Counter, key and count are uint64, whatever whole numbers are given."""
    if any(not isinstance(dtype, type) and dtype.kind not in "iu" for dtype in dtypes):
        raise TypeError("counters and keys of random numbers are whole numbers")
    return (np.dtype(np.uint64),) * len(dtypes) + (out,)


def _sampler_loops(chars: str, dtypes: tuple[Any, ...]) -> tuple[np.dtype[Any], ...]:
    """Counter and key as above; parameters and the result have dtypes of their own."""
    given = [np.dtype(dtype) for dtype in dtypes[2:]]
    if any(dtype.kind not in ("biu" if char == "q" else "biuf") for dtype, char in zip(given, chars, strict=False)):
        raise TypeError(f"a distribution takes no parameters of {', '.join(map(str, given))}")
    return (*_random_loops(np.dtype(chars[-1]), dtypes[:2])[:2], *map(np.dtype, chars))


def _clip_text(in_chars: str, out_char: str) -> str:
    if KIND[out_char] == "c":
        return "nl::clip({0}, {1}, {2})"
    variant = "_f16" if out_char == "e" else ""
    return f"nl::minimum{variant}(nl::maximum{variant}({{0}}, {{1}}), {{2}})"


def _clip(x: Any, low: Any, high: Any) -> Any:
    return np.clip(x, low, high)


_fill()


# --- types ----------------------------------------------------------------------------------------


@functools.lru_cache(4096)
def resolve(op: OpDef, dtypes: tuple[Any, ...], dtype: Any = None) -> tuple[tuple[int, ...], int]:
    """Loop of `op` for arguments of these dtypes, as NumPy chooses it.

    Parameters
    ----------
    op : OpDef
        Entry of the table.
    dtypes : tuple
        For each argument a dtype, a dtype code, or a Python type (`int`, `float`, `complex`), which is weak.
    dtype : dtype, optional
        The ``dtype=`` argument of the ufunc: dtype of the loop's result.

    Returns
    -------
    tuple of int, int
        Dtype codes to which the arguments are cast, and the code of the result.

    Raises
    ------
    TypeError
        NumPy's own error where no loop takes these dtypes.

    Examples
    --------
    >>> resolve(ELEMENTWISE["add"], (np.dtype("i1"), float))
    ((11, 11), 11)
    """
    given = tuple(_argument(one) for one in dtypes)
    if op.ufunc is not None:
        named: dict[str, Any] = {} if dtype is None else {"signature": (None,) * op.nin + (np.dtype(dtype),)}
        found = op.ufunc.resolve_dtypes((*given, None), **named)
    elif op.loops is not None:
        found = op.loops(given)
        if dtype is not None and np.dtype(dtype) != found[-1]:
            found = op.loops((*given[:-1], np.dtype(dtype)))
    else:
        raise TypeError(f"{op.name} has no type rule")
    codes = tuple(code_of(one) for one in found)
    return codes[:-1], codes[-1]


def _argument(dtype: Any) -> Any:
    if dtype is bool:
        return np.dtype("?")
    if dtype in (int, float, complex):
        return dtype
    return DTYPES[dtype] if isinstance(dtype, int) else np.dtype(dtype)


def resolve_chars(op: OpDef, dtypes: Sequence[Any], dtype: Any = None) -> tuple[str, str]:
    """Like `resolve`, giving dtype characters as op definitions take them."""
    args, out = resolve(op, tuple(dtypes), dtype)
    return "".join(CHARS[code] for code in args), CHARS[out]


# --- casts ----------------------------------------------------------------------------------------


def _real_cast(value: str, in_char: str, out_char: str, scalar: bool = False) -> str:
    source, target = KIND[in_char], KIND[out_char]
    ctype = CTYPES[_CODE[out_char]]
    narrow = _CODE[out_char] in ROUNDED
    if in_char == out_char:
        return value
    if target == "b":
        return f"({value} != 0)"
    if source == "b" and target == "f":
        # GCC makes vectors of selects, but not of conversions of truth values to floats.
        part = "f32" if narrow else ctype
        return f"({value} ? ({part})1 : ({part})0)"
    if _CODE[out_char] in LOW and in_char in "diIqQ":
        return f"nl::round_{ctype}(nl::odd_f32({value}))"
    if narrow:
        return f"nl::round_{ctype}({value if source == 'f' else f'(f32){value}'})"
    if source == "f" and target in "iu":
        if ctype in ("i64", "u64", "u32"):
            # NumPy takes the low half of 64 bits where its loop is not vectorised.
            return f"(u32)nl::to_i64({value})" if ctype == "u32" and scalar else f"nl::to_{ctype}({value})"
        return f"nl::to_i32({value})" if ctype == "i32" else f"({ctype})nl::to_i32({value})"
    if target == "f" and in_char in _QUIETED:
        value = f"nl::plain_nan({value})"
    return value if _CODE[in_char] in ROUNDED and out_char == "f" else f"({ctype}){value}"


_QUIETED = "537"
"""Kinds of float8 with several NaNs, which are one in wider floats."""


@functools.cache
def cast_text(in_char: str, out_char: str) -> str:
    """C++ template of NumPy's ``astype`` from one dtype to another; ``{0}`` is the value.

    A result of float16, bfloat16 or float8 is a `float` that is already rounded.

    Examples
    --------
    >>> cast_text("d", "i")
    '(nl::to_i32({0}))'
    """
    if in_char == out_char:
        return "{0}"
    if KIND[out_char] == "c":
        part = "f" if out_char == "F" else "d"
        ctype = CTYPES[_CODE[part]]
        if KIND[in_char] == "c":
            return f"nl::make_complex(({ctype}){{0}}.re, ({ctype}){{0}}.im)"
        return f"nl::make_complex<{ctype}>({_real_cast('{0}', in_char, part)}, 0)"
    if KIND[in_char] == "c":
        if out_char == "?":
            return "nl::nonzero({0})"
        return "(" + _real_cast("{0}.re", "f" if in_char == "F" else "d", out_char) + ")"
    text = _real_cast("{0}", in_char, out_char, in_char == "e")
    return text if text == "{0}" else f"({text})"


@functools.cache
def cast_headers(in_char: str, out_char: str) -> tuple[str, ...]:
    """Prelude headers of a cast, in the order a text has them."""
    whole = KIND[in_char] in "fc" and KIND[out_char] in "iu"
    return header_order(dtype_headers(in_char + out_char) | {"cast"} if whole else dtype_headers(in_char + out_char))
