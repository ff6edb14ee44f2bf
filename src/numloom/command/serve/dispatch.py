"""Every call of a function of the namespace: by numloom, or by NumPy where numloom has none or refuses."""

from __future__ import annotations

import inspect
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.array.ndarray import ndarray
from numloom.base.dtypes import DTYPES
from numloom.base.errors import DeviceError
from numloom.command.serve.crossing import (
    HOST,
    ODD,
    OURS,
    PLAIN,
    Crossing,
    asked,
    begin_again,
    kind_of,
    kinds_of,
    numpy_function,
    odd_one,
)
from numloom.command.serve.ledger import NUMBERS, NUMLOOM, NUMPY, SMALL, Calls, Ledger
from numloom.command.serve.program import ServedProgram

FALLBACKS = ("error", "warn", "quiet")

VIEWS = frozenset((
    "array", "array_split", "asanyarray", "asarray", "asarray_chkfinite", "ascontiguousarray", "asfortranarray",
    "asmatrix", "astype", "atleast_1d", "atleast_2d", "atleast_3d", "broadcast_arrays", "broadcast_to", "diag",
    "diagonal", "dsplit", "einsum", "expand_dims", "flip", "fliplr", "flipud", "from_dlpack", "frombuffer", "hsplit",
    "imag", "ix_", "lib.stride_tricks.as_strided", "lib.stride_tricks.broadcast_arrays",
    "lib.stride_tricks.broadcast_to", "lib.stride_tricks.sliding_window_view", "linalg.diagonal",
    "linalg.matrix_transpose", "matrix_transpose", "may_share_memory", "meshgrid", "moveaxis", "nan_to_num",
    "permute_dims", "ravel", "real", "real_if_close", "require", "reshape", "rollaxis", "rot90", "shares_memory",
    "split", "squeeze", "swapaxes", "transpose", "trim_zeros", "unstack", "vsplit",
))  # fmt: skip
"""Functions whose result may share the memory of a NumPy array that they are given, or tells whether arrays do."""

WRITES = frozenset((
    "copyto", "fill_diagonal", "nan_to_num", "place", "put", "put_along_axis", "putmask", "random.shuffle",
    "Generator.shuffle", "RandomState.shuffle",
))  # fmt: skip
"""Functions that write their first argument, always or when they are told to."""

ON_NUMBERS = frozenset((
    "all", "allclose", "amax", "amin", "angle", "any", "argmax", "argmin", "around", "array_equal", "array_equiv",
    "average", "clip", "count_nonzero", "dot", "fix", "imag", "inner", "interp", "isclose", "iscomplexobj",
    "isrealobj", "max", "mean", "median", "min", "nan_to_num", "nanargmax", "nanargmin", "nanmax", "nanmean",
    "nanmedian", "nanmin", "nanpercentile", "nanprod", "nanquantile", "nanstd", "nansum", "nanvar", "percentile",
    "prod", "ptp", "quantile", "real", "round", "sinc", "size", "std", "sum", "trapezoid", "var", "vdot",
    "linalg.norm", "linalg.det", "polyval", "isscalar", "ndim", "shape",
))  # fmt: skip
"""Functions that NumPy answers for numbers and lists of numbers: the answer is a number, and nothing is on a device."""

CALLS = frozenset(("apply_along_axis", "apply_over_axes", "fromfunction", "mask_indices", "piecewise"))
"""Functions that call the program's, once for the same parts in the same order as NumPy's do."""

NUMBER_TYPES = frozenset((bool, int, float, complex, *(dtype.type for dtype in DTYPES)))

UNSAID = "numbers"
STAYS = "the result may be a view of a NumPy array; np.array(...) copies it to the device"
WRITTEN = "it writes into what is no numloom array"
_BY_RULE = frozenset((UNSAID, STAYS, WRITTEN))
"""Reasons that are no lack of numloom."""


def told(error: Exception) -> str:
    """What an error says, in short."""
    text = str(error).partition("\n")[0].partition(": ")[0].partition(";")[0]
    return text if len(text) < 100 else f"{text[:97]}..."


class FallbackError(RuntimeError):
    """NumPy had to do what numloom cannot, and the program was run with ``--fallback error``."""


class Dispatcher:
    """Answers the calls of one program.

    Parameters
    ----------
    program : ServedProgram
        Whose calls they are.
    fallback : {"quiet", "warn", "error"}
        What is done where NumPy has to answer: nothing but counting, a warning too, or `FallbackError`.
    """

    def __init__(self, program: ServedProgram, fallback: str = "quiet") -> None:
        self.program = program
        self.fallback = fallback
        self.ledger = Ledger(program)

    def call(self, function: ServedFunction, args: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """One call of a function of the namespace."""
        __tracebackhide__ = True  # IPython shows the program's frames and NumPy's
        ledger = self.ledger
        kinds = kinds_of(args) | (kinds_of(options.values()) if options else 0)
        if kinds & (HOST | ODD) and not kinds & OURS and not self.program.is_calling():
            # A library was given our function as a callback: it gets NumPy's arrays for its own.
            return function.numpy(*args, **options)
        start = time.perf_counter()
        ledger.depth += 1
        reason = function.refusal(kinds, args, options)
        if not reason and function.name in CALLS:
            args, options = asked(args), {name: asked(value) for name, value in options.items()}
        try:
            if not reason:
                try:
                    result = function.ours(*args, **options)
                except Exception as error:
                    reason = self.refused(error)
                    if not reason:
                        raise
            if reason:
                return self.instead(function, reason, start, args, options)
        finally:
            ledger.depth -= 1
        ledger.random = ledger.random or function.draws
        ledger.call(function.name, NUMLOOM, time.perf_counter() - start, nested=ledger.depth > 0)
        if type(result) is ndarray:
            ledger.result(result.size)
        return result

    def instead(
        self, function: ServedFunction, reason: str, start: float, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """NumPy's answer to a call that has begun: numloom has none, for this reason."""
        __tracebackhide__ = True
        ledger, where = self.ledger, NUMBERS if reason == UNSAID else NUMPY
        result = self._through_numpy(function, reason, args, options)
        seconds = time.perf_counter() - start
        ledger.call(function.name, where, seconds, reason if where is NUMPY else "", nested=ledger.depth > 1)
        if type(result) is ndarray:
            ledger.result(result.size)
        return result

    def refused(self, error: Exception) -> str:
        """Why NumPy is to answer after numloom has raised this; empty if it would not do better."""
        return "" if self._is_final(error) else f"numloom refused: {told(error)}"

    def _is_final(self, error: Exception) -> bool:
        """Whether NumPy would not do better: what data or the program's own code raised, and lack of memory.

        An index out of range may have been recorded before, and be told only once.
        """
        if isinstance(error, (MemoryError, DeviceError, np.linalg.LinAlgError, FallbackError, Warning)):
            return True
        if type(error) is IndexError:
            return True
        trace = error.__traceback__
        while trace is not None:
            if self.program.owns(trace.tb_frame.f_globals):
                return True
            trace = trace.tb_next
        return False

    def _through_numpy(
        self, function: ServedFunction, reason: str, args: tuple[Any, ...], options: dict[str, Any]
    ) -> Any:
        """NumPy's answer, with our arrays as NumPy's going in, and NumPy's as ours coming out."""
        __tracebackhide__ = True
        begin_again([*args, *options.values()])
        crossing = Crossing(function.written(args, options))
        result = function.numpy(*crossing.out(args), **crossing.out(options))
        crossing.write_back()
        result = crossing.back(result, views=function.name in VIEWS)
        if crossing.frozen:
            self.ledger.frozen[self.program.line()] += 1
        if reason not in _BY_RULE and function.is_wanted:
            self.tell(function.name, reason)
        return result

    def tell(self, name: str, reason: str) -> None:
        """Say that NumPy answered, as the program was asked to be run."""
        if self.fallback == "error":
            raise FallbackError(f"numpy.{name} ran in NumPy, not in numloom: {reason}")
        if self.fallback == "warn":
            frame = self.program.caller()[1]
            if frame is not None:
                warnings.warn_explicit(
                    f"numpy.{name} ran in NumPy, not in numloom: {reason}",
                    RuntimeWarning,
                    frame.f_code.co_filename,
                    frame.f_lineno,
                    registry=frame.f_globals.setdefault("__warningregistry__", {}),
                )


class ServedFunction:
    """A function of the namespace, by its dotted name: numloom's, and NumPy's for what it refuses.

    Parameters
    ----------
    dispatcher : Dispatcher
        Who answers.
    name : str
        As "linalg.norm".
    ours, numpy : callable
        The two; `ours` is None where numloom has none.
    by_nature : str
        Why NumPy answers, where that is as it should be.
    """

    def __init__(
        self, dispatcher: Dispatcher, name: str, ours: Callable[..., Any] | None, numpy: Any, by_nature: str = ""
    ) -> None:
        self.name = name
        self.ours: Any = ours
        self.numpy = numpy
        self.is_wanted = not by_nature
        self._missing = by_nature or f"numloom has no {name}"
        self._dispatcher = dispatcher
        self._writes = name in WRITES or name.endswith(".at")
        self._on_numbers = isinstance(numpy, np.ufunc) or name in ON_NUMBERS
        self.draws = name.partition(".")[0] in ("random", "Generator", "RandomState")
        self._is_quick = ours is not None and not self._writes and not self.draws and name not in CALLS
        self._ledger = dispatcher.ledger
        self._calls: Calls | None = None
        self._places: dict[str, int] | None = None
        self.__name__ = getattr(numpy, "__name__", name.rpartition(".")[2])
        self.__qualname__ = getattr(numpy, "__qualname__", self.__name__)
        self.__module__ = getattr(numpy, "__module__", None) or "numpy"
        self.__doc__ = getattr(numpy, "__doc__", None)
        self.__wrapped__ = numpy

    def __call__(self, *args: Any, **options: Any) -> Any:
        __tracebackhide__ = True
        if self._on_numbers and not options:
            for value in args:
                if type(value) not in NUMBER_TYPES:
                    break
            else:  # the same as below, at a tenth of the time
                self._dispatcher.ledger.calls[self.name].count[NUMBERS] += 1
                return self.numpy(*args)
        kinds = kinds_of(options.values()) if options else 0
        for value in args:
            kind = type(value)
            if kind is ndarray:
                kinds |= OURS
            elif kind not in PLAIN:
                kinds |= kind_of(value)
        if kinds > OURS or not self._is_quick or (self._on_numbers and not kinds):
            return self._dispatcher.call(self, args, options)
        # `call` where nothing speaks against numloom, in two thirds of the time: most calls of most programs.
        ledger, reason = self._ledger, ""
        start = time.perf_counter()
        ledger.depth += 1
        try:
            try:
                result = self.ours(*args, **options)
            except Exception as error:
                reason = self._dispatcher.refused(error)
                if not reason:
                    raise
            if reason:
                return self._dispatcher.instead(self, reason, start, args, options)
        finally:
            ledger.depth -= 1
        seconds = time.perf_counter() - start
        calls = self._calls
        if calls is None:
            calls = self._calls = ledger.calls[self.name]
        calls.count[NUMLOOM] += 1
        calls.seconds[NUMLOOM] += seconds
        if not ledger.depth:
            ledger.seconds[NUMLOOM] += seconds
        if type(result) is ndarray:
            ledger.made += 1
            ledger.small += result.size < SMALL
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self.__dict__["numpy"], name)

    def __repr__(self) -> str:
        return f"<numpy.{self.name} served by numloom>"

    def __reduce__(self) -> Any:
        return numpy_function, (self.name,)

    def stands_for(self) -> Any:
        """NumPy's function, for NumPy to call."""
        return self.numpy

    # ------------------------------------------------------------ what it does with its arguments

    def refusal(self, kinds: int, args: tuple[Any, ...], options: dict[str, Any]) -> str:
        """Why NumPy is to answer; empty if numloom is to be tried."""
        if kinds == OURS and not self._writes and self.ours is not None:
            return ""  # if an argument is written, it is ours
        if not kinds and (self._on_numbers or (self.draws and self._draws_one(args, options))):
            return UNSAID
        if kinds & ODD:
            return f"numloom does not hold {odd_one((*args, *options.values()))}"
        if kinds & HOST:
            if (
                not kinds & OURS
                and self.name in VIEWS
                and (self.name != "array" or options.get("copy", True) is not True)
            ):
                return STAYS
            if any(type(out) is not ndarray for out in self._outs(args, options)):
                return WRITTEN
        if self._writes and args and type(args[0]) is not ndarray:
            return WRITTEN
        return self._missing if self.ours is None else ""

    def _place(self, parameter: str) -> int:
        """Where a parameter of NumPy's function stands among its positional ones; large if nowhere."""
        if self._places is None:
            try:
                names = list(inspect.signature(self.numpy).parameters)
            except (TypeError, ValueError):
                names = []
            self._places = {name: place for place, name in enumerate(names)}
        return self._places.get(parameter, 1 << 30)

    def _outs(self, args: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
        """The arrays given as ``out``."""
        out = options.get("out")
        if out is None and len(args) > self._place("out"):
            out = args[self._place("out")]
        return [one for one in (out if isinstance(out, tuple) else (out,)) if one is not None]

    def written(self, args: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
        """The arrays of ours that NumPy will write."""
        written = self._outs(args, options)
        if self._writes:
            written += args[:1] or options.values()
        return [one for one in written if type(one) is ndarray]

    def _draws_one(self, args: tuple[Any, ...], options: dict[str, Any]) -> bool:
        """Whether a random function draws a single number, which is a number at once."""
        if self.__name__ in ("rand", "randn"):
            return not args
        place = self._place("size")
        return place < 1 << 30 and options.get("size") is None and (len(args) <= place or args[place] is None)


class Ufunc(ServedFunction):
    """A ufunc of the namespace: its methods are functions, too."""

    def __init__(self, dispatcher: Dispatcher, name: str, ours: Any, numpy: np.ufunc) -> None:
        super().__init__(dispatcher, name, ours, numpy)
        for method in ("reduce", "accumulate", "reduceat", "outer", "at"):
            of_numpy = getattr(numpy, method)
            setattr(self, method, ServedFunction(dispatcher, f"{name}.{method}", getattr(ours, method, None), of_numpy))

    def _place(self, parameter: str) -> int:
        return int(self.numpy.nin) if parameter == "out" else 1 << 30

    def _outs(self, args: tuple[Any, ...], options: dict[str, Any]) -> list[Any]:
        out = options.get("out", args[self.numpy.nin :])
        return [one for one in (out if isinstance(out, tuple) else (out,)) if one is not None]

    def __repr__(self) -> str:
        return repr(self.numpy)
