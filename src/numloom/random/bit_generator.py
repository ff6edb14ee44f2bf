"""Where the bits come from: a key and a counter of blocks of 128 bits.

A draw begins at a block of its own. Its element i is a function of the key, of that block's number and of i, and of
nothing else: the same numbers on every device, for every launch shape and for whatever order threads run in. Numbers
of 32 bits are four to a block, of 64 bits two; samplers that reject have a stream of blocks for each element.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import prod
from typing import Any

import numpy as np

from numloom.array.convert import host_numbers
from numloom.array.ndarray import wrap
from numloom.base.dtypes import I64, U64
from numloom.base.forking import lock
from numloom.base.integers import as_integer
from numloom.graph import build
from numloom.graph.layout import c_strides
from numloom.graph.node import Node, tracing
from numloom.graph.tree import drawn_blocks, watched
from numloom.ops.elementwise import ELEMENTWISE
from numloom.random.parameters import shape_of

Array = Any
SeedSequence = np.random.SeedSequence

_WORD = 1 << 64
_JUMP = 1 << 48


def _entropy(seed: Any) -> np.random.SeedSequence:
    """The sequence of a seed; a TypeError of what is none."""
    try:
        return SeedSequence(seed)
    except TypeError:
        raise TypeError(f"SeedSequence expects int or sequence of ints for entropy not {seed!r}") from None


class BitGenerator:
    """What bit generators share: a seed, a lock and children. `Philox` is the one that numloom has.

    Attributes
    ----------
    seed_seq : SeedSequence
        What the key was made of.
    lock : threading.RLock
        Held while a draw takes its blocks.
    taken : list of tuple, optional
        While a call is learned (`replayed`), how many blocks were taken, and the values for that.
    set_in : object
        The function that was being recorded when its state was set (`numloom.graph.tree.watched`): calls of that
        function start there anew. None of others, and of an unpredictable state.
    """

    taken: list[tuple[int, Node, Node]] | None = None
    set_in: Any = None

    def __init__(self, seed: Any = None) -> None:
        if type(self) is BitGenerator:
            raise NotImplementedError("BitGenerator is a base class and cannot be instantized")
        self.seed_seq = seed if hasattr(seed, "generate_state") else _entropy(host_numbers(seed))
        self.lock = lock()

    def spawn(self, n_children: int) -> list[Any]:
        """Bit generators of independent streams.

        Parameters
        ----------
        n_children : int
            How many.
        """
        if not hasattr(self.seed_seq, "spawn"):
            raise TypeError("The underlying SeedSequence does not implement spawning.")
        children = [type(self)(child) for child in self.seed_seq.spawn(as_integer(n_children))]
        for child in children:
            child.set_in = self.set_in  # What spawns gives other ones the next time, unless it starts anew itself.
        return children


class Philox(BitGenerator):
    """Philox 4x32-10 (Salmon and others 2011): counter-based, so that any element can be computed alone.

    Parameters
    ----------
    seed : int, sequence of int or SeedSequence, optional
        Where to start; unpredictable by default.
    counter : int, optional
        Number of the first block, 64 bits.
    key : int, optional
        The key itself, 64 bits, instead of a seed.

    Examples
    --------
    >>> Philox(key=7).state["state"]
    {'counter': 0, 'key': 7}
    """

    def __init__(self, seed: Any = None, counter: Any = None, key: Any = None) -> None:
        if seed is not None and key is not None:
            raise ValueError("seed and key cannot be both used")
        super().__init__(seed)
        self._key = int(self.seed_seq.generate_state(1, np.uint64)[0]) if key is None else _word(key, "key")
        self._counter = 0 if counter is None else _word(counter, "counter")
        self.set_in = None if seed is None and key is None else watched()

    @property
    def state(self) -> dict[str, Any]:
        """Key and number of the next block; assigning it goes on from there."""
        return {"bit_generator": "Philox", "state": {"counter": self._counter, "key": self._key}}

    @state.setter
    def state(self, value: Mapping[str, Any]) -> None:
        if not isinstance(value, Mapping):
            raise TypeError("state must be a dict")
        if value.get("bit_generator") != "Philox":
            raise ValueError("state must be for a Philox PRNG")
        inner = value["state"]
        key, counter = _word(inner["key"], "key"), _word(inner["counter"], "counter")
        with self.lock:
            self._key, self._counter = key, counter
            self.set_in = watched()

    @property
    def _seed_seq(self) -> Any:
        """Its seed sequence, by the name that Dask asks NumPy's bit generators for."""
        return self.seed_seq

    def __getstate__(self) -> dict[str, Any]:
        return {"seed_seq": self.seed_seq, "state": self.state}

    def __setstate__(self, value: dict[str, Any]) -> None:
        self.lock = lock()
        self.seed_seq = value["seed_seq"]
        self.state = value["state"]

    def reserve(self, count: int) -> tuple[int, int]:
        """Take the next `count` blocks: the number of the first of them, and the key."""
        with self.lock:
            start = self._counter
            self._counter = (start + count) % _WORD
            return start, self._key

    def give_back(self, start: int, count: int) -> None:
        """Go back to before the blocks that were taken from `start` on, unless others have taken some since then.

        Then nobody gets these blocks: they are lost, so that none are taken twice.
        """
        with self.lock:
            if self._counter == (start + count) % _WORD:
                self._counter = start

    def take(self, count: int) -> tuple[Node, Node]:
        """The number of the first of the next `count` blocks and the key, as values of the graph."""
        start, key = self.reserve(count)
        nodes = build.scalar(start, U64), build.scalar(key, U64)
        if tracing():
            return drawn_blocks(self, count, *nodes)
        if self.taken is not None:
            self.taken.append((count, *nodes))
        return nodes

    def counters(self, shape: tuple[int, ...]) -> tuple[Node, Node]:
        """The next counters, as many as `shape` has elements, and the key, as values of the graph."""
        start, key = self.take(prod(shape))
        return build.binary(ELEMENTWISE["add"], _numbers(shape), start), key

    def places(self, shape: tuple[int, ...], each: int) -> tuple[Node, Node, Node]:
        """Numbers of elements, their first block and the key, as values of the graph; `each` elements share a block."""
        return _numbers(shape), *self.take(-(-prod(shape) // each))

    def random_raw(self, size: Any = None, output: bool = True) -> Array:
        """Whole numbers of 64 random bits.

        Parameters
        ----------
        size : int or tuple of int, optional
            Shape of the result.
        output : bool, optional
            False only takes the blocks.
        """
        shape = shape_of(size)
        nodes = self.places(shape, 2)
        return wrap(build.elementwise(ELEMENTWISE["random_bits64"], nodes)) if output else None

    def advance(self, delta: int) -> Philox:
        """Go on `delta` blocks of 128 bits further on (or back)."""
        self.reserve(as_integer(delta))
        return self

    def jumped(self, jumps: int = 1) -> Philox:
        """A new bit generator `jumps` times 2**48 blocks further on in the same stream."""
        other = Philox(self.seed_seq)
        other.state = self.state
        other.set_in = self.set_in
        return other.advance(as_integer(jumps) * _JUMP)


def _numbers(shape: tuple[int, ...]) -> Node:
    """The numbers of a draw's elements, in C order."""
    count = prod(shape)
    node = build.iota(count)
    if shape != (count,):
        node = build.view(node, I64, 0, shape, c_strides(shape, 8))
    return build.cast(node, U64)


def _word(value: Any, name: str) -> int:
    host = np.asarray(host_numbers(value))
    number = int(host.item()) if host.size == 1 else -1
    if not 0 <= number < _WORD:
        raise ValueError(f"{name} must be an integer of 64 bits")
    return number


def bit_generator_of(seed: Any) -> Philox:
    """The bit generator of a seed of any kind that `default_rng` takes.

    NumPy's own generators give their seed, not their state: their streams are other ones.
    """
    held = getattr(seed, "bit_generator", None) or getattr(seed, "_bit_generator", seed)
    if isinstance(held, Philox):
        return held
    if isinstance(held, np.random.BitGenerator):
        return Philox(held.seed_seq)
    return Philox(seed)


__all__ = ["BitGenerator", "Philox", "SeedSequence", "bit_generator_of"]
