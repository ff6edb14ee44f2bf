"""Users' C++ as functions of a kernel: what a line of theirs needs is found by the names in it.

A user's text stands in a namespace of its own, named by a hash of it, inside of ``nl_user``, which has the types,
functions and atomics of CUDA for every dtype and on both targets. ``#line`` gives each of its parts a file name, so
that the compiler's complaints can be shown beside the user's own line.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from numloom.base.dtypes import C64, C128, CHARS, CTYPES, F16, LOW
from numloom.base.errors import CompileError
from numloom.base.later import Later
from numloom.emit.values import VALUE_TYPES, header, rounded
from numloom.ops.elementwise import dtype_headers, header_order

hashlib = Later("hashlib")
OWN = "kernel.cpp"
"""File name of what is not the user's."""

USER_TYPES = tuple(
    "f32"
    if code in LOW
    else {"f16": "nl_user::float16", "c64": "nl_user::complex<f32>", "c128": "nl_user::complex<f64>"}.get(ctype, ctype)
    for code, ctype in enumerate(CTYPES)
)
"""C++ type of a user's variable, by dtype code: of bfloat16 and float8 it is a float."""

_COMPLEX = ("complex", "complex64", "complex128")

# ---------------------------------------------------------------- functions by name

_REAL = "class R = typename real_of<T>::type, class C = typename real_of<T>::compute"
_REALS = (
    "class A, class B, class RA = typename real_of<A>::type, class RB = typename real_of<B>::type, "
    "class R = typename real_of2<A, B>::type, class C = typename real_of<R>::compute"
)
_OURS = {
    "exp": "exp", "exp2": "exp", "expm1": "exp", "log": "log", "log2": "log", "log10": "log", "log1p": "log",
    "sin": "loop_sin", "cos": "loop_cos", "tan": "loop_tan", "asin": "inverse_trigonometric",
    "acos": "inverse_trigonometric", "atan": "inverse_trigonometric", "sinh": "hyperbolic", "cosh": "hyperbolic",
    "tanh": "hyperbolic", "asinh": "hyperbolic", "acosh": "hyperbolic", "atanh": "hyperbolic", "cbrt": "power",
    "sqrt": "libm", "fabs": "libm", "floor": "libm", "ceil": "libm", "trunc": "libm", "rint": "libm",
}  # fmt: skip
"""Functions of one number that the prelude has, with their headers."""
_OURS2 = {"pow": "power", "hypot": "power", "atan2": "inverse_trigonometric", "copysign": "libm", "fmod": "libm"}
_LIBRARY = ("erf", "erfc", "tgamma", "lgamma", "round", "nearbyint", "logb", "j0", "j1", "y0", "y1")
_LIBRARY2 = ("fdim", "nextafter", "remainder")
_HOST = {
    "rsqrt": "1 / ::sqrt(x)", "rcbrt": "1 / ::cbrt(x)", "exp10": "::pow(10.0, x)", "sinpi": "sine_of_pi(x)",
    "cospi": "sine_of_pi(0.5 - ::fabs(::fmod(x, 2.0)))", "normcdf": "0.5 * ::erfc(-x * 0.707106781186547524)",
    "erfinv": "inverse_erf(x)", "erfcinv": "inverse_erfc(x)", "erfcx": "scaled_erfc(x)",
    "normcdfinv": "-1.41421356237309505 * inverse_erfc(2 * x)",
}  # fmt: skip
"""Functions of CUDA that the host's library lacks."""
_HOST2 = {"rhypot": "1 / ::hypot(x, y)", "fdivide": "x / y"}

_HOST_SUPPORT = """#ifndef __CUDACC__
NL_EXTERN1(sqrt) NL_EXTERN1(cbrt) NL_EXTERN1(sin) NL_EXTERN1(erf) NL_EXTERN1(erfc) NL_EXTERN1(exp) NL_EXTERN1(log)
NL_EXTERN1(fabs) NL_EXTERN1(rint) NL_EXTERN2(fmod) NL_EXTERN2(hypot)
extern "C" f64 pow(f64, f64) noexcept;
namespace nl_c {
inline f64 sine_of_pi(f64 x) {
    f64 r = ::fmod(x, 2.0);
    r = r > 1 ? r - 2 : r < -1 ? r + 2 : r;
    r = r > 0.5 ? 1 - r : r < -0.5 ? -1 - r : r;
    return ::sin(3.14159265358979323846 * r);
}
inline f64 inverse_erfc(f64 y) {
    if (!(y > 0 && y < 2)) return y == 0 ? NL_INFINITY : y == 2 ? -NL_INFINITY : NL_NAN;
    const bool lower = y < 1;
    const f64 p = lower ? y : 2 - y, t = ::sqrt(-2 * ::log(p / 2));
    f64 x = 0.70710678 * (t - (2.30753 + t * 0.27061) / (1 + t * (0.99229 + t * 0.04481)));
    for (int step = 0; step < 4; ++step) {
        const f64 error = ::erfc(x) - p, slope = 1.12837916709551257 * ::exp(-x * x);
        if (slope == 0) break;
        x += error / (slope - x * error);
    }
    return lower ? x : -x;
}
inline f64 inverse_erf(f64 y) {
    if (::fabs(y) > 0.5) return y > 0 ? inverse_erfc(1 - y) : -inverse_erfc(1 + y);
    f64 x = y * 0.886226925452758;
    for (int step = 0; step < 5; ++step) {
        const f64 error = ::erf(x) - y;
        x -= error / (1.12837916709551257 * ::exp(-x * x) + x * error);
    }
    return x;
}
inline f64 scaled_erfc(f64 x) {
    if (x < 25) return ::exp(x * x) * ::erfc(x);
    const f64 r = 1 / (x * x);
    return 0.564189583547756287 / x * (1 - r / 2 * (1 - r * 1.5 * (1 - r * 2.5)));
}
}
#endif
"""

_OTHERS = {
    "abs": (("libm",), f"""NL_DEV f32 magnitude(f32 x) {{ return nl::fabs(x); }}
NL_DEV f64 magnitude(f64 x) {{ return nl::fabs(x); }}
template <class T> NL_DEV T magnitude(T x) {{ return x < T(0) ? T(-x) : x; }}
template <class T, {_REAL}> NL_DEV T abs(T x) {{ return magnitude(x); }}
"""),
    "isnan": ((), f"template <class T, {_REAL}> NL_DEV bool isnan(T x) {{ return x != x; }}\n"),
    "isinf": (("floating",), f"template <class T, {_REAL}> NL_DEV bool isinf(T x) {{ return nl::is_inf((C)x); }}\n"),
    "isfinite": (("floating",),
                 f"template <class T, {_REAL}> NL_DEV bool isfinite(T x) {{ return nl::is_finite((C)x); }}\n"),
    "signbit": (("floating",),
                f"template <class T, {_REAL}> NL_DEV bool signbit(T x) {{ return nl::sign_bit((C)x); }}\n"),
    "ldexp": (("ldexp",),
              f"template <class T, {_REAL}> NL_DEV R ldexp(T x, int n) {{ return R(nl::ldexp((C)x, (i64)n)); }}\n"),
    "scalbn": (("ldexp",),
               f"template <class T, {_REAL}> NL_DEV R scalbn(T x, int n) {{ return R(nl::ldexp((C)x, (i64)n)); }}\n"),
    "frexp": (("floating",), f"""template <class T, {_REAL}> NL_DEV R frexp(T x, int* n) {{
    *n = nl::frexp_exponent((C)x);
    return R(nl::frexp_mantissa((C)x));
}}
"""),
    "modf": (("floating",), f"""template <class T, {_REAL}> NL_DEV R modf(T x, R* whole) {{
    *whole = R(nl::trunc((C)x));
    return R(nl::modf_fraction((C)x));
}}
"""),
    "sincos": (("trigonometric",), f"""template <class T, {_REAL}> NL_DEV void sincos(T x, R* s, R* c) {{
    *s = R(nl::sin((C)x));
    *c = R(nl::cos((C)x));
}}
"""),
    "fma": ((), """namespace of_three {
#ifdef __CUDACC__
NL_DEV f32 fma(f32 a, f32 b, f32 c) { return ::fmaf(a, b, c); }
NL_DEV f64 fma(f64 a, f64 b, f64 c) { return ::fma(a, b, c); }
#else
NL_DEV f32 fma(f32 a, f32 b, f32 c) { return __builtin_fmaf(a, b, c); }
NL_DEV f64 fma(f64 a, f64 b, f64 c) { return __builtin_fma(a, b, c); }
#endif
}
template <class A, class B, class D, class RA = typename real_of<A>::type, class RB = typename real_of<B>::type,
          class RD = typename real_of<D>::type, class M = typename both<A, B>::type,
          class R = typename real_of2<M, D>::type, class C = typename real_of<R>::compute>
NL_DEV R fma(A a, B b, D c) { return R(of_three::fma((C)a, (C)b, (C)c)); }
"""),
    **{
        name: (("libm",), f"template <class T, {_REAL}> NL_DEV i64 {name}(T x) {{ return (i64)nl::{inner}; }}\n")
        for name, inner in {
            "lrint": "rint((C)x)", "llrint": "rint((C)x)",
            "lround": "trunc((C)x + nl::copysign((C)0.5, (C)x))", "llround": "trunc((C)x + nl::copysign((C)0.5, (C)x))",
        }.items()
    },
}  # fmt: skip

_HOST_ONLY = {
    "__popc": "int __popc(u32 x) { return __builtin_popcount(x); }",
    "__popcll": "int __popcll(u64 x) { return __builtin_popcountll(x); }",
    "__clz": "int __clz(int x) { return x ? __builtin_clz((u32)x) : 32; }",
    "__clzll": "int __clzll(i64 x) { return x ? __builtin_clzll((u64)x) : 64; }",
    "__ffs": "int __ffs(int x) { return __builtin_ffs(x); }",
    "__ffsll": "int __ffsll(i64 x) { return __builtin_ffsll(x); }",
    "__brev": "u32 __brev(u32 x) { u32 r = 0; for (int k = 0; k < 32; ++k) r |= (x >> k & 1u) << (31 - k); return r; }",
    "__brevll": "u64 __brevll(u64 x) "
    "{ u64 r = 0; for (int k = 0; k < 64; ++k) r |= (x >> k & 1ull) << (63 - k); return r; }",
    "__mulhi": "int __mulhi(int a, int b) { return (int)((i64)a * b >> 32); }",
    "__umulhi": "u32 __umulhi(u32 a, u32 b) { return (u32)((u64)a * b >> 32); }",
    "__mul64hi": "i64 __mul64hi(i64 a, i64 b) { return (i64)((__int128)a * b >> 64); }",
    "__umul64hi": "u64 __umul64hi(u64 a, u64 b) { return (u64)((unsigned __int128)a * b >> 64); }",
    "__float_as_int": "int __float_as_int(f32 x) { return (int)nl::bits(x); }",
    "__float_as_uint": "u32 __float_as_uint(f32 x) { return nl::bits(x); }",
    "__int_as_float": "f32 __int_as_float(int x) { return nl::from_bits((u32)x); }",
    "__uint_as_float": "f32 __uint_as_float(u32 x) { return nl::from_bits(x); }",
    "__double_as_longlong": "i64 __double_as_longlong(f64 x) { return (i64)nl::bits(x); }",
    "__longlong_as_double": "f64 __longlong_as_double(i64 x) { return nl::from_bits((u64)x); }",
    "__saturatef": "f32 __saturatef(f32 x) { return x > 0 ? (x < 1 ? x : 1.0f) : 0.0f; }",
    "__fdividef": "f32 __fdividef(f32 x, f32 y) { return x / y; }",
    "fdividef": "f32 fdividef(f32 x, f32 y) { return x / y; }",
    "__ldg": "template <class T> T __ldg(const T* x) { return *x; }",
    "__syncthreads": "void __syncthreads() {}",
    "printf": 'extern "C" int printf(const char*, ...);',
    "__threadfence": "void __threadfence() { __sync_synchronize(); }",
}
"""What the GPU's compiler has built in; on the host a thread is a block."""
_INDICES = ("threadIdx", "blockIdx", "blockDim", "gridDim")
_FAST = {f"__{name}f": name for name in ("exp", "log", "log2", "log10", "sin", "cos", "tan", "exp10")}
_FAST2 = {"__powf": "pow"}


def _inside(text: str) -> str:
    return f"namespace nl_user {{\n{text}}}\n"


def _on_host(text: str) -> str:
    return f"#ifndef __CUDACC__\n{text}#endif\n"


def _unary(name: str, space: str, called: str = "") -> str:
    called = called or name
    return _inside(f"template <class T, {_REAL}> NL_DEV R {name}(T x) {{ return R({space}::{called}((C)x)); }}\n")


def _binary(name: str, space: str) -> str:
    return _inside(f"template <{_REALS}> NL_DEV R {name}(A x, B y) {{ return R({space}::{name}((C)x, (C)y)); }}\n")


@lru_cache(1024)
def function_of(name: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Headers and preambles of a function by its name in a user's text; nothing for what is no function of CUDA."""
    if name in _OURS:
        header = _OURS[name]
        return (header,), (_unary(name, "nl", header if header.startswith("loop_") else name),)
    if name in _OURS2:
        return (_OURS2[name],), (_binary(name, "nl"),)
    if name in _LIBRARY:
        calls = f"NL_EXTERN1({name})\nnamespace nl_c {{ NL_DEV f32 {name}(f32 x) {{ return ::{name}f(x); }} "
        return ("libm",), (calls + f"NL_DEV f64 {name}(f64 x) {{ return ::{name}(x); }} }}\n" + _unary(name, "nl_c"),)
    if name in _LIBRARY2:
        calls = f"NL_EXTERN2({name})\nnamespace nl_c {{ NL_DEV f32 {name}(f32 x, f32 y) {{ return ::{name}f(x, y); }} "
        calls += f"NL_DEV f64 {name}(f64 x, f64 y) {{ return ::{name}(x, y); }} }}\n"
        return ("libm",), (calls + _binary(name, "nl_c"),)
    if name in _HOST or name in _HOST2:
        args, names, text = ("f64 x", "x", _HOST[name]) if name in _HOST else ("f64 x, f64 y", "x, y", _HOST2[name])
        single = args.replace("f64", "f32")
        wide = ", ".join(f"(f64){arg}" for arg in names.split(", "))
        calls = (
            "#ifdef __CUDACC__\nnamespace nl_c { "
            f"NL_DEV f32 {name}({single}) {{ return ::{name}f({names}); }} "
            f"NL_DEV f64 {name}({args}) {{ return ::{name}({names}); }} }}\n#else\nnamespace nl_c {{ "
            f"inline f64 {name}({args}) {{ return {text}; }} "
            f"inline f32 {name}({single}) {{ return (f32){name}({wide}); }} }}\n#endif\n"
        )
        wrapped = _unary(name, "nl_c") if name in _HOST else _binary(name, "nl_c")
        return ("libm", "power"), (_HOST_SUPPORT, calls + wrapped)
    if name in ("min", "max", "fmin", "fmax"):
        sign = "<" if name.endswith("min") else ">"
        result = "typename both<A, B>::type"
        text = f"template <{_REALS}> NL_DEV {result} {name}(A x, B y) {{\n"
        text += f"    const {result} a = {result}(x), b = {result}(y);\n"
        return (), (_inside(text + f"    return (nl::wide(a) {sign} nl::wide(b)) | (b != b) ? a : b;\n}}\n"),)
    if name in _OTHERS:
        headers, text = _OTHERS[name]
        return headers, (_inside(text),)
    if name in _HOST_ONLY:
        text = _HOST_ONLY[name]
        if text.startswith("extern"):
            return (), (_on_host(f"{text}\n"),)
        head = "template <class T> NL_DEV " if text.startswith("template") else "NL_DEV "
        return (), (_on_host(_inside(head + text.removeprefix("template <class T> ") + "\n")),)
    if name in _INDICES:
        value = "{1, 1, 1}" if name.endswith("Dim") else "{0, 0, 0}"
        text = f"static const struct {{ unsigned x, y, z; }} {name} = {value};\n"
        return (), (_on_host(_inside(text)),)
    if name in _FAST2 or name in _FAST or (name.endswith("f") and _plain(name[:-1])):
        base = _FAST.get(name) or _FAST2.get(name) or name[:-1]
        headers, needed = function_of(base)
        args = {1: "x", 2: "x, y", 3: "x, y, z"}[_arguments(base)]
        typed = ", ".join(f"f32 {arg}" for arg in args.split(", "))
        own = _on_host(_inside(f"NL_DEV f32 {name}({typed}) {{ return nl_user::{base}({args}); }}\n"))
        return headers, (*needed, own)
    return (), ()


def _plain(name: str) -> bool:
    """Whether ``namef`` is the function for float."""
    one = name in _OURS or name in _LIBRARY or name in _HOST
    return one or _arguments(name) > 1


def _arguments(name: str) -> int:
    if name == "fma":
        return 3
    return 2 if name in (*_OURS2, *_LIBRARY2, *_HOST2, "fmin", "fmax") else 1


# ---------------------------------------------------------------- a user's source

_WORD = re.compile(r"[A-Za-z_]\w*")
_NOT_CODE = re.compile(r"//[^\n]*|/\*.*?\*/|\"(?:\\.|[^\"\\\n])*\"|'(?:\\.|[^'\\\n])*'", re.DOTALL)
_INCLUDE = re.compile(r"^[ \t]*#[ \t]*include\b[^\n]*", re.MULTILINE)
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+([A-Za-z_]\w*)", re.MULTILINE)


def words_of(*texts: str) -> frozenset[str]:
    """Every identifier in C++ texts, outside of comments and strings."""
    return frozenset(word for text in texts for word in _WORD.findall(_NOT_CODE.sub(" ", text)))


@dataclass(frozen=True)
class UserText:
    """A user's source, ready to stand in kernels.

    Attributes
    ----------
    space : str
        The namespace in which its functions are.
    headers, preamble : tuple of str
        What an op definition with it needs (see `numloom.ops.definitions.OpDef`).
    parts : tuple of (str, str)
        Names and texts of the user's own parts.
    name : str
        The kernel's name.
    """

    space: str
    headers: tuple[str, ...]
    preamble: tuple[str, ...]
    parts: tuple[tuple[str, str], ...] = field(compare=False)
    name: str = field(compare=False)

    def call(self, function: str, count: int) -> str:
        """The template of a call of one of its functions with `count` arguments."""
        return f"{self.space}::{function}({', '.join(f'{{{k}}}' for k in range(count))})"

    def prelude(self) -> str:
        """Text of everything it needs and itself."""
        return "".join([*map(header, header_order(self.headers)), *self.preamble])

    def check(self) -> tuple[str, str]:
        """A kernel that does nothing but makes the compiler read the source, and its entry."""
        entry = f"nl_check_{self.space.rpartition('_')[2]}"
        text = (
            f'{self.prelude()}#ifdef __CUDACC__\nextern "C" __global__ void {entry}() {{}}\n#else\n'
            f'extern "C" void {entry}() {{}}\n#endif\n'
        )
        return text, entry

    def explain(self, error: CompileError) -> CompileError:
        """The compiler's complaint beside the user's own line."""
        names = "|".join(name for name, _ in self.parts)
        pattern = re.compile(
            rf"^(?:In file included from )?({names})[:(](\d+)(?::\d+)?\)?:[ \t]*([^\n]*)", re.MULTILINE
        )
        found = [match for match in pattern.finditer(error.log)]
        if not found:
            return error
        first = next((match for match in found if "error" in match[3]), found[0])
        message = re.sub(r"^(?:catastrophic |fatal )?error:?\s*", "", first[3])
        if "error" not in first[3]:
            complaint = re.search(r"error:?\s*([^\n]*)", error.log)
            message = complaint[1] if complaint else message
        part, text = first[1], dict(self.parts)[first[1]]
        line = min(int(first[2]), max(len(text.splitlines()), 1))
        compiler = f"{error.compiler}, reading {part} of kernel {self.name!r},"
        return CompileError(compiler, text, f"{part}:{line}: error: {message}")


def part(name: str, text: str, before: str = "", after: str = "") -> str:
    """A user's text with the name and numbers that the compiler is to give to its lines."""
    return f'{before}\n#line 1 "{name}"\n{text}\n#line 1 "{OWN}"\n{after}\n'


def user_text(
    name: str, preamble: str, types: Sequence[tuple[str, str]], body: str, parts: Iterable[tuple[str, str]],
    codes: Iterable[int] = (), extra: Sequence[str] = (), block: str = "",
) -> UserText:  # fmt: skip
    """A user's source as a namespace.

    Parameters
    ----------
    name : str
        The kernel's name, for messages.
    preamble : str
        The user's declarations.
    types : sequence of (str, str)
        Names that stand for types (placeholders), and the types.
    body : str
        Functions, in which the user's parts stand (see `part`).
    parts : iterable of (str, str)
        These parts, for messages and to find what they use.
    codes : iterable of int
        dtype codes of their variables.
    extra : sequence of str
        Further prelude headers of ``include`` that come before.
    block : str
        Declaration of the parameter block of a kernel of its own.
    """
    parts = (("preamble", preamble), *parts)
    words = words_of(*(text for _, text in parts), *(text for _, text in types))
    codes = set(codes)
    headers = {"core", "half"}.union(*(dtype_headers(CHARS[code]) for code in codes if code in LOW))
    chunks: dict[str, None] = {header("user"): None}
    wants_complex = bool(words & set(_COMPLEX)) or any(code in (C64, C128) for code in codes)
    if wants_complex:
        headers |= {"complex", "complex_math", "complex_power"}
        chunks[header("user_complex")] = None
    for word in sorted(words):
        needs, texts = function_of(word)
        headers.update(needs)
        chunks.update(dict.fromkeys(texts))
    if any(word.startswith("atomic") for word in words):
        chunks[header("user_atomics")] = None
        if wants_complex:
            chunks[header("user_complex_atomics")] = None
    chunks.update(dict.fromkeys(header(name) for name in extra))
    includes = "".join(f"{line.strip()}\n" for line in _INCLUDE.findall(preamble))
    if includes:
        chunks[includes] = None
    inner = "".join(f"typedef {ctype} {alias};\n" for alias, ctype in types)
    if preamble.strip():
        inner += part("preamble", _INCLUDE.sub("", preamble))
    inner += body
    digest = hashlib.sha256("\0".join((*sorted(headers), *chunks, inner)).encode()).hexdigest()[:20]
    if block:
        chunks[block] = None
    undone = "".join(f"#undef {macro}\n" for macro in dict.fromkeys(_DEFINE.findall("\n".join(t for _, t in parts))))
    space = f"k_{digest}"
    chunks[f"namespace nl_user {{ namespace {space} {{ namespace {{\n{inner}}} }} }}\n{undone}"] = None
    return UserText(f"nl_user::{space}", tuple(sorted(headers)), tuple(chunks), parts, name)


def guarded(text: str, entry: str) -> str:
    """A kernel's text whose functions for the host are called by way of ``nl_guard``, which outlives their faults.

    Whoever loads the text for the host sets ``nl_guard``.
    """
    entries = [entry, *([f"{entry}_finish"] if f"{entry}_finish(" in text else [])]
    line, rest = text.partition("\n")[::2] if text.startswith("// nvrtc:") else ("", text)
    renamed = "".join(f"#define {name} {name}_alone\n" for name in entries)
    called = "".join(
        f'#undef {name}\nextern "C" void {name}(const void* p, long long begin, long long end) {{\n'
        f"nl_guard.run((void (*)(const void*, long long, long long)){name}_alone, p, begin, end, nl_guard.error);\n}}\n"
        for name in entries
    )
    return (
        f"{line}{chr(10) * bool(line)}#ifndef __CUDACC__\n{_GUARD}{renamed}#endif\n{rest}"
        f"#ifndef __CUDACC__\n{called}#endif\n"
    )


_GUARD = """extern "C" { __attribute__((weak)) struct {
void (*run)(void (*)(const void*, long long, long long), const void*, long long, long long, long long*);
long long* error; void (*outside)(const char*, long long, long long); } nl_guard; }
"""


def value_type(code: int) -> str:
    """C++ type in which values of a dtype travel between a kernel's operations."""
    return VALUE_TYPES[code]


def as_user(name: str, code: int) -> str:
    """A travelling value as a user's variable."""
    return f"{USER_TYPES[code]}({name})"


def as_value(name: str, code: int) -> str:
    """A user's variable as a travelling value."""
    if code in LOW:
        return rounded(f"(f32)({name})", code)
    return f"(f32)({name})" if code == F16 else f"({CTYPES[code]})({name})"


__all__ = ["USER_TYPES", "UserText", "as_user", "as_value", "guarded", "part", "user_text", "value_type", "words_of"]
