"""Expressions of symbols whose extents are not known: what was called is noted, and called again when they are.

Whoever enters the package by a public function with such an expression comes to `note` (`numloom.base.tracebacks`).
"""

from __future__ import annotations

import inspect
import itertools
import operator
import sys
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from functools import wraps
from types import FunctionType
from typing import Any, TypeVar

import numpy as np

from numloom.array.convert import asarray
from numloom.array.ndarray import ndarray, node_of
from numloom.array.storage import new_storage
from numloom.base.nesting import deeper
from numloom.base.tracebacks import wait_for
from numloom.compiled.reading import as_now, read_by
from numloom.graph.node import SYMBOL, register

Array = Any
Function = TypeVar("Function", bound=Callable[..., Any])
_PACKAGE = __name__.partition(".")[0]
_made = itertools.count()
_values: ContextVar[dict[int, Any] | None] = ContextVar("_values", default=None)
"""What expressions are, while they are resolved: bodies of loops may read them."""

CURE = (
    "give the symbols their extents (nl.symbol('x', (3, 4))), or write it in a Python function f and call "
    "nl.compile(f), or nl.function([x], f) with the symbol x"
)
"""What always helps."""


class Deferred:
    """A call that waits for the shapes of symbols.

    Attributes
    ----------
    call : callable or None
        What is called; None of a symbol.
    args, options : tuple, dict
        With what: among them deferred expressions, also within lists and tuples. Arrays are those of this moment.
    number : int
        How many were made before it. In that order calls are made, so random numbers are drawn as the program says.
    name, extents
        Of a symbol: None where an extent is not known.
    """

    __array_priority__ = 2000.0
    is_deferred = True  # Users' kernels ask for it, which know no more of this class.
    exist = False
    """Whether there was a symbol with unknown extents: else nobody looks for such in arguments and functions."""
    __slots__ = ("__weakref__", "_dtype", "_form", "args", "call", "extents", "name", "number", "options")

    def __init__(self, call: Callable[..., Any] | None, args: tuple[Any, ...], options: dict[str, Any]) -> None:
        self.call = call
        self.args = _kept(args)
        self.options = _kept(options)
        self.number = next(_made)
        self.name = ""
        self.extents: tuple[int | None, ...] | None = None
        self._dtype: Any = None
        self._form: Any = None

    @classmethod
    def symbol(cls, name: str, extents: tuple[int | None, ...], dtype: np.dtype[Any]) -> Deferred:
        """A symbol with unknown extents."""
        begin()
        result = cls(None, (), {})
        result.name, result.extents, result._dtype = name, extents, dtype
        return result

    # ------------------------------------------------------------ what is known of it

    @property
    def shape(self) -> Any:
        """The extents: numbers where they are known, else expressions. Can be computed with, as all of them."""
        if self.extents is not None:
            return tuple([
                noted(_extent, self, axis, len(self.extents)) if extent is None else extent
                for axis, extent in enumerate(self.extents)
            ])  # fmt: skip
        try:
            rank = self.ndim
        except TypeError:
            return noted(getattr, self, "shape")
        return tuple([noted(_extent, self, axis, rank) for axis in range(rank)])

    @property
    def size(self) -> Any:
        """Number of elements, an expression."""
        return noted(getattr, self, "size")

    @property
    def ndim(self) -> int:
        """Number of axes.

        Raises
        ------
        TypeError
            Of an expression, if it could not be found out by trying some extents.
        """
        if self.extents is not None:
            return len(self.extents)
        return int(_array_form(self, "ndim")[1])

    @property
    def dtype(self) -> Any:
        """The dtype; of an expression found out by trying some extents, or a TypeError."""
        return self._dtype if self.call is None else _array_form(self, "dtype")[2]

    @property
    def T(self) -> Deferred:
        """With axes in reverse order."""
        return noted(np.transpose, self)

    def __getattr__(self, name: str) -> Any:
        if name in _PROPERTIES:
            return noted(getattr, self, name)
        if not name.startswith("_") and callable(getattr(np.ndarray, name, None)):
            if name in _LOOKS:
                raise TypeError(refusal(name, "needs numbers"))
            if name in _WRITES:
                raise TypeError(refusal(name, "writes to the array"))
            return _DeferredMethod(self, name)
        if not name.startswith("_") and self.call is not None:
            form = form_of(self)
            if form is not None and form[0] is tuple and name in form[2]:  # A namedtuple's field.
                return noted(getattr, self, name)
        raise AttributeError(f"an expression of symbols with unknown extents has no attribute {name!r}; {CURE}")

    # ------------------------------------------------------------ what it is not

    def __iter__(self) -> Iterator[Any]:
        form = None if self.call is None else form_of(self)
        if form is None or form[0] is not tuple:
            raise TypeError(
                f"{self!r} cannot be iterated over, since its length is not known: use nl.scan for its rows, or {CURE}"
            )
        return iter([self[place] for place in range(form[1])])

    def __len__(self) -> int:
        raise TypeError(
            f"len() must be a number, and that of {self!r} is not known: x.shape[0] can be computed with, or {CURE}"
        )

    def __bool__(self) -> bool:
        raise TypeError(
            f"whether {self!r} is true is not known yet: use nl.where, nl.ifelse or nl.while_loop, or {CURE}"
        )

    def _as_number(self) -> Any:
        raise TypeError(
            f"{self!r} is no number before a call: functions of {_PACKAGE} take it as one (nl.zeros((n, 3)), "
            f"nl.arange(n), x[:n]), those of Python and those of NumPy that make arrays do not; or {CURE}"
        )

    __float__ = __int__ = __index__ = __complex__ = _as_number

    def __array__(self, *args: Any, **options: Any) -> Any:
        raise TypeError(
            f"{self!r} has no numbers before a call, and what was asked needs them: use operators, methods and "
            f"functions of {_PACKAGE} and of NumPy, pass it as an argument, or {CURE}"
        )

    def __setitem__(self, index: Any, value: Any) -> None:
        raise TypeError(refusal("x[...] = value", "writes to the array") + "; nl.where(mask, value, x) gives another")

    __hash__ = object.__hash__

    # ------------------------------------------------------------ what is noted

    def __getitem__(self, index: Any) -> Any:
        return noted(operator.getitem, self, index)

    def __array_ufunc__(self, ufunc: Any, method: str, *inputs: Any, **options: Any) -> Any:
        if options.get("out") is not None:
            raise TypeError(refusal(ufunc.__name__, "writes to the array", "out="))
        if method == "__call__":
            return note(ufunc, inputs, options)
        if method == "at":
            raise TypeError(refusal(f"{ufunc.__name__}.at", "writes to the array"))
        return note(_of_ufunc, (ufunc, method, *inputs), options)

    def __array_function__(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        return note(function, args, options)

    def __repr__(self) -> str:
        if self.extents is not None:
            return f"<symbol {self.name} {self._dtype.name}{list(self.extents)}>"
        if self.call is _extent:
            return f"<extent {self.args[1]} of {self.args[0]!r}>"
        return f"<deferred {_name_of(self.call, self.args)}>"


_PROPERTIES = frozenset(("real", "imag", "mT", "flat", "nbytes", "itemsize"))
_WRITES = frozenset((
    "copyto", "fill", "fill_diagonal", "itemset", "partition", "place", "put", "put_along_axis", "putmask", "resize",
    "setfield", "setflags", "shuffle", "sort", "put_in_place", "sort_in_place", "partition_in_place", "set_value",
))  # fmt: skip
"""Methods (and those functions that no method is named like) that write to their first argument."""
_WRITING_FUNCTIONS = _WRITES - {"partition", "resize", "sort"}
_LOOKS = frozenset((
    "array2string", "array_repr", "array_str", "asnumpy", "ascuda", "compare", "dump", "dumps", "evaluate", "explain",
    "get", "item", "save", "savetxt", "savez", "savez_compressed", "to_device", "toDlpack", "tobytes", "tofile",
    "tolist",
))  # fmt: skip
_ASKS_FORMS = frozenset(("can_cast", "common_type", "iscomplexobj", "isrealobj", "ndim", "result_type"))
"""Functions that look at ranks and dtypes alone, so that they are answered at once."""
_CLASSES = frozenset((
    "ndarray", "ufunc", "Power", "Generator", "RandomState", "ElementwiseKernel", "ReductionKernel", "operation",
    "vectorize", "Function", "Compiled", "_Gradient", "Mapped", "Distributions", "Orders", "SpecialFunction", "Series",
))  # fmt: skip
"""Classes whose methods give arrays that follow from their arguments."""


def refusal(name: str, what: str, how: str = "") -> str:
    """The words for what cannot be noted."""
    given = f" with {how}" if how else ""
    return f"{name}{given} {what}, which expressions of symbols with unknown extents have no meaning for: {CURE}"


def _name_of(call: Any, args: tuple[Any, ...] = ()) -> str:
    if call is _called or call is _of_ufunc:
        return str(args[1])
    return str(getattr(call, "__name__", None) or type(call).__name__)


def note(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> Any:
    """A call of a public function or method, for later; a TypeError with the cure where that cannot be.

    While expressions are resolved it is made: then it is a loop's body that reads expressions from outside.
    """
    values = _values.get()
    if values is not None:
        parts = parts_of([args, options])
        known = _resolve(parts, dict(values))
        return _ours(function)(*_replaced(args, known), **_replaced(options, known))
    _refuse_unnoted(function, args, options)
    if _name_of(function, args) in _ASKS_FORMS:
        return _ours(function)(*_mapped(args, _alike), **_mapped(options, _alike))
    return Deferred(function, args, options)


def _alike(value: Any, depth: int = 0) -> Any:
    """An array of the same rank and dtype in the place of an expression."""
    if isinstance(value, Deferred):
        return asarray(np.zeros((1,) * value.ndim, value.dtype))
    return _mapped(value, _alike, depth) if isinstance(value, (list, tuple)) else value


def noted(function: Callable[..., Any], *args: Any) -> Any:
    """A call of what needs no looking at, for later."""
    if _values.get() is not None:
        return note(function, args, {})
    return Deferred(function, args, {})


def _refuse_unnoted(function: Callable[..., Any], args: tuple[Any, ...], options: dict[str, Any]) -> None:
    """Refuse calls that do more than give arrays."""
    path = getattr(function, "__qualname__", "") or ""
    kind, _, name = path.rpartition(".")
    module = getattr(function, "__module__", "") or ""
    name = name or _name_of(function)
    shown = f"{kind}.{name}" if kind and "<" not in kind else name
    owner = kind.rpartition(".")[2]
    if kind and "<locals>" not in kind and module.startswith(_PACKAGE):
        special = name.startswith("__") and name not in ("__call__", "__getitem__", "__matmul__", "__rmatmul__")
        if owner not in _CLASSES or special:
            raise TypeError(refusal(owner if name == "__init__" else shown, "is no function that gives arrays alone"))
        if name in _WRITES or name == "at":
            raise TypeError(refusal(shown, "writes to the array"))
    elif name in _WRITING_FUNCTIONS:
        raise TypeError(refusal(shown, "writes to the array"))
    if name in _LOOKS or module.startswith((f"{_PACKAGE}.testing", "numpy.testing")):
        raise TypeError(refusal(shown, "needs numbers"))
    if module.startswith("numpy") and not isinstance(function, np.ufunc) and _found(function) is None:
        raise TypeError(f"{_PACKAGE} has no {shown}, so it cannot be called for {_PACKAGE}'s symbols")
    out = options.get("out")
    if out is None and len(args) > 1:
        try:
            out = inspect.signature(function).bind_partial(*args, **options).arguments.get("out")
        except (TypeError, ValueError):
            out = None  # What is wrong with the arguments is said by the function; or nothing is known of them.
        if name == "_general":  # A ufunc's: outputs stand behind its inputs.
            ufunc, given = args[0], args[1]
            out = out if out is not None else given[ufunc.nin :] or None
    if out is not None and not (isinstance(out, tuple) and all([one is None for one in out])):
        raise TypeError(refusal(shown, "writes to the array", "out="))


class _DeferredMethod:
    def __init__(self, source: Deferred, name: str) -> None:
        self.source = source
        self.name = name

    def __call__(self, *args: Any, **options: Any) -> Any:
        if options.get("out") is not None or (self.name == "byteswap" and (args or options)):
            raise TypeError(refusal(self.name, "writes to the array", "out=" if "out" in options else "inplace="))
        return note(_called, (self.source, self.name, *args), options)


def _called(source: Any, name: str, *args: Any, **options: Any) -> Any:
    return getattr(source, name)(*args, **options)


def _of_ufunc(ufunc: Any, method: str, *args: Any, **options: Any) -> Any:
    return getattr(_ours(ufunc), method)(*args, **options)


def _extent(array: Any, axis: int, rank: int) -> int:
    """An extent of what has this rank, as was said when it was asked for."""
    if array.ndim != rank:
        raise TypeError(
            f"an expression was taken to have {rank} axes, and has {array.ndim} for these arguments: its rank "
            f"follows from extents, so write it in a Python function f, and use nl.compile(f)"
        )
    return int(array.shape[axis])


def _operator(function: Callable[..., Any], swapped: bool = False) -> Any:
    if swapped:
        return lambda self, other: noted(function, other, self)
    return lambda self, *others: noted(function, self, *others)


for _name in (
    "add",
    "sub",
    "mul",
    "truediv",
    "floordiv",
    "mod",
    "pow",
    "matmul",
    "and",
    "or",
    "xor",
    "lshift",
    "rshift",
):
    _function = getattr(operator, {"and": "and_", "or": "or_"}.get(_name, _name))
    setattr(Deferred, f"__{_name}__", _operator(_function))
    setattr(Deferred, f"__r{_name}__", _operator(_function, True))
for _name in ("neg", "pos", "abs", "invert", "lt", "le", "eq", "ne", "gt", "ge"):
    setattr(Deferred, f"__{_name}__", _operator(getattr(operator, _name)))
setattr(Deferred, "__divmod__", _operator(divmod))  # noqa: B010  (as those above)
setattr(Deferred, "__rdivmod__", _operator(divmod, True))  # noqa: B010
setattr(Deferred, "__round__", _operator(round))  # noqa: B010


# ---------------------------------------------------------------- arguments


def as_it_is(array: Array) -> Array:
    """What an array holds now, in the same order, whoever writes to it later."""
    if array.storage.pins:
        return array.copy("K")
    found = array.view()
    found.storage = new_storage(array.storage.value)
    return found


def _kept(value: Any, depth: int = 0) -> Any:
    """Arguments as they are now: who writes to an array, a list or a name later changes no expression."""
    if isinstance(value, Deferred):
        return value
    if type(value) is ndarray:
        return value if node_of(value).kind == SYMBOL else as_it_is(value)
    if isinstance(value, np.ndarray):
        return value.copy("K")
    if callable(value):
        return as_now(value, _kept)
    return _mapped(value, _kept, depth) if isinstance(value, (list, tuple, dict, slice)) else value


def _mapped(value: Any, change: Callable[[Any, int], Any], depth: int = 0) -> Any:
    """A list, tuple, dict or slice with other parts."""
    depth = deeper(depth)
    if isinstance(value, dict):
        return {name: change(item, depth) for name, item in value.items()}
    if isinstance(value, slice):
        return slice(change(value.start, depth), change(value.stop, depth), change(value.step, depth))
    parts = [change(item, depth) for item in value]
    return type(value)(*parts) if hasattr(value, "_fields") else type(value)(parts)


def parts_of(value: Any, depth: int = 0) -> list[Deferred]:
    """Deferred expressions among arguments, also within lists, tuples, dicts and slices, and read by functions."""
    if isinstance(value, Deferred):
        return [value]
    if callable(value):
        inner = getattr(value, "__wrapped__", value)  # Of gradients of functions, and of decorated ones.
        if not Deferred.exist or type(inner) is not FunctionType:
            return []
        return [one for one in read_by(inner) if isinstance(one, Deferred)]
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, slice):
        value = [value.start, value.stop, value.step]
    if isinstance(value, (list, tuple)):
        depth = deeper(depth)
        return [part for item in value for part in parts_of(item, depth)]
    return []


def all_parts(root: Deferred) -> list[Deferred]:
    """An expression and all that it is made of."""
    found: dict[int, Deferred] = {}
    stack = [root]
    while stack:
        part = stack.pop()
        if id(part) not in found:
            found[id(part)] = part
            stack += parts_of([part.args, part.options])
    return list(found.values())


def symbols_of(root: Deferred) -> list[Deferred]:
    """The symbols that an expression is made of."""
    return [part for part in all_parts(root) if part.call is None]


def expressions_in(value: Any) -> bool:
    """Whether a call with these arguments is to be noted, also where a function reads an expression from outside."""
    return Deferred.exist and _values.get() is None and bool(parts_of(value))


def reading(function: Function) -> Function:
    """A public function that takes functions, and is noted where these read expressions from outside."""

    @wraps(function)
    def call(*args: Any, **options: Any) -> Any:
        return note(function, args, options) if expressions_in([args, options]) else function(*args, **options)

    return call  # type: ignore[return-value]


def resolved(roots: Any, known: dict[int, Array]) -> Any:
    """Expressions as arrays: `known` has an array for each symbol's identity; lists, tuples and dicts of them, too.

    What was computed stands in `known` then, so that no call is made twice.
    """
    return _replaced(roots, _resolve(parts_of(roots), known))


class _Apart:
    """Expressions and symbols which a call takes as they are."""

    def __init__(self, roots: Any, symbols: list[Deferred]) -> None:
        self.roots = roots
        self.symbols = symbols


def _over(apart: _Apart, values: list[Any]) -> Any:
    """Expressions over these values of their symbols."""
    return resolved(apart.roots, {id(old): new for old, new in zip(apart.symbols, values, strict=True)})


def substituted(roots: Any, pairs: list[tuple[Deferred, Any]]) -> Any:
    """Expressions over other values of symbols: arrays where all are known then, else expressions again."""
    becomes = {one: one for part in parts_of(roots) for one in symbols_of(part)} | dict(pairs)
    apart, values = _Apart(roots, list(becomes)), list(becomes.values())
    if not parts_of(values):
        return _over(apart, values)
    later = noted(_over, apart, values)
    return [later[place] for place in range(len(roots))] if isinstance(roots, (list, tuple)) else later


def refuse_unknown(name: str, arrays: Any) -> None:
    """Refuse what needs extents, with the way to give them."""
    for part in parts_of(arrays):
        unknown = [one for one in symbols_of(part) if one.extents is not None]
        one = unknown[0] if unknown else part
        shape = tuple([3 if extent is None else extent for extent in one.extents or ()])
        raise TypeError(
            f"{name} needs extents, and those of {part!r} are not known: write nl.{name}(nl.substitute(y, "
            f"({one.name}, nl.symbol({one.name!r}, {shape})))), or give extents to symbols from the "
            "beginning; nl.compile(f) takes a Python function of any"
        )


def _resolve(parts: list[Deferred], values: dict[int, Any]) -> dict[int, Any]:
    """Make the calls that expressions wait for, in the order in which they were noted."""
    needed: dict[int, Deferred] = {}
    stack = list(parts)
    while stack:
        part = stack.pop()
        if id(part) in values or id(part) in needed:
            continue
        if part.call is None:
            raise TypeError(f"{part.name} is a symbol that is no input of the function")
        needed[id(part)] = part
        stack += parts_of([part.args, part.options])
    token = _values.set(values)
    try:
        for part in sorted(needed.values(), key=lambda one: one.number):
            args, options = _replaced(part.args, values), _replaced(part.options, values)
            values[id(part)] = _ours(part.call)(*args, **options)  # type: ignore[arg-type]
    finally:
        _values.reset(token)
    return values


def _replaced(value: Any, values: dict[int, Any], depth: int = 0) -> Any:
    if isinstance(value, Deferred):
        return values[id(value)]
    if isinstance(value, (list, tuple, dict, slice)):
        return _mapped(value, lambda item, inside: _replaced(item, values, inside), depth)
    return value


def _found(function: Callable[..., Any]) -> Callable[..., Any] | None:
    """The package's function of a NumPy function's name, if there is one."""
    module = "numpy" if isinstance(function, np.ufunc) else getattr(function, "__module__", "") or ""
    home: Any = sys.modules[_PACKAGE]
    for part in module.split(".")[1:]:
        home = getattr(home, part, home)
    return getattr(home, function.__name__, None)


def _ours(function: Callable[..., Any]) -> Callable[..., Any]:
    """What is called for arrays of ours: NumPy's functions are those of the same name."""
    module = getattr(function, "__module__", "") or ""
    if isinstance(function, np.ufunc):
        return _found(function) or function  # SciPy's ask our arrays.
    return (_found(function) or function) if module.startswith("numpy") else function


# ---------------------------------------------------------------- what expressions are, by trying


PROBES = 24
"""Combinations of extents that are tried."""
_prober: list[Callable[[Deferred, dict[int, tuple[int, ...]]], Any]] = []


def set_prober(function: Callable[[Deferred, dict[int, tuple[int, ...]]], Any]) -> None:
    """Say what records an expression for extents of its symbols, and runs nothing."""
    _prober[:] = [function]


def form_of(root: Deferred) -> Any:
    """What an expression gives: (array, rank, dtype), (tuple, length, names of fields), or None where nobody knows.

    It is recorded for some extents, of which all that fit must agree.
    """
    if root._form is None:
        root._form = (_probed(root),)
    return root._form[0]


def _probed(root: Deferred) -> Any:
    symbols = {id(part): part for part in symbols_of(root)}
    extents = {one for part in symbols.values() for one in part.extents or () if one}
    for part in all_parts(root):
        extents.update(_extents_in([part.args, part.options]))
    unknown = [(key, axis) for key, one in symbols.items() for axis, e in enumerate(one.extents or ()) if e is None]
    candidates = list(dict.fromkeys([3, 4, *sorted(extents)[:4], 2, 1]))
    alike = [(one,) * len(unknown) for one in candidates]
    tries = itertools.islice(itertools.product(candidates, repeat=len(unknown)), PROBES)
    forms: list[Any] = []
    for chosen in dict.fromkeys([*alike, *tries]):
        told = dict(zip(unknown, chosen, strict=True))
        shapes = {
            key: tuple([told.get((key, axis), extent) for axis, extent in enumerate(one.extents or ())])
            for key, one in symbols.items()
        }
        try:
            forms.append(_described(_prober[0](root, shapes)))  # type: ignore[arg-type]
        except Exception:
            continue  # These extents do not fit each other.
    return forms[0] if forms and all([one == forms[0] for one in forms]) else None


def _extents_in(value: Any, depth: int = 0) -> list[int]:
    if isinstance(value, (ndarray, np.ndarray)):
        return [extent for extent in value.shape if extent]
    if isinstance(value, (list, tuple)):
        depth = deeper(depth)
        return [one for item in value for one in _extents_in(item, depth)]
    return _extents_in(list(value.values()), depth) if isinstance(value, dict) else []


def _described(value: Any) -> Any:
    if isinstance(value, tuple):
        return tuple, len(value), tuple(getattr(value, "_fields", ()))
    if isinstance(value, list):
        return tuple, len(value), ()
    if isinstance(value, (bool, int, float, complex)):
        return ndarray, 0, np.asarray(value).dtype
    return ndarray, value.ndim, value.dtype


def _array_form(root: Deferred, name: str) -> Any:
    form = form_of(root)
    if form is None or form[0] is tuple:
        raise TypeError(f"the {name} of {root!r} is not known before a call: {CURE}")
    return form


def begin(number: int = -1) -> None:
    """Have calls looked at from now on, since there are such expressions, some with numbers up to this one."""
    global _made
    if number >= 0:
        _made = itertools.count(max(number, next(_made)) + 1)
    if not Deferred.exist:
        Deferred.exist = register.trees = register.symbols = True
        wait_for(Deferred, note)


__all__ = [
    "Deferred",
    "as_it_is",
    "begin",
    "expressions_in",
    "form_of",
    "note",
    "noted",
    "parts_of",
    "reading",
    "refusal",
    "refuse_unknown",
    "resolved",
    "set_prober",
    "substituted",
    "symbols_of",
]
