"""The steps of a plan, as data; node numbers are positions in the walk that the plan was made for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from numloom.plan.program import Program


@dataclass(slots=True, unsafe_hash=True)
class Binding:
    """Where a program's operand lies: `offset` bytes into the buffer of node `number`.

    The byte offset that VIEW node `view` carries is added (-1: none).
    """

    number: int
    offset: int
    view: int = -1


@dataclass(slots=True)
class Step:
    """One step: buffers it makes, then a copy or a kernel, then the values that are computed.

    Attributes
    ----------
    allocate : tuple of (number, bytes)
        Values that get a fresh buffer.
    adopt : tuple of (number, base number)
        Values that take over their base's buffer (updates in place).
    copy : tuple of (target number, source number, bytes) or None
        A whole-buffer copy that runs first.
    program, bindings, params
        The kernel: its operands' places, and (number, code) of host values that are parameters.
    computed : tuple of int
        Values that are leaves after this step.
    release : tuple of int
        Values that no later step needs.
    prepared : dict
        What a device made of the program (kernel, parameter block), by device name.
    """

    allocate: tuple[tuple[int, int], ...] = ()
    adopt: tuple[tuple[int, int], ...] = ()
    copy: tuple[int, int, int] | None = None
    program: Program | None = None
    bindings: tuple[Binding, ...] = ()
    params: tuple[tuple[int, int], ...] = ()
    iota_offsets: tuple[int, ...] = ()
    computed: tuple[int, ...] = ()
    release: tuple[int, ...] = ()
    gathers: tuple[int, ...] = ()
    prepared: dict[str, Any] = field(default_factory=dict)

    def numbers(self) -> Iterator[int]:
        """Every node number that running this step touches."""
        for number, _ in self.allocate:
            yield number
        for number, base in self.adopt:
            yield number
            yield base
        if self.copy is not None:
            yield self.copy[0]
            yield self.copy[1]
        for binding in self.bindings:
            yield binding.number
            if binding.view >= 0:
                yield binding.view
        for number, _ in self.params:
            yield number
        yield from self.gathers
        yield from self.computed


@dataclass(slots=True, unsafe_hash=True)
class Plan:
    """Steps in order, and the values that no step touches."""

    steps: tuple[Step, ...]
    drop: tuple[int, ...]

    @property
    def kernels(self) -> int:
        """How many fused kernels the plan launches."""
        return sum(step.program is not None for step in self.steps)
