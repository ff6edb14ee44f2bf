"""Plans of Fourier transforms as CuPy's programs make them: what a transform will be like, held against what comes."""

from __future__ import annotations

import math
from contextvars import ContextVar
from dataclasses import dataclass
from types import TracebackType
from typing import Any

from numloom.array.convert import asarray
from numloom.base.integers import as_integer, as_integers, is_single

_TYPES = ("C2C", "R2C", "C2R")
_TO_REAL = ("irfft", "hfft")
_FROM_REAL = ("rfft", "ihfft")
_entered: ContextVar[tuple[Plan, ...]] = ContextVar("_entered", default=())


@dataclass(frozen=True)
class Plan:
    """What a transform is like. In a ``with`` block each transform must be like it.

    The plans that run are kept by numloom itself, so this one makes nothing faster.
    """

    lengths: tuple[int, ...]
    """Of the transformed axes; where the result is real, of the result."""
    batch: int
    """How many such transforms there are."""
    value_type: str
    """"C2C", "R2C" or "C2R"."""
    precision: str
    """"single" or "double"."""

    def __enter__(self) -> Plan:
        _entered.set((*_entered.get(), self))
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _entered.set(_entered.get()[:-1])


def get_fft_plan(a: Any, shape: Any = None, axes: Any = None, value_type: str = "C2C") -> Plan:
    """A plan for transforms of arrays like `a`.

    Parameters
    ----------
    a : array_like
        What is to be transformed: its shape and precision count.
    shape : int or tuple of int, optional
        Lengths of the transformed axes of the result.
    axes : int or tuple of int, optional
        The one to three axes to transform; all of them where nothing is given.
    value_type : {"C2C", "R2C", "C2R"}, optional
        Complex to complex, real to complex, or complex to real.

    Returns
    -------
    Plan
        For ``plan=``, or for a ``with`` block.

    Raises
    ------
    ValueError
        For another `value_type`, axes that `a` does not have, other than one to three of them, or as many lengths
        as there are not axes.

    Examples
    --------
    >>> import numloom as nl
    >>> from numloom.cupyx.scipy import fft
    >>> x = nl.ones((2, 4), "c8")
    >>> plan = fft.get_fft_plan(x, axes=1)
    >>> plan
    Plan(lengths=(4,), batch=2, value_type='C2C', precision='single')
    >>> with plan:
    ...     y = fft.fft(x)
    """
    if value_type not in _TYPES:
        raise ValueError(f"value_type is one of {', '.join(_TYPES)}, not {value_type!r}")
    return _plan(a, shape, axes, value_type)


def _plan(a: Any, shape: Any, axes: Any, value_type: str) -> Plan:
    array = asarray(a)
    given = None if shape is None else [shape] if is_single(shape) else list(shape)
    if axes is None:
        axes = range(-(array.ndim if given is None else len(given)), 0)
    places = [axes] if is_single(axes) else list(as_integers(axes, as_integer))
    if not 1 <= len(places) <= 3:
        raise ValueError(f"a plan has one to three axes, not {len(places)}: transform the others after them")
    if given is not None and len(given) != len(places):
        raise ValueError(f"{len(given)} lengths do not go with {len(places)} axes")
    if any(not -array.ndim <= axis < array.ndim for axis in places):
        raise ValueError(f"axes {tuple(places)} are not all there in an array of {array.ndim} dimensions")
    places = [axis % array.ndim for axis in places]
    lengths = [array.shape[axis] for axis in places]
    if value_type == "C2R":
        lengths[-1] = 2 * (lengths[-1] - 1)
    if given is not None:
        lengths = [before if n is None else as_integer(n) for n, before in zip(given, lengths, strict=True)]
    batch = math.prod(n for axis, n in enumerate(array.shape) if axis not in places)
    return Plan(tuple(lengths), batch, value_type, "single" if array.dtype.char in "efF" else "double")


def _type_of(name: str) -> str:
    stem = name.rstrip("2n")
    return "C2R" if stem in _TO_REAL else "R2C" if stem in _FROM_REAL else "C2C"


def is_entered() -> bool:
    """Whether there is a ``with`` block of a plan."""
    return bool(_entered.get())


def check(name: str, x: Any, lengths: Any, axes: Any, plan: Any) -> None:
    """Refuse a transform that is not like the plan given for it, or like that of the ``with`` block.

    Raises
    ------
    RuntimeError
        Where there is a plan from both.
    ValueError
        Where the transform is another.
    TypeError
        For a plan that `get_fft_plan` has not made.
    """
    entered = _entered.get()
    if plan is None and not entered:
        return
    if plan is not None and entered:
        raise RuntimeError("Use the cuFFT plan either as an argument or in a with block: there are both, leave one out")
    plan = entered[-1] if plan is None else plan
    if not isinstance(plan, Plan):
        raise TypeError(f"plan is what get_fft_plan gives, not {type(plan).__name__}")
    needed = _plan(x, lengths, axes, _type_of(name))
    if needed != plan:
        raise ValueError(f"The cuFFT plan and a.shape do not match: {needed} is needed, {plan} is given")


__all__ = ["Plan", "check", "get_fft_plan", "is_entered"]
