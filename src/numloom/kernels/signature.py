"""Parameters of users' elementwise and reduction kernels: their declaration, and the types that a call gives them.

``"T x, float32 y, raw S z"``: each parameter has a type (NumPy's name of a dtype, or one letter that stands for any)
and a name, and before them ``raw`` where the kernel indexes the array itself.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np

from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of
from numloom.array.storage import read_only
from numloom.base.dtypes import DTYPES, KINDS, code_of
from numloom.graph import build
from numloom.graph.node import Node

_NAME = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_RESERVED = frozenset(
    """i alignas alignof and and_eq asm auto bitand bitor bool break case catch char class compl const constexpr
    const_cast continue decltype default delete do double dynamic_cast else enum explicit export extern false float
    for friend goto if inline int long mutable namespace new noexcept not not_eq nullptr operator or or_eq private
    protected public register reinterpret_cast return short signed sizeof static static_assert static_cast struct
    switch template this thread_local throw true try typedef typeid typename union unsigned using virtual void
    volatile wchar_t while xor xor_eq""".split()  # noqa: SIM905
)
_KINDS = "biufc"


@dataclass(frozen=True, slots=True)
class TypedParameter:
    """One parameter: `type` is a placeholder's letter where `code` is -1, else the dtype's name."""

    name: str
    type: str
    code: int
    raw: bool

    def __str__(self) -> str:
        return f"{'raw ' if self.raw else ''}{self.type} {self.name}"


def identifier(name: Any, what: str) -> str:
    """`name` if C++ can have it as a name.

    Examples
    --------
    >>> identifier("squared_diff", "the kernel's name")
    'squared_diff'
    """
    if not isinstance(name, str):
        raise TypeError(f"{what} must be a string, got {type(name).__name__} {name!r}")
    if _NAME.fullmatch(name) is None:
        raise ValueError(f"{what} must be an identifier (letters, digits and _), got {name!r}")
    return name


@lru_cache(1024)
def parse(text: str, what: str) -> tuple[TypedParameter, ...]:
    """The parameters that a string declares.

    Examples
    --------
    >>> [str(parameter) for parameter in parse("T x, raw float32 y", "in_params")]
    ['T x', 'raw float32 y']
    >>> parse("quux x", "in_params")
    Traceback (most recent call last):
    ...
    ValueError: in_params: 'quux x' has the type 'quux', which is no dtype of NumPy and no one-letter placeholder
    """
    result = []
    for piece in text.split(",") if text.strip() else ():
        words = [word for word in piece.split() if word != "const"]
        raw = bool(words) and words[0] == "raw"
        words = words[raw:]
        if len(words) != 2:
            raise ValueError(
                f"{what}: {piece.strip()!r} is no parameter: write 'type name', such as 'float32 x' or 'T x'"
            )
        kind, name = words
        if _NAME.fullmatch(name) is None or name in _RESERVED or name.startswith("_"):
            raise ValueError(
                f"{what}: {name!r} cannot name a parameter: it must be an identifier that does not start with _, "
                "and neither i nor a word of C++"
            )
        result.append(TypedParameter(name, kind, _code_of(kind, piece.strip(), what), raw))
    return tuple(result)


def _code_of(kind: str, piece: str, what: str) -> int:
    if len(kind) == 1 and kind.isascii() and kind.isalpha():
        return -1
    try:
        return code_of(np.dtype(kind))
    except TypeError as error:
        if "not supported" in str(error):
            raise TypeError(f"{what}: {piece!r}: {error}") from None
        raise ValueError(
            f"{what}: {piece!r} has the type {kind!r}, which is no dtype of NumPy and no one-letter placeholder"
        ) from None


def declared(in_params: Any, out_params: Any) -> tuple[tuple[TypedParameter, ...], tuple[TypedParameter, ...]]:
    """Parameters of a kernel; their names must differ."""
    for text, what in ((in_params, "in_params"), (out_params, "out_params")):
        if not isinstance(text, str):
            raise TypeError(f"{what} must be a string such as 'T x, float32 y', got {type(text).__name__} {text!r}")
    ins, outs = parse(in_params, "in_params"), parse(out_params, "out_params")
    seen: set[str] = set()
    for parameter in (*ins, *outs):
        if parameter.name in seen:
            raise ValueError(f"the name {parameter.name!r} is given to two parameters")
        seen.add(parameter.name)
    return ins, outs


class Arguments:
    """Arguments of one call, matched with the parameters.

    Attributes
    ----------
    ins : list
        Arrays and numbers (Python's, or NumPy's scalars).
    outs : list of ndarray or None
        Where results go.
    types : dict of str to int
        dtype codes of the placeholders.
    in_codes, out_codes : tuple of int
        dtype codes of the parameters.
    """

    __slots__ = ("in_codes", "ins", "out_codes", "outs", "types")

    def __init__(
        self, name: str, in_params: Sequence[TypedParameter], out_params: Sequence[TypedParameter], ins: Sequence[Any],
        outs: Sequence[Any], sized: bool = False,
    ) -> None:  # fmt: skip
        self.ins = [_argument(name, parameter, given) for parameter, given in zip(in_params, ins, strict=True)]
        self.outs = [_output(name, parameter, given, sized) for parameter, given in zip(out_params, outs, strict=True)]
        self.types: dict[str, int] = {}
        by: dict[str, TypedParameter] = {}
        pairs = [*zip(in_params, self.ins, strict=True), *zip(out_params, self.outs, strict=True)]
        weak: dict[str, list[tuple[TypedParameter, Any]]] = {}
        for parameter, given in pairs:
            if given is None:
                continue
            code = _strong(given)
            if code < 0:
                weak.setdefault(parameter.type, []).append((parameter, given))
            elif parameter.code >= 0:
                _check_fixed(name, parameter, given, code)
            elif self.types.setdefault(parameter.type, code) != code:
                first = by[parameter.type]
                raise TypeError(
                    f"kernel {name}: {parameter.type} is {DTYPES[self.types[parameter.type]]} by argument {first.name} "
                    f"and {DTYPES[code]} by argument {parameter.name}: convert one of them with astype, or declare "
                    "them with two placeholders"
                )
            by.setdefault(parameter.type, parameter)
        for kind, numbers in weak.items():
            if len(kind) == 1 and kind not in self.types:
                self.types[kind] = _default(given for _, given in numbers)
        for kind, numbers in weak.items():
            for parameter, given in numbers:
                code = parameter.code if parameter.code >= 0 else self.types[kind]
                _check_number(name, parameter, given, code)
        self.in_codes = self._codes(name, in_params)
        self.out_codes = self._codes(name, out_params)

    def _codes(self, name: str, parameters: Sequence[TypedParameter]) -> tuple[int, ...]:
        codes = []
        for parameter in parameters:
            code = parameter.code if parameter.code >= 0 else self.types.get(parameter.type, -1)
            if code < 0:
                raise TypeError(
                    f"kernel {name}: the type {parameter.type} of {parameter.name} follows from no argument: pass an "
                    f"array for {parameter.name}, or declare it with a dtype"
                )
            codes.append(code)
        return tuple(codes)

    def node(self, position: int) -> Node:
        """An input as a value of its parameter's dtype."""
        given, code = self.ins[position], self.in_codes[position]
        if type(given) is ndarray:
            return build.cast(node_of(given), code)
        return build.scalar_as(given.item() if isinstance(given, np.generic) else given, code)


def _argument(name: str, parameter: TypedParameter, given: Any) -> Any:
    if type(given) is ndarray or type(given) in (int, float, bool, complex) or isinstance(given, np.generic):
        if parameter.raw and type(given) is not ndarray:
            raise TypeError(f"kernel {name}: {parameter} needs an array, got {type(given).__name__} {given!r}")
        if isinstance(given, np.generic):
            code_of(given.dtype)
        return given
    if isinstance(given, (str, bytes, dict, set)) or given is None:
        raise TypeError(f"kernel {name}: {parameter} needs an array or a number, got {type(given).__name__} {given!r}")
    try:
        return asarray(given)
    except (TypeError, ValueError) as error:
        raise TypeError(f"kernel {name}: {parameter} needs an array or a number: {error}") from None


def _output(name: str, parameter: TypedParameter, given: Any, sized: bool) -> Any:
    if given is None:
        if parameter.raw and not sized:
            raise ValueError(f"kernel {name}: {parameter} is raw, so it must be given: pass an array, or size=")
        return None
    if type(given) is not ndarray:
        raise TypeError(
            f"kernel {name}: {parameter} is an output and needs a numloom array, got {type(given).__name__}"
        )
    if not given.writeable:
        raise read_only(given, f"kernel {name}: {parameter} is an output, and the array given")
    return given


def _strong(given: Any) -> int:
    """Dtype code of an argument; -1 for Python's numbers, which follow the others."""
    if type(given) is ndarray:
        code: int = given.code
        return code
    return code_of(given.dtype) if isinstance(given, np.generic) else -1


def _check_fixed(name: str, parameter: TypedParameter, given: Any, code: int) -> None:
    if code == parameter.code:
        return
    if type(given) is not ndarray and np.can_cast(DTYPES[code], DTYPES[parameter.code]):
        return
    raise TypeError(
        f"kernel {name}: {parameter} takes {DTYPES[parameter.code]}, got {DTYPES[code]}: convert it with "
        f"astype(numloom.{DTYPES[parameter.code]}), or declare it with a placeholder, such as 'T {parameter.name}'"
    )


def _default(numbers: Any) -> int:
    """Type of a placeholder that only Python's numbers stand for."""
    return code_of(np.result_type(*[np.asarray(number).dtype for number in numbers]))


def _check_number(name: str, parameter: TypedParameter, given: Any, code: int) -> None:
    """A Python number must not lose its kind in the parameter's dtype (NEP 50), nor be out of its range."""
    kind = {bool: "b", int: "i", float: "f", complex: "c"}[type(given)]
    target = KINDS[code].replace("u", "i")
    if _KINDS.index(kind) > _KINDS.index(target):
        raise TypeError(
            f"kernel {name}: {parameter} has dtype {DTYPES[code]} here, which cannot hold the {type(given).__name__} "
            f"{given!r}: convert the number, or the arrays with astype"
        )
    if kind == "i" and target == "i" and not np.iinfo(DTYPES[code]).min <= given <= np.iinfo(DTYPES[code]).max:
        raise OverflowError(f"kernel {name}: {parameter}: Python integer {given} out of bounds for {DTYPES[code]}")


__all__ = ["Arguments", "TypedParameter", "declared", "identifier", "parse"]
