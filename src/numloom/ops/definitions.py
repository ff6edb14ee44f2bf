"""Op definitions: what one operation declares, and everything else is derived from.

C++ text is a template whose ``{0}``, ``{1}``, ... stand for argument values and ``{T}`` for the
C++ type of the result. Values of float16, bfloat16 and float8 (`numloom.base.dtypes.ROUNDED`) travel
between operations as ``float`` that holds a number of theirs: a definition's text for them is its text for
float32, and whoever emits wraps the result in ``nl::round_f16(...)``, ``nl::round_bf16(...)``, ... All
other dtypes travel as their own C++ type.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from numloom.base.dtypes import DTYPES, KIND, LOW
from numloom.ops.identities import Identities

_LOW = frozenset(DTYPES[code] for code in LOW)


def is_low(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is one of ml_dtypes' floats, which are computed in float32."""
    return dtype in _LOW


def is_rounded(dtype: np.dtype[Any]) -> bool:
    """Whether a dtype is float16 or one of those."""
    return dtype == np.float16 or dtype in _LOW


@dataclass(frozen=True, slots=True, eq=False)
class OpDef:
    """An elementwise operation: `nin` values of the loop dtypes to one value.

    Attributes
    ----------
    name : str
        NumPy's name of the ufunc (or ours where NumPy has none).
    nin : int
        Number of arguments.
    numpy : callable
        NumPy twin: takes `nin` arrays of the loop dtypes and gives the result array.
    text : callable
        ``text(in_chars, out_char)`` gives the C++ template for one loop, by dtype characters
        (see `numloom.base.dtypes.CHARS`).
    ufunc : numpy.ufunc or None
        Asked for type resolution (`resolve_dtypes`); None where `loops` says it.
    cost : int
        Instructions an element on the device, about; the planner weighs with it.
    exact : bool
        Whether NumPy's bits are ours for every loop that is not complex, so that NumPy may run
        small work; callable definitions may depend on the dtype, see `is_exact`.
    headers : tuple of str
        Names of prelude headers that the text needs besides the basic ones (`include/NAME.hpp`).
    id : int
        Index in the table, part of plan keys.
    preamble : tuple of str
        C++ that the text needs besides headers, such as functions with a user's text; a kernel has each of them once.
    quotient : bool
        Whether the result is the first argument divided by the second, as C++ divides numbers of one type.
    represents : bool
        Whether the result follows from how numbers are represented, so that it is not that of wider floats.
    fast_path : str
        Kinds ("f", "c") for which the text is a function that takes ``slow`` as one more argument on the host: then it
        is right for ordinary arguments in fewer instructions, and says where one was not (see `fast_text`).
    looped : str
        Kinds for which the package has a loop of it although NumPy's bits are ours: NumPy takes many calls, or a slow
        one.
    gradient : tuple of str or None
        The rule of its derivative, a text for each argument (`numloom.ops.derivatives`); None where nobody gave one.
    names : tuple of str
        What its result and its arguments are called in these texts, if not y, a, b, c, ...
    identities : mapping of str to str
        Exact identities that hold of it, with the kinds of its first argument (`numloom.ops.identities`).
    recipe : tuple or None
        Of a user's operation, what makes it again elsewhere: a function and its arguments.
    """

    name: str
    nin: int
    numpy: Callable[..., Any]
    text: Callable[[str, str], str]
    ufunc: np.ufunc | None = None
    cost: int = 1
    exact: bool = True
    headers: tuple[str, ...] = ()
    id: int = -1
    exact_kinds: str = "?biufc"
    loops: Callable[[tuple[np.dtype[Any], ...]], tuple[np.dtype[Any], ...]] | None = None
    preamble: tuple[str, ...] = ()
    quotient: bool = False
    fast_path: str = ""
    represents: bool = False
    looped: str = ""
    gradient: tuple[str, ...] | None = None
    names: tuple[str, ...] = ()
    identities: Identities = field(default_factory=dict)
    recipe: Any = None

    def on_host(self, args: Sequence[Any], dtype: np.dtype[Any]) -> Any:
        """What NumPy gives for arrays of the loop dtypes, as `dtype`: floats of ml_dtypes are computed in float32.

        So sums of theirs are not rounded on the way, and functions are those of all other floats.
        """
        if not self.represents and any([is_low(arg.dtype) for arg in args]):
            args = [arg.astype(np.float32) if is_low(arg.dtype) else arg for arg in args]
        value = self.numpy(*args)
        return value if value.dtype == dtype else value.astype(dtype)

    def fast_text(self, in_chars: str, out_char: str) -> str:
        """The C++ template for loops that do all again where ``slow`` was set."""
        text = self.text(in_chars, out_char)
        return f"{text[:-1]}, slow)" if KIND[in_chars[0]] in self.fast_path else text

    def is_exact(self, in_chars: str) -> bool:
        """Whether NumPy's result for these loop dtypes has the same bits as our kernels'."""
        return self.exact and all(KIND[char] in self.exact_kinds for char in in_chars)

    def is_numpys(self, in_chars: str) -> bool:
        """Whether NumPy does small work of these loop dtypes: its bits are ours, and the package has no loop."""
        return self.is_exact(in_chars) and not any(KIND[char] in self.looped for char in in_chars)


@dataclass(frozen=True, slots=True, eq=False)
class ReductionDef:
    """A reduction: map each element to an accumulator, combine accumulators, finalize to the result.

    Attributes
    ----------
    name : str
        "sum", "prod", "min", "max", "any", "all", "argmin", "argmax", "mean", "var", ...
    accumulator : callable
        ``accumulator(char)`` gives the C++ type that is combined, for input dtype `char`
        (float16 input is carried in float).
    identity : callable
        ``identity(char)`` gives the C++ expression of the neutral accumulator. Combining with it
        changes no bits (-0.0 for floating sums), so that padding a tree is free.
    map, combine, finalize : str
        C++ templates: map uses {x} (value) and {index} (i64 position in C order over the reduced
        axes); combine uses {a}, {b}, `a` being the earlier one; finalize uses {a} and {n} (i64
        count of reduced elements) and gives the result type {T}.
    numpy : callable
        ``numpy(x, axis, keepdims)`` reference for one call on host arrays (tolerance oracle).
    out_char : callable
        Result dtype character by input character, after the input was cast to the
        accumulation dtype.
    run : str or None
        If given, the C++ name of a function ``accumulator run(const T* x, int count)`` that makes one
        accumulator of up to 16 values at once (var), instead of map and combine for each.
    preamble : tuple of str
        As of `OpDef`.
    better : str
        For reductions that find a position: the C++ comparison by which an element takes another's place.
    pair : str
        The operation (`OpDef`) that combines two elements as this does, if there is one.
    idempotent : bool
        Whether an element may be taken twice: that changes no result.
    gradient : str or None
        The rule of its derivative (`numloom.ops.derivatives`); None where nobody gave one.
    of_inputs : tuple of str or None
        Of a user's kernel, the rule by the arguments of the operation that maps elements, a text for each.
    names : tuple of str
        What the result and these arguments are called in these texts.
    recipe : tuple or None
        As of `OpDef`.
    """

    name: str
    accumulator: Callable[[str], str]
    identity: Callable[[str], str]
    map: str
    combine: str
    finalize: str
    numpy: Callable[..., Any]
    out_char: Callable[[str], str]
    headers: tuple[str, ...] = ()
    run: str | None = None
    commutative: bool = True
    has_identity: bool = True
    idempotent: bool = False
    id: int = -1
    preamble: tuple[str, ...] = ()
    better: str = ""
    pair: str = ""
    gradient: str | None = None
    of_inputs: tuple[str, ...] | None = None
    names: tuple[str, ...] = ()
    recipe: Any = None

    def combined(self, char: str, a: str, b: str) -> str:
        """C++ that combines two accumulators of elements of dtype `char`.

        The greater of two truth values is said as one of them: of the comparison GCC 12 makes vectors in which what is
        true is 255, and stores that.
        """
        template = _OF_TRUTHS.get(self.name, self.combine) if char == "?" else self.combine
        return template.replace("{a}", a).replace("{b}", b)


_OF_TRUTHS = {"max": "({a} | {b})", "fmax": "({a} | {b})", "min": "({a} & {b})", "fmin": "({a} & {b})"}
