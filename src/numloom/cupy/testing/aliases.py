"""Bases of tests of functions that NumPy and numloom share, and a watch over how often a name is called."""

from __future__ import annotations

import importlib
import inspect
import unittest
from types import TracebackType
from typing import Any
from unittest import mock

import numpy as np

_PACKAGE = __name__.rpartition(".")[0].rpartition(".")[0]
_SERVED = {"cupy": _PACKAGE, "cupyx": f"{_PACKAGE.rpartition('.')[0]}.cupyx"}
"""Our modules behind CuPy's names."""


class NumpyAliasTestBase(unittest.TestCase):
    """A base of tests of one function, whose name a subclass gives as ``func``."""

    func: str

    @property
    def cupy_func(self) -> Any:
        """Ours."""
        return getattr(importlib.import_module(_PACKAGE), self.func)

    @property
    def numpy_func(self) -> Any:
        """NumPy's."""
        return getattr(np, self.func)


class NumpyAliasBasicTestBase(NumpyAliasTestBase):
    """Tests that a function takes NumPy's arguments and has a docstring."""

    def test_argspec(self) -> None:
        """The parameters have NumPy's names, in its order."""
        ours, theirs = (list(inspect.signature(one).parameters) for one in (self.cupy_func, self.numpy_func))
        self.assertEqual(ours, theirs)

    def test_docstring(self) -> None:
        """There is a docstring."""
        self.assertTrue(self.cupy_func.__doc__)


class NumpyAliasValuesTestBase(NumpyAliasTestBase):
    """A test that a function gives NumPy's value for the arguments ``args``, which a subclass sets."""

    args: tuple[Any, ...]

    def test_values(self) -> None:
        """Both give the same."""
        self.assertEqual(self.cupy_func(*self.args), self.numpy_func(*self.args))


class AssertFunctionIsCalled:
    """A ``with`` block in which a name is called so many times.

    Parameters
    ----------
    target : str
        The name from its package on, such as ``"cupy.cuda.Device"``; ``cupy`` and ``cupyx`` mean numloom's modules.
    times_called : int
        How often.
    wraps : callable, optional
        What answers the calls; a stand-in without it.
    **kwargs
        As of `unittest.mock.patch`.

    Raises
    ------
    AssertionError
        At the end of the block, if it was called more or less often.

    Examples
    --------
    >>> import numloom.cupy as cp
    >>> with cp.testing.AssertFunctionIsCalled("cupy.asnumpy", wraps=cp.asnumpy):
    ...     cp.asnumpy(cp.arange(3))
    array([0, 1, 2])
    """

    def __init__(self, target: str, times_called: int = 1, wraps: Any = None, **kwargs: Any) -> None:
        top, dot, rest = target.partition(".")
        self._target = target
        self._times = times_called
        self._patch = mock.patch(_SERVED.get(top, top) + dot + rest, wraps=wraps, **kwargs)

    def __enter__(self) -> mock.Mock:
        self._stand_in: Any = self._patch.__enter__()
        return self._stand_in  # type: ignore[no-any-return]

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._patch.__exit__(kind, error, traceback)
        found = self._stand_in.call_count
        if error is None and found != self._times:
            raise AssertionError(f"{self._target} was called {found} times, expected {self._times}")


__all__ = [
    "AssertFunctionIsCalled", "NumpyAliasBasicTestBase", "NumpyAliasTestBase", "NumpyAliasValuesTestBase",
]  # fmt: skip
