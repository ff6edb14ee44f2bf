"""The modules that a program gets for ``import numpy``: numloom's functions where there are some, NumPy's else."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable, Iterator, Mapping
from types import ModuleType
from typing import Any

import numpy as np

from numloom.array.convert import refuse_low
from numloom.array.ndarray import bind, ndarray
from numloom.base import later
from numloom.command.serve.adapting import Adaptation, give_numpys
from numloom.command.serve.crossing import HOST, ODD, Crossing, asked, begin_again, held, kinds_of, odd_one
from numloom.command.serve.dispatch import CALLS, WRITTEN, Dispatcher, ServedFunction, Ufunc, told
from numloom.command.serve.ledger import NUMPY
from numloom.command.serve.program import Interception, ServedProgram
from numloom.command.serve.standing import SCALARS, standing, standing_array, standing_scalar, stood_for
from numloom.device import registry
from numloom.engine.state import watchers

_MAIN = __name__.partition(".")[0]
_STREAMS = "numloom.command.serve.streams"

AS_IT_IS = ("typing.", "version.", "exceptions.", "dtypes.", "ctypeslib.", "f2py.", "distutils.")
"""Modules of NumPy that the program gets as they are."""

ON_THE_HOST = {
    "testing.": "it compares on the host", "lib.format.": "it reads and writes files",
    "ma.": "masked arrays stay NumPy's", "char.": "strings stay NumPy's", "strings.": "strings stay NumPy's",
    "rec.": "records stay NumPy's", "matlib.": "matrices stay NumPy's",
}  # fmt: skip
"""Modules whose functions are NumPy's by their nature."""

FILES = frozenset((
    "fromfile", "fromiter", "fromregex", "genfromtxt", "load", "loadtxt", "save", "savetxt", "savez",
    "savez_compressed",
))  # fmt: skip
"""Functions that read what can be read once, or write: numloom would ask NumPy, and perhaps not hold what it gives."""
_TEXT = frozenset(("genfromtxt", "loadtxt"))

DESCRIBED_TO = frozenset(("PIL",))
"""Libraries that ask arrays for ``__array_interface__``."""

DESCRIBED_TO_WHOLLY = frozenset(("numpy.ctypeslib", "numpy.ctypeslib._ctypeslib"))
"""Modules that take the memory which it describes."""

SUBSCRIPTED = frozenset(("r_", "c_", "mgrid", "ogrid"))

AS_THEY_ARE = frozenset((
    "base_repr", "binary_repr", "broadcast_shapes", "dtype", "errstate", "finfo", "format_float_positional",
    "format_float_scientific", "get_include", "get_printoptions", "getbufsize", "geterr", "geterrcall", "iinfo",
    "info", "issubdtype", "memmap", "mintypecode", "ndindex", "printoptions", "promote_types", "set_printoptions",
    "setbufsize", "seterr", "seterrcall", "show_config", "show_runtime", "test", "typename", "typecodes",
    "sctypeDict", "nested_iters",
))  # fmt: skip
"""Names that concern no arrays."""


class Namespace(ModuleType):
    """A module of NumPy as the program sees it; its names are made when they are asked for."""

    def __init__(self, server: Server, path: str, real: ModuleType) -> None:
        super().__init__(real.__name__, real.__doc__)
        for name in ("__file__", "__path__", "__package__", "__spec__", "__loader__"):
            if hasattr(real, name):
                self.__dict__[name] = getattr(real, name)
        self.__dict__["_server"] = server
        self.__dict__["_path"] = path
        self.__dict__["_real"] = real

    def __getattr__(self, name: str) -> Any:
        value = getattr(self.__dict__["_real"], name)
        if not name.startswith("__"):
            value = self.__dict__["_server"].served(f"{self.__dict__['_path']}.{name}", value)
            self.__dict__[name] = value
        return value

    def __dir__(self) -> list[str]:
        return dir(self.__dict__["_real"])

    def __reduce__(self) -> Any:
        return importlib.import_module, (self.__name__,)


class Subscripted:
    """``np.r_``, ``np.c_`` and their like: the answer is made of what stands in brackets."""

    def __init__(self, function: ServedFunction, real: Any) -> None:
        self._function = function
        self._real = real

    def __getitem__(self, item: Any) -> Any:
        return self._function(item)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)


class Archive(Mapping[str, Any]):
    """What ``np.load`` gives for an ``.npz`` file: its arrays come as numloom's."""

    def __init__(self, real: Any) -> None:
        self._real = real

    def __getitem__(self, name: str) -> Any:
        return Crossing([]).back(self._real[name])

    def __iter__(self) -> Iterator[str]:
        return iter(self._real)

    def __len__(self) -> int:
        return len(self._real)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._real, name)

    def __enter__(self) -> Archive:
        self._real.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._real.__exit__(*error)

    def __repr__(self) -> str:
        return repr(self._real)


class Server:
    """Serves NumPy to one program, while it is active (a context manager).

    Parameters
    ----------
    program : ServedProgram
        Whose imports give our modules.
    fallback : {"quiet", "warn", "error"}
        What is done where NumPy answers.
    """

    def __init__(self, program: ServedProgram, fallback: str = "quiet") -> None:
        self.program = program
        self.dispatcher = Dispatcher(program, fallback)
        self.ledger = self.dispatcher.ledger
        self._modules: dict[str, Namespace] = {}
        self._adaptation = Adaptation()
        self._interception = Interception(program, self.module, self._adaptation.meet, give_numpys)
        self._before: dict[str, Any] = {}
        self._special = self._specials()

    # ------------------------------------------------------------ modules and names

    def module(self, name: str) -> Namespace:
        """The module of NumPy's name, as the program sees it."""
        if name not in self._modules:
            self._modules[name] = Namespace(self, name, importlib.import_module(name))
        return self._modules[name]

    def served(self, path: str, real: Any) -> Any:
        """What a name of NumPy's (as "numpy.linalg.norm") is for the program."""
        if isinstance(real, ModuleType):
            if real.__name__.partition(".")[0] != "numpy":
                return real
            return self._modules.setdefault(path, Namespace(self, path, real))
        path = path.partition(".")[2]
        name = path.rpartition(".")[2]
        if path.startswith("random.") and "random.seed" not in self._special:
            self._special |= self._random()
        if path in self._special:
            return self._special[path]
        ours = _ours(path)
        if ours is real or name in AS_THEY_ARE or path.startswith(AS_IT_IS):
            return real
        by_nature = next((why for start, why in ON_THE_HOST.items() if path.startswith(start)), "")
        if path in FILES:
            by_nature, real = "files are NumPy's", _with_progress(real) if path in _TEXT else real
        if by_nature:
            ours = None
        if isinstance(real, np.ufunc):
            return Ufunc(self.dispatcher, path, ours, real)
        if isinstance(real, type):
            return self._class(path, ours, real, by_nature)
        if callable(real):
            return ServedFunction(self.dispatcher, path, ours if callable(ours) else None, real, by_nature)
        if name in SUBSCRIPTED:
            subscript = ServedFunction(self.dispatcher, path, getattr(ours, "__getitem__", None), real.__getitem__)
            return Subscripted(subscript, real)
        return real

    def _class(self, path: str, ours: Any, real: type, by_nature: str) -> Any:
        """A class of NumPy: itself, unless our arrays are to pass for its instances or to be taken by it."""
        if isinstance(ours, type) and ours is not real:
            return standing(real, ServedFunction(self.dispatcher, path, ours, real), ours)
        if issubclass(real, np.ndarray):
            return standing(
                real, ServedFunction(self.dispatcher, path, None, real, by_nature or "its arrays stay NumPy's")
            )
        return real

    def _specials(self) -> dict[str, Any]:
        dispatcher = self.dispatcher

        def is_scalar(element: Any) -> bool:
            return bool(element.is_scalar) if type(element) is ndarray else np.isscalar(element)

        def new_array(shape: Any, dtype: Any = float, buffer: Any = None, *args: Any, **options: Any) -> Any:
            if buffer is None and not args and not options:
                return self.module("numpy").empty(shape, dtype)
            if type(buffer) is ndarray:
                made: Any = ndarray
                return made(shape, dtype, buffer, *args, **options)
            return np.ndarray(shape, dtype, buffer, *args, **options)

        def vectorize(*args: Any, **options: Any) -> Any:
            real: Any = np.vectorize(*args, **options)
            if real.pyfunc is np._NoValue:  # type: ignore[attr-defined]  # a decorator with options
                return lambda function: vectorize(function, *args, **options)
            return ServedFunction(
                dispatcher, "vectorize", None, real, "it calls the program's function for each element"
            )

        def load(*args: Any, **options: Any) -> Any:
            result = loading(*args, **options)
            return Archive(result) if isinstance(result, np.lib.npyio.NpzFile) else result

        loading = ServedFunction(dispatcher, "load", None, np.load, "files are NumPy's")
        special: dict[str, Any] = {
            "ndarray": standing_array(new_array),
            "ufunc": standing(np.ufunc, np.ufunc, Ufunc),
            "isscalar": is_scalar,
            "vectorize": standing(np.vectorize, vectorize, ServedFunction),
            "load": load,
        }
        special |= {name: standing_scalar(getattr(np, name)) for name in SCALARS}
        return special

    def _random(self) -> dict[str, Any]:
        """What `numpy.random` has of generators, which few programs ask for."""
        streams, random = later.load(_STREAMS).Streams(self.dispatcher), np.random
        return {
            "random.Generator": standing(random.Generator, streams.generator),
            "random.RandomState": standing(random.RandomState, streams.random_state),
            "random.default_rng": streams.default_rng,
            "random.seed": streams.seed,
            "random.get_state": streams.get_state,
            "random.set_state": streams.set_state,
        }

    # ------------------------------------------------------------ protocols: calls that pass by the namespace

    def array_ufunc(self, function: Any, method: str, inputs: tuple[Any, ...], options: dict[str, Any]) -> Any:
        """``__array_ufunc__`` of our arrays: numloom's function, or NumPy's with NumPy's arrays."""
        name = function.__name__ if method == "__call__" else f"{function.__name__}.{method}"
        outs = options.get("out") or ()
        kinds = kinds_of(inputs)
        reason = f"numloom does not hold {odd_one(inputs)}" if kinds & ODD else ""
        if any(one is not None and type(one) is not ndarray for one in outs) or (method == "at" and kinds & HOST):
            reason = WRITTEN
        if not reason:
            try:
                result = self._before["array_ufunc"](function, method, inputs, options)
                if result is not NotImplemented:
                    return result
                reason = f"numloom has no {name}"
            except (TypeError, NotImplementedError) as error:
                reason = f"numloom refused: {told(error)}"
        written = [one for one in (*outs, *(inputs[:1] if method == "at" else ())) if type(one) is ndarray]
        return self._passed_by(name, reason, getattr(function, method), inputs, options, written)

    def array_function(self, function: Any, types: Any, args: Any, options: Any) -> Any:
        """``__array_function__`` of our arrays, likewise."""
        name = function.__name__
        if name in CALLS:
            args, options = asked(args), {key: asked(value) for key, value in options.items()}
        try:
            result = self._before["array_function"](function, types, args, options)
            if result is not NotImplemented:
                return result
            reason = f"numloom has no {name}"
        except (TypeError, NotImplementedError) as error:
            reason = f"numloom refused: {told(error)}"
        probe = ServedFunction(self.dispatcher, name, None, function)
        return self._passed_by(name, reason, function, args, options, probe.written(args, options))

    def _passed_by(self, name: str, reason: str, function: Any, args: Any, options: Any, written: list[Any]) -> Any:
        begin_again([*args, *options.values()])
        crossing = Crossing(written)
        result = function(*crossing.out(args), **crossing.out(options))
        crossing.write_back()
        if self.program.is_calling():
            self.ledger.call(name, NUMPY, 0.0, reason)
            return crossing.back(result)
        return next((array for array in written if result is crossing.out(array)), result)

    # ------------------------------------------------------------ being active

    def __enter__(self) -> Server:
        self._before = bind(
            array_ufunc=self.array_ufunc,
            array_function=self.array_function,
            array_repr=self._repr,
            astype_elsewhere=self._astype,
            defers_to=_defers_to,
            host_array=self._host_array,
            method___array_interface__=property(self._interface),
            method_view=lambda array, dtype=None, type=None: self._view(array, dtype, type),
            unpickle=np.asarray,  # pickles of the program load without numloom, too
        )
        watchers.append(self.ledger.copied)
        self._interception.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._interception.__exit__(*error)
        self._adaptation.undo()
        watchers.remove(self.ledger.copied)
        bind(**self._before)
        self.ledger.finish()

    def _astype(self, array: Any, dtype: Any, order: str, casting: str) -> Any:
        """NumPy's array for a dtype that ours cannot have, else None."""
        wanted = np.dtype(dtype)
        if held(wanted):
            return None
        reason = f"numloom does not hold dtype {wanted}"
        self.ledger.call("ndarray.astype", NUMPY, 0.0, reason)
        self.dispatcher.tell("ndarray.astype", reason)
        return array.get().astype(wanted, order, casting)

    def _host_array(self, array: Any, dtype: Any = None, copy: bool | None = None) -> Any:
        """``__array__`` of our arrays: what libraries work on. Memory that the host does not see is copied."""
        share = self._before["host_array"]
        if share is not None and not registry.current().discrete:
            self.ledger.shared()
            return share(array, dtype, copy)
        if copy is False:
            raise ValueError("Unable to avoid copy while creating an array as requested: it lies on the device")
        fetched = self.ledger.fetched
        host = array.get()
        if self.ledger.fetched == fetched:  # The host had it already: handed over without a copy from the device.
            self.ledger.shared()
        return host if dtype is None else host.astype(dtype, copy=False)

    def _interface(self, array: Any) -> dict[str, Any]:
        """``__array_interface__``: as NumPy's for the program, and for libraries that know arrays by it alone.

        Others are handed memory by ``__array__``, which counts it, and NumPy itself would ask for this first.
        """
        refuse_low(array)
        first, own = self.program.caller()
        asks = "" if first is None else str(first.f_globals.get("__name__"))
        if first is not None and (first is own or asks in DESCRIBED_TO_WHOLLY):
            self.ledger.shared()
            return {**self._before["method___array_interface__"].__get__(array), "descr": array.dtype.descr}
        if asks.partition(".")[0] not in DESCRIBED_TO:
            raise AttributeError("'numloom.ndarray' object has no attribute '__array_interface__'")
        return {"shape": array.shape, "strides": array.strides, "typestr": array.dtype.str, "version": 3}

    def _view(self, array: Any, dtype: Any = None, type: Any = None) -> Any:
        """``view`` of our arrays: NumPy's for its classes, those of the program, and dtypes that ours cannot have."""
        dtype, type = stood_for(dtype), stood_for(type)
        if type is None and _is_array_class(dtype):
            dtype, type = None, dtype
        if type in (None, np.ndarray, ndarray) and (dtype is None or held(np.dtype(dtype))):
            return self._before["method_view"](array, dtype)
        crossing = Crossing([])
        discrete = registry.current().discrete
        host = crossing.out(array) if discrete or array.is_scalar else self._host_array(array)
        options = {name: value for name, value in (("dtype", dtype), ("type", type)) if value is not None}
        self.ledger.call("ndarray.view", NUMPY, 0.0, "classes and other dtypes are NumPy's")
        return crossing.back(host.view(**options)) if discrete else host.view(**options)

    def _repr(self, array: Any, *args: Any) -> str:
        """As NumPy prints it: what is a scalar there as a scalar."""
        return repr(array.get()[()]) if array.is_scalar else str(self._before["array_repr"](array, *args))


def _with_progress(function: Callable[..., Any]) -> Callable[..., Any]:
    """A reader of text that tells somebody at a terminal how far a large file is read."""

    @functools.wraps(function)
    def read(fname: Any, *args: Any, **options: Any) -> Any:
        return function(later.load(f"{_MAIN}.api.io").watched(fname, options.get("encoding")), *args, **options)

    return read


def _is_array_class(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, (np.ndarray, ndarray))


def _defers_to(value: Any) -> bool:
    """Whether an operator leaves the answer to the other operand, as NumPy's arrays do; what is just read is read."""
    if isinstance(value, (list, tuple, str)) or not kinds_of((value,)) & ODD:
        return False
    kind = type(value)
    return not hasattr(kind, "__array__") or hasattr(kind, "__array_ufunc__") or hasattr(kind, "__array_priority__")


def _ours(path: str) -> Any:
    """Our name of NumPy's dotted one, or None."""
    found: Any = sys.modules[_MAIN]
    for part in path.split("."):
        found = getattr(found, part, None)
    return found


__all__ = ["Archive", "Namespace", "Server"]
