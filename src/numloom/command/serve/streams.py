"""Random generators of the program: NumPy's classes, whose numbers numloom draws when the program asks for them.

A library that is given such a generator draws from NumPy's stream, as from any other.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from numloom.base import later
from numloom.command.serve.dispatch import Dispatcher, ServedFunction

_MAIN = __name__.partition(".")[0]


def _drawing(name: str, numpy: Any, family: str) -> Callable[..., Any]:
    """A method that the program gets from numloom, and everybody else from NumPy."""

    def method(self: Any, *args: Any, **options: Any) -> Any:
        if not self.dispatcher.program.owns(sys._getframe(1).f_globals):
            return numpy(self, *args, **options)
        return self.function(family, name, numpy)(*args, **options)

    method.__name__, method.__doc__ = name, numpy.__doc__
    return method


class _Served:
    """What the two classes have in common: numloom's generator beside NumPy's."""

    dispatcher: Dispatcher
    ours: Any
    functions: dict[str, ServedFunction]

    def serve(self, dispatcher: Dispatcher, ours: Any) -> Any:
        """Draw from `ours` when the program of `dispatcher` asks."""
        self.dispatcher, self.ours, self.functions = dispatcher, ours, {}
        return self

    def function(self, family: str, name: str, numpy: Any) -> ServedFunction:
        """The function that answers for a method."""
        if name not in self.functions:
            ours = getattr(self.ours, name, None)
            self.functions[name] = ServedFunction(self.dispatcher, f"{family}.{name}", ours, numpy.__get__(self))
        return self.functions[name]


_NOT_DRAWING = frozenset(("bit_generator", "spawn", "seed", "get_state", "set_state", "bytes", "tomaxint"))


def _methods(real: type, family: str) -> dict[str, Any]:
    return {
        name: _drawing(name, getattr(real, name), family)
        for name in dir(real)
        if not name.startswith("_") and name not in _NOT_DRAWING
    }


_ServedGenerator: Any = type(
    "Generator", (_Served, np.random.Generator), {**_methods(np.random.Generator, "Generator"), "__module__": __name__}
)
_ServedRandomState: Any = type(
    "RandomState",
    (_Served, np.random.RandomState),
    {**_methods(np.random.RandomState, "RandomState"), "__module__": __name__},
)


class Streams:
    """What `numpy.random` has of generators and states, for one program."""

    def __init__(self, dispatcher: Dispatcher) -> None:
        self.dispatcher = dispatcher

    @property
    def ours(self) -> Any:
        """The module of numloom."""
        return later.load(f"{_MAIN}.random")

    def default_rng(self, seed: Any = None) -> Any:
        """As `numpy.random.default_rng`."""
        if isinstance(seed, np.random.Generator):
            return seed
        return self.generator(np.random.default_rng(seed).bit_generator)

    def generator(self, bit_generator: Any) -> Any:
        """As `numpy.random.Generator`: numloom's generator has the key of the same seed."""
        sequence = getattr(bit_generator, "seed_seq", None)
        if not isinstance(sequence, np.random.SeedSequence):
            sequence = np.random.SeedSequence(int(bit_generator.random_raw()))
        return _ServedGenerator(bit_generator).serve(self.dispatcher, self.ours.default_rng(sequence))

    def random_state(self, seed: Any = None) -> Any:
        """As `numpy.random.RandomState`."""
        known = seed if seed is None or isinstance(seed, (int, np.integer, list, tuple)) else None
        return _ServedRandomState(seed).serve(self.dispatcher, self.ours.RandomState(known))

    def seed(self, seed: Any = None) -> None:
        """As `numpy.random.seed`, for NumPy's own functions, which libraries use, and for numloom's."""
        np.random.seed(seed)
        self.ours.seed(seed)

    def get_state(self, legacy: bool = True) -> Any:
        """As `numpy.random.get_state`, with numloom's state beside NumPy's."""
        draws: Any = np.random.get_state
        state = draws(legacy)
        both = _StateTuple(state) if legacy else _StateDict(state)
        both.ours = self.ours.get_state()
        return both

    def set_state(self, state: Any) -> None:
        """As `numpy.random.set_state`."""
        np.random.set_state(state)
        if isinstance(state, (_StateTuple, _StateDict)):
            self.ours.set_state(state.ours)
        else:
            self.ours.seed(int(np.random.RandomState().randint(1 << 31)) if state is None else _seed_of(state))


class _StateTuple(tuple[Any, ...]):
    """NumPy's state and ours."""

    ours: Any


class _StateDict(dict[str, Any]):
    """NumPy's state and ours."""

    ours: Any


def _seed_of(state: Any) -> list[int]:
    """A seed for numloom's numbers that follows from a state of NumPy's."""
    copy = np.random.RandomState()
    copy.set_state(state)
    return [int(word) for word in copy.randint(1 << 31, size=4)]
