"""A kernel's parameters, read from its CUDA C++ source.

This is no compiler: it finds ``__global__`` functions and takes their parameter lists apart, following typedefs,
plain macros and template arguments. What it cannot read it says so (None, or a type without dtype), and then
arguments go by their own types and the device's sizes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from numloom.base.dtypes import BF16, DTYPES


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a kernel.

    Attributes
    ----------
    name, text : str
        Its name (or number) and its type as the source has it.
    pointer : bool
        Whether it takes memory.
    const : bool
        Whether the kernel only reads that memory.
    dtype : numpy.dtype or None
        Of the value, or of the elements pointed to; None where it is not known (``void``, structs).
    """

    name: str
    text: str
    pointer: bool
    const: bool
    dtype: np.dtype[Any] | None

    def __str__(self) -> str:
        return f"{self.text} {self.name}"


@dataclass(frozen=True, slots=True)
class Declaration:
    """A ``__global__`` function found in a source."""

    name: str
    template: str | None
    parameters: str
    mangled: bool


_LONG = np.dtype("l").name
_BUILT_IN = {
    "bool": "bool", "char": "int8", "signed char": "int8", "unsigned char": "uint8", "short": "int16",
    "unsigned short": "uint16", "int": "int32", "signed": "int32", "unsigned": "uint32", "unsigned int": "uint32",
    "long": _LONG, "unsigned long": "u" + _LONG, "long long": "int64", "unsigned long long": "uint64",
    "float": "float32", "double": "float64", "size_t": "uint64", "ptrdiff_t": "int64", "ssize_t": "int64",
    "intptr_t": "int64", "uintptr_t": "uint64", "uchar": "uint8", "ushort": "uint16", "uint": "uint32",
    "ulong": "u" + _LONG, "half": "float16", "__half": "float16", "float16": "float16",
    "cuFloatComplex": "complex64", "cuComplex": "complex64", "cuDoubleComplex": "complex128",
    "complex<float>": "complex64", "complex<double>": "complex128",
    "cudaTextureObject_t": "uint64", "cudaSurfaceObject_t": "uint64", "CUdeviceptr": "uint64",
    **{f"{sign}int{bits}_t": f"{sign}int{bits}" for sign in ("", "u") for bits in (8, 16, 32, 64)},
}  # fmt: skip
_VECTORS = {
    "char": "int8", "uchar": "uint8", "short": "int16", "ushort": "uint16", "int": "int32", "uint": "uint32",
    "long": _LONG, "ulong": "u" + _LONG, "longlong": "int64", "ulonglong": "uint64", "float": "float32",
    "double": "float64",
}  # fmt: skip
TYPES: dict[str, np.dtype[Any]] = {
    **{name: np.dtype(dtype) for name, dtype in _BUILT_IN.items()},
    **{
        f"{name}{count}": np.dtype([(axis, dtype) for axis in "xyzw"[:count]])
        for name, dtype in _VECTORS.items()
        for count in (1, 2, 3, 4)
    },
    "dim3": np.dtype([(axis, np.uint32) for axis in "xyz"]),
    "half2": np.dtype([("x", np.float16), ("y", np.float16)]),
    "__half2": np.dtype([("x", np.float16), ("y", np.float16)]),
}
BFLOAT16 = frozenset(("__nv_bfloat16", "nv_bfloat16"))

_NOISE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])+\'', re.DOTALL)
_LINKAGE = re.compile(r'\bextern\s*"C"')
_DEFINE = re.compile(r"^[ \t]*#[ \t]*define[ \t]+(\w+)[ \t]+([^\n]+?)[ \t]*$", re.MULTILINE)
_DIRECTIVE = re.compile(r"^[ \t]*#[^\n]*", re.MULTILINE)
_ALIAS = re.compile(r"\btypedef\s+([^;{}()]+?)\s*\b(\w+)\s*;|\busing\s+(\w+)\s*=\s*([^;{}()]+);")
_ENUM = re.compile(r"\benum\s+(?:class\s+|struct\s+)?(\w+)\s*(?::\s*([\w: ]+?))?\s*\{")
_CALL = re.compile(r"([A-Za-z_]\w*)\s*\(")
_QUALIFIERS = re.compile(
    r"\b(?:__restrict__|__restrict|restrict|volatile|__grid_constant__|register|struct|enum|typename|class|const"
    r"|alignas\s*\([^)]*\))\b"
)
_WORDS = frozenset(["unsigned", "signed", "int", "long", "short", "char", "float", "double", "bool", "void"])


def plain(source: str) -> str:
    """The source without comments, strings and continued lines; C linkage becomes one word."""
    text = _LINKAGE.sub("extern_C", source.replace("\\\n", " "))
    return _NOISE.sub(lambda found: " " if found[0][0] == "/" else '""', text)


def closing(text: str, at: int, pair: str = "()") -> int:
    """Index of the bracket that closes the one at `at`; -1 where none does."""
    depth = 0
    for index in range(at, len(text)):
        if text[index] == pair[0]:
            depth += 1
        elif text[index] == pair[1]:
            depth -= 1
            if depth == 0:
                return index
    return -1


def split(text: str) -> list[str]:
    """The parts of a list at its own commas, not those within brackets.

    >>> split("map<int, 2> x, float (*f)(int, int)")
    ['map<int, 2> x', 'float (*f)(int, int)']
    """
    parts, depth, start = [], 0, 0
    for index, char in enumerate(text):
        if char in "<([{":
            depth += 1
        elif char in ">)]}":
            depth -= 1
        elif char == "," and depth == 0:
            parts.append(text[start:index])
            start = index + 1
    parts.append(text[start:])
    return [part.strip() for part in parts] if any(part.strip() for part in parts) else []


def declarations(text: str) -> Iterator[Declaration]:
    """Every ``__global__`` function of a `plain` text."""
    text = _DIRECTIVE.sub("", text)
    linked = []
    for found in re.finditer(r"\bextern_C\s*\{", text):
        linked.append((found.start(), closing(text, found.end() - 1, "{}")))
    for found in re.finditer(r"\b__global__\b", text):
        before = re.split(r"[;{}]", text[: found.start()])[-1]
        template = None
        head = re.search(r"\btemplate\s*<", before)
        if head is not None:
            end = closing(before, head.end() - 1, "<>")
            template = before[head.end() : end] if end > 0 else before[head.end() :]
        at = found.end()
        while (call := _CALL.search(text, at)) is not None:
            end = closing(text, call.end() - 1)
            if end < 0:
                break
            if call[1].startswith("__") and call[1].endswith("__"):  # __launch_bounds__(...) and its like
                at = end + 1
                continue
            after = text[found.end() : call.start()]
            mangled = "extern_C" not in before + after and not any(
                start < found.start() < stop for start, stop in linked
            )
            yield Declaration(call[1], template, text[call.end() : end], mangled)
            break


def base_name(name: str) -> tuple[str, list[str] | None]:
    """A kernel's plain name, and the template arguments of a name expression.

    >>> base_name("space::scale<float, 4>")
    ('scale', ['float', '4'])
    """
    name, bracket, rest = name.strip().lstrip("&").partition("<")
    return name.strip().rpartition("::")[2], split(rest.rpartition(">")[0]) if bracket else None


def macros(options: Sequence[str]) -> dict[str, str]:
    """The macros that ``-D`` options define."""
    pairs = [option[2:].partition("=") for option in options if option.startswith("-D")]
    return {name: value if equals else "1" for name, equals, value in pairs}


class Reader:
    """The parameter lists and variables of one or several sources.

    Parameters
    ----------
    sources : sequence of str
        CUDA C++.
    options : sequence of str
        Compiler options, of which ``-DNAME=value`` are followed.
    """

    def __init__(self, sources: Sequence[str], options: Sequence[str] = ()) -> None:
        texts = [plain(source) for source in sources]
        self.text = "\n".join(texts)
        self.macros = {name: value.strip() for text in texts for name, value in _DEFINE.findall(text)}
        self.macros.update(macros(options))
        self.aliases: dict[str, str] = {}
        for text in texts:
            for old, new, name, meaning in _ALIAS.findall(_DIRECTIVE.sub("", text)):
                self.aliases[new or name] = old or meaning.strip()
            self.aliases.update({name: meaning or "int" for name, meaning in _ENUM.findall(text)})
        self.declared = [declaration for text in texts for declaration in declarations(text)]

    def mangled(self, name: str) -> bool:
        """Whether a kernel of this name is there that has no C linkage, so that only a name expression finds it."""
        base = base_name(name)[0]
        found = [declaration for declaration in self.declared if declaration.name == base]
        return bool(found) and all(declaration.mangled for declaration in found)

    def parameters(self, name: str) -> tuple[Parameter, ...] | None:
        """The parameters of a kernel (a name or a name expression); None where the source does not tell them."""
        base, arguments = base_name(name)
        lists: dict[Any, tuple[Parameter, ...]] = {}
        for declaration in self.declared:
            if declaration.name == base and (arguments is not None) <= (declaration.template is not None):
                bound = self._bind(declaration.template, arguments or [])
                texts = enumerate(split(declaration.parameters))
                found = tuple([self._parameter(text, at, bound) for at, text in texts])
                if len(found) == 1 and found[0].text == "void":
                    found = ()
                # A declaration before the definition may name parameters otherwise; other types are an overload.
                lists[tuple([(parameter.pointer, parameter.text) for parameter in found])] = found
        return next(iter(lists.values())) if len(lists) == 1 else None

    def variable(self, name: str) -> tuple[np.dtype[Any], tuple[int, ...]] | None:
        """The dtype and shape of a ``__device__`` or ``__constant__`` variable; None where it does not tell."""
        base = re.escape(base_name(name)[0])
        pattern = rf"\b(?:__device__|__constant__|__managed__)\b([^;(){{}}=]*?)\b{base}\s*((?:\[[^\]]*\]\s*)*)[;={{]"
        found = re.search(pattern, _DIRECTIVE.sub("", self.text))
        if found is None:
            return None
        qualifiers = r"\b(?:__device__|__constant__|__managed__|__align__\s*\(\d+\)|static|extern|volatile|const)\b"
        dtype = None if "*" in found[1] else self.resolve(re.sub(qualifiers, " ", found[1]), {})
        shape = []
        for extent in re.findall(r"\[([^\]]*)\]", found[2]):
            value = _constant(extent, self.macros)
            if value is None:
                return None
            shape.append(value)
        return None if dtype is None else (dtype, tuple(shape))

    def _bind(self, template: str | None, arguments: list[str]) -> dict[str, str]:
        """Template parameters with their arguments (or defaults)."""
        bound = {}
        for at, parameter in enumerate(split(template or "")):
            left, _, default = parameter.partition("=")
            words = re.findall(r"\w+", left)
            value = arguments[at] if at < len(arguments) else default.strip()
            if words and value and "..." not in left:
                bound[words[-1]] = value
        return bound

    def _parameter(self, text: str, at: int, bound: Mapping[str, str]) -> Parameter:
        text = re.sub(r"\s+", " ", self._expand(text)).strip()
        if text == "void":
            return Parameter(str(at), "void", False, False, None)
        if "(" in text:
            inner = re.search(r"\(\s*\*\s*(\w+)", text)
            return Parameter(inner[1] if inner else str(at), text, True, True, None)
        array = re.search(r"\[[^\]]*\]\s*$", text) is not None
        while (brackets := re.search(r"\[[^\]]*\]\s*$", text)) is not None:
            text = text[: brackets.start()].rstrip()
        words = re.findall(r"[\w:]+(?:\s*<[^*]*>)?|[*&]", _QUALIFIERS.sub(" ", text))
        name = str(at)
        named = re.search(r"(\w+)$", text)
        if named and len(words) > 1 and words[-1] not in ("*", "&") and not _is_type_word(named[1]):
            name = named[1]
            text = text[: named.start()].rstrip()
        pointee, star, _ = text.rpartition("*")
        pointer = bool(star) or array
        const = pointer and bool(re.search(r"\bconst\b", pointee if star else text))
        shown = re.sub(r"\s+", " ", re.sub(r"\b(?:__restrict__|__restrict|__grid_constant__)\b", "", text)).strip()
        pointers = text.count("*") + array
        dtype: np.dtype[Any] | None
        if pointers > 1:
            dtype = np.dtype(np.uint64)
        else:
            spelled = pointee if star else text
            dtype = self.resolve(spelled, bound)
            # A template argument or an alias may itself be a pointer.
            target = self._followed(spelled, bound)
            if "*" in target:
                pointer, const = True, "const" in target
                dtype = self.resolve(target.rpartition("*")[0], bound)
        return Parameter(name, shown + ("*" if array else ""), pointer, const, dtype)

    def _expand(self, text: str) -> str:
        """Plain macros replaced, a few rounds deep."""
        for _ in range(8):
            replaced = re.sub(r"\b[A-Za-z_]\w*\b", lambda found: self.macros.get(found[0], found[0]), text)
            if replaced == text:
                break
            text = replaced
        return text

    def _followed(self, text: str, bound: Mapping[str, str]) -> str:
        """A type's spelling after template arguments, macros and aliases."""
        text = " ".join(_QUALIFIERS.sub(" ", text).split())
        for _ in range(16):
            name = text.rpartition("::")[2] if "<" not in text else text
            meaning = bound.get(text) or self.aliases.get(text) or self.aliases.get(name) or self.macros.get(text)
            if meaning is None or meaning == text:
                break
            text = " ".join(re.sub(r"\b(?:typename|struct|volatile)\b", " ", meaning).split())
        return text

    def resolve(self, text: str, bound: Mapping[str, str]) -> np.dtype[Any] | None:
        """The dtype of a type's spelling; None where it has none."""
        text = " ".join(_QUALIFIERS.sub(" ", self._followed(text, bound)).split())
        if "<" in text:
            outer, _, inner = text.partition("<")
            inner = inner.rpartition(">")[0].strip()
            text = f"{outer.strip().rpartition('::')[2]}<{self._followed(inner, bound)}>"
        else:
            text = text.rpartition("::")[2]
        words = text.split()
        if len(words) > 1 and all(word in _WORDS for word in words):
            sign = "unsigned " if "unsigned" in words else "signed " if "signed" in words and "char" in words else ""
            width = "long " * words.count("long") + "short " * words.count("short") + "char " * words.count("char")
            if "double" in words:
                return None if "long" in words else TYPES["double"]
            text = (sign + (width or "int")).strip()
        if text in BFLOAT16:
            return DTYPES[BF16]
        return TYPES.get(text)


def _is_type_word(word: str) -> bool:
    return word in _WORDS or word in TYPES or word in BFLOAT16


def _constant(text: str, known: Mapping[str, str]) -> int | None:
    """The value of an extent: numbers and macros, with + - * and brackets."""
    for _ in range(8):
        text = re.sub(r"\b[A-Za-z_]\w*\b", lambda found: f"({known.get(found[0], found[0])})", text)
    text = re.sub(r"(?<=[\da-fA-F])[uUlL]+\b", "", text)
    tokens = re.findall(r"0[xX][\da-fA-F]+|\d+|[-+*()]", text)
    if "".join(tokens) != re.sub(r"\s+", "", text) or not tokens:
        return None
    return _sum(tokens)


def _sum(tokens: list[str]) -> int | None:
    """A sum of products, from a list of tokens that it empties."""
    value = _product(tokens)
    while value is not None and tokens and tokens[0] in "+-":
        sign = 1 if tokens.pop(0) == "+" else -1
        term = _product(tokens)
        value = None if term is None else value + sign * term
    return value


def _product(tokens: list[str]) -> int | None:
    value: int | None = 1
    while value is not None:
        if not tokens:
            return None
        token = tokens.pop(0)
        if token == "(":
            factor = _sum(tokens)
            if not tokens or tokens.pop(0) != ")":
                return None
        else:
            factor = int(token, 0) if token[0].isdigit() else None
        value = None if factor is None else value * factor
        if not tokens or tokens[0] != "*":
            break
        tokens.pop(0)
    return value
