"""Settings of the running process: one object, each setting with an environment variable.

Settings are plain attributes, so reading one costs an attribute look-up; assigning one checks it
and tells whoever listens.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Setting:
    """One setting: its default, how a value (or the variable's text) is checked, and what it does."""

    default: Any
    check: Callable[[Any], Any]
    doc: str


def _flag(value: Any) -> bool:
    if isinstance(value, str):
        word = value.strip().lower()
        if word in ("1", "true", "yes", "on"):
            return True
        if word in ("", "0", "false", "no", "off"):
            return False
    elif isinstance(value, (bool, int)) and value in (0, 1):
        return bool(value)
    raise ValueError(f"expected True or False, got {value!r}")


def _choice(*names: str) -> Callable[[Any], str]:
    def check(value: Any) -> str:
        if value in names:
            return str(value)
        raise ValueError(f"expected one of {', '.join(names)}; got {value!r}")

    return check


def _device(value: Any) -> str:
    kind, _, index = str(value).partition(":")
    if kind in ("auto", "cpu", "cuda", "null") and (not index or (kind == "cuda" and index.isdecimal())):
        return str(value)
    raise ValueError(f"expected auto, cpu, cuda, cuda:N or null; got {value!r}")


_UNITS = {"k": 10, "m": 20, "g": 30, "t": 40}


def _size(value: Any) -> int:
    """A count of bytes: a number, or text such as "512M" (powers of 1024)."""
    if isinstance(value, str):
        word = value.strip().lower().removesuffix("ib").removesuffix("b")
        shift = _UNITS.get(word[-1:], 0)
        value = round(float(word[:-1] if shift else word) * (1 << shift))
    return _count(value)


def _count(value: Any) -> int:
    number = int(value)
    if isinstance(value, bool) or number != (float(value) if isinstance(value, str) else value) or number < 0:
        raise ValueError(f"expected a whole number that is not negative, got {value!r}")
    return number


def _folder(value: Any) -> str:
    path = os.path.expanduser(os.fspath(value))
    if not os.path.isabs(path):
        raise ValueError(f"expected an absolute path, got {path!r}")
    return path


def _cache_dir() -> str:
    base = os.environ.get("XDG_CACHE_HOME", "")
    if not os.path.isabs(base):
        base = os.path.expanduser("~/.cache")
    return os.path.join(base, "numloom")


SETTINGS: dict[str, Setting] = {
    "eager": Setting(False, _flag, "run every operation at once instead of recording it"),
    "device": Setting("auto", _device, "auto (cuda where a GPU is, else cpu), cpu, cuda, cuda:N or null"),
    "executor": Setting(
        "fused", _choice("fused", "reference"), "fused kernels, or the reference: values one by one through NumPy"
    ),
    "cpu_compile": Setting(
        "background",
        _choice("background", "wait", "never"),
        "when fused kernels for the CPU are compiled: in the background while single-operation loops do the work, "
        "at first use, or never",
    ),
    "cuda_compile": Setting(
        "background",
        _choice("background", "wait"),
        "when fused kernels for the GPU are compiled in full: in the background while their first launch takes code "
        "that compiles in half the time, or at first use",
    ),
    "num_threads": Setting(0, _count, "threads of CPU kernels; 0 is every core that the process may use"),
    "cache_dir": Setting(_cache_dir, _folder, "folder of the kernel cache"),
    "cache_bytes": Setting(512 << 20, _size, "size of the kernel cache; 0 switches it off"),
    "unplanned": Setting(
        1 << 16,
        _count,
        "elements of values that run at once, without a plan, until they have come some times; 0: none do",
    ),
    "placement": Setting(
        "auto",
        _choice("auto", "device"),
        "where work runs beside a GPU: small work on small arrays on the host, as operations and bytes say, or all on "
        "the device",
    ),
    "host_copy": Setting(
        "warn",
        _choice("warn", "allow", "raise"),
        "what becomes of an array on a GPU where a NumPy array is asked for: a read-only copy, with one warning for a "
        "line that has copied much; a copy; or an error",
    ),
    "max_pending": Setting(512, _count, "recorded operations after which they are run"),
    "orphan_bytes": Setting(
        256 << 20, _size, "bytes of inputs that only recorded work keeps alive, after which it is run"
    ),
    "memory_limit": Setting(0, _size, "bytes that a device's arrays may take; 0 is what the device has"),
    "check": Setting(
        False, _flag, "let raw kernels on the CPU be checked for accesses out of bounds, races and divergent barriers"
    ),
    "verify": Setting(
        False,
        _flag,
        "run remembered ways (replayed calls, plans, graphs) beside the full one and compare their bits",
    ),
    "poison": Setting(
        False,
        _flag,
        "fill the memory of new arrays with bytes of 0xFB, so that what nobody wrote is no zero and shows",
    ),
    "progress": Setting(
        True, _flag, "one line in a terminal or below a cell while one waits for numloom for more than two seconds"
    ),
    "full_tracebacks": Setting(False, _flag, "show numloom's own frames in tracebacks, which are left out otherwise"),
    "default_float": Setting(
        "float64",
        _choice("float64", "float32", "float16", "bfloat16"),
        "dtype of symbols that are given none, and of shared variables made of Python's floats",
    ),
    "tf32": Setting(False, _flag, "let float32 matrix products on the GPU round their inputs to TF32, which is faster"),
    "fast_math": Setting(
        False, _flag, "let fused kernels on the GPU contract a * b + c, and divide and take functions approximately"
    ),
}


def variable(name: str) -> str:
    """The environment variable of a setting: ``NUMLOOM_`` and the name in capitals."""
    return "NUMLOOM_" + name.upper()


class Config:
    """The settings; see `SETTINGS` for names, defaults and meaning.

    Examples
    --------
    >>> config = Config({"NUMLOOM_EAGER": "1"})
    >>> config.eager
    True
    >>> with config(eager=False, max_pending=64):
    ...     config.max_pending
    64
    >>> config.eager
    True
    """

    eager: bool
    device: str
    executor: str
    cpu_compile: str
    cuda_compile: str
    host_copy: str
    num_threads: int
    cache_dir: str
    cache_bytes: int
    unplanned: int
    placement: str
    max_pending: int
    orphan_bytes: int
    memory_limit: int
    check: bool
    verify: bool
    poison: bool
    progress: bool
    full_tracebacks: bool
    default_float: str
    tf32: bool
    fast_math: bool

    def __init__(self, environment: Any = os.environ) -> None:
        self.__dict__["_listeners"] = {}
        for name, setting in SETTINGS.items():
            value = setting.default() if callable(setting.default) else setting.default
            given = environment.get(variable(name))
            if given:
                try:
                    value = setting.check(given)
                except ValueError as error:
                    warnings.warn(f"{variable(name)} is ignored: {error}", RuntimeWarning, stacklevel=2)
            self.__dict__[name] = value

    def __setattr__(self, name: str, value: Any) -> None:
        setting = SETTINGS.get(name)
        if setting is None:
            raise AttributeError(f"there is no setting {name!r}; there are {', '.join(SETTINGS)}")
        try:
            value = setting.check(value)
        except (TypeError, ValueError) as error:
            raise ValueError(f"config.{name}: {error}") from None
        for listener in self.__dict__["_listeners"].get(name, ()):
            listener(value)
        self.__dict__[name] = value

    def listen(self, name: str, listener: Callable[[Any], None]) -> None:
        """Call `listener(value)` before setting `name` is assigned; if it raises, the setting stays."""
        self.__dict__["_listeners"].setdefault(name, []).append(listener)

    @contextmanager
    def __call__(self, **settings: Any) -> Iterator[Config]:
        """Change settings inside a ``with`` block."""
        before = {name: getattr(self, name) for name in settings}
        try:
            for name, value in settings.items():
                setattr(self, name, value)
            yield self
        finally:
            for name, value in before.items():
                setattr(self, name, value)

    def __dir__(self) -> list[str]:
        return [*SETTINGS, *(name for name in vars(type(self)) if name.startswith("__"))]

    def __repr__(self) -> str:
        return "\n".join(f"{name} = {getattr(self, name)!r}  # {setting.doc}" for name, setting in SETTINGS.items())


config = Config()
