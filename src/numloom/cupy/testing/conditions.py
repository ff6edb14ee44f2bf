"""Decorators that say when a test runs, with what, and from which random numbers."""

from __future__ import annotations

import functools
import importlib
import importlib.metadata
import itertools
import random as of_python
import sys
import unittest
from collections.abc import Callable, Mapping
from inspect import isfunction
from typing import Any

import numpy as np

from numloom.cuda.devices import device_count
from numloom.cupy.random import RandomState, get_random_state, set_random_state

Test = Callable[..., Any]


def installed(*specifiers: str) -> bool:
    """Whether packages are installed, in these versions; needs the package packaging, which pytest brings.

    >>> from numloom.cupy import testing
    >>> testing.installed("numpy>=1.20"), testing.installed("numpy<1")
    (True, False)
    """
    requirement = importlib.import_module("packaging.requirements").Requirement
    for text in specifiers:
        wanted = requirement(text)
        try:
            found = importlib.metadata.version(wanted.name)
        except importlib.metadata.PackageNotFoundError:
            return False
        if not wanted.specifier.contains(found, prereleases=True):
            return False
    return True


def with_requires(*requirements: str) -> Callable[[Test], Test]:
    """A decorator: the test is skipped where packages are not installed in these versions."""
    return _skipped(not installed(*requirements), f"requires: {', '.join(requirements)}")


def _skipped(condition: bool, reason: str) -> Callable[[Test], Test]:
    """A decorator that skips a test or a class of them; of the classes that pytest alone runs, by its mark."""

    def marked(test: Test) -> Test:
        if isinstance(test, type) and not issubclass(test, unittest.TestCase):
            result: Test = importlib.import_module("pytest").mark.skipif(condition, reason=reason)(test)
            return result
        return unittest.skipIf(condition, reason)(test)

    return marked


def numpy_satisfies(version_range: str) -> bool:
    """Whether NumPy's version is in a range, such as ``">=2,<3"``."""
    return installed(f"numpy{version_range}")


def multi_gpu(gpu_num: int) -> Callable[[Test], Test]:
    """A decorator: the test is skipped where there are fewer devices."""
    return _skipped(device_count() < gpu_num, f"needs {gpu_num} devices")


def slow(*args: Any, **kwargs: Any) -> Any:
    """Mark a test as slow, for ``pytest -m 'not slow'``."""
    return importlib.import_module("pytest").mark.slow(*args, **kwargs)


def generate_seed() -> int:
    """A seed from NumPy's shared random numbers."""
    return int(np.random.randint(0x7FFFFFFF))


def fix_random() -> Callable[[Any], Any]:
    """A decorator of a test, or a class of tests: random numbers start from the same seed, and go on afterwards.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> @cp.testing.fix_random()
    ... def draw():
    ...     return float(cp.random.rand())
    >>> draw() == draw()
    True
    """

    def fixed(test: Test) -> Test:
        @functools.wraps(test)
        def run(*args: Any, **named: Any) -> Any:
            before = of_python.getstate(), np.random.get_state(), get_random_state()
            of_python.seed(100)
            np.random.seed(100)
            set_random_state(RandomState(100))
            try:
                return test(*args, **named)
            finally:
                of_python.setstate(before[0])
                np.random.set_state(before[1])
                set_random_state(before[2])

        return run

    def decorate(given: Any) -> Any:
        if not isinstance(given, type):
            return fixed(given)
        for name, member in list(vars(given).items()):
            if name.startswith("test") and callable(member):
                setattr(given, name, fixed(member))
        return given

    return decorate


def product(parameter: Mapping[str, Any]) -> list[dict[str, Any]]:
    """All combinations of values by name.

    >>> from numloom.cupy import testing
    >>> testing.product({"a": [1, 2], "b": [3]})
    [{'a': 1, 'b': 3}, {'a': 2, 'b': 3}]
    """
    names = sorted(parameter)
    return [dict(zip(names, values, strict=True)) for values in itertools.product(*(parameter[name] for name in names))]


def product_dict(*parameters: Any) -> list[dict[str, Any]]:
    """All combinations of dictionaries, one of each list, joined."""
    return [{name: value for one in chosen for name, value in one.items()} for chosen in itertools.product(*parameters)]


def parameterize(*params: Mapping[str, Any], **kwargs: Any) -> Callable[[type], None]:
    """A decorator of a class of tests: in its place stands a class for each set of values, which are its attributes.

    Parameters
    ----------
    *params : dict
        Sets of values by name.
    **kwargs
        Taken for CuPy's sake.
    """

    def decorate(given: type) -> None:
        module = sys.modules[given.__module__]
        for number, values in enumerate(params):
            name = f"{given.__name__}_{number}"
            text = ", ".join(f"{key}={value!r}" for key, value in values.items())
            # A function that is a value gets no `self`.
            own = {key: staticmethod(value) if isfunction(value) else value for key, value in values.items()}
            kind = type(name, (given,), {**own, "__module__": given.__module__, "__doc__": text})
            setattr(module, name, kind)

    return decorate


__all__ = [
    "fix_random", "generate_seed", "installed", "multi_gpu", "numpy_satisfies", "parameterize", "product",
    "product_dict", "slow", "with_requires",
]  # fmt: skip
