"""Running a plan: buffers, parameter blocks, launches; values become leaves as they are computed.

A step is prepared once for each device (text, kernel, parameter block with everything that does
not change); running it again patches addresses and numbers and launches. A value becomes a leaf
only after its step was launched, so a failure leaves the rest pending.
"""

from __future__ import annotations

from array import array
from struct import Struct
from typing import Any

import numpy as np

from numloom.base.config import config
from numloom.base.dtypes import DTYPES, F32, F64, I64
from numloom.emit.emit import emit
from numloom.emit.loops import loops_text
from numloom.engine.interpret import can_interpret, interpret
from numloom.engine.state import counters
from numloom.graph.node import Node, become_leaf
from numloom.plan.step import Plan, Step

_float_word = Struct("<f4x")
_double_word = Struct("<d")
_long_word = Struct("<q")


class Prepared:
    """A step made ready for one device.

    Attributes
    ----------
    kernel : object
        The device's kernel; while it is not ready the interpreter does the work.
    words : array of int64
        The parameter block.
    pointers : list of (word, number, offset, view)
        Words that are addresses.
    params : list of (word, number, code)
        Words that are host values.
    workspace : int
        Word that is the address of scratch memory, or -1.
    """

    __slots__ = ("error", "geometry", "kernel", "params", "pointers", "runs", "source", "words", "workspace")

    def __init__(self, step: Step, device: Any) -> None:
        source = emit(step.program)  # type: ignore[arg-type]
        self.source = source
        self.geometry = source.geometry
        wait = device.name != "cpu"
        if not wait and config.cpu_compile != "wait":
            device.load_loops(loops_text, wait=False)
            wait = not can_interpret(step.program, device.loops)  # type: ignore[arg-type]
        self.kernel = device.kernel(source.text, source.entry, wait=wait)
        self.runs = 0
        self.workspace = -1
        self.pointers = []
        self.params = []
        self.words = array("q", bytes(8 * len(source.words)))
        for index, word in enumerate(source.words):
            kind = word.kind
            if kind == "pointer":
                binding = step.bindings[word.index]
                self.pointers.append((index, binding.number, binding.offset, binding.view))
            elif kind == "param":
                number, code = step.params[word.index]
                self.params.append((index, number, code))
            elif kind == "iota_offset":
                self.words[index] = step.iota_offsets[word.index]
            elif kind == "error":
                self.words[index] = device.error_address()
            elif kind == "workspace":
                self.workspace = index
            elif kind != "unused":
                self.words[index] = word.value


def run_plan(plan: Plan, nodes: list[Node], device: Any) -> None:
    """Run every step of a plan over the nodes of a walk with the plan's key."""
    held: list[Any] = nodes
    for number in plan.drop:
        held[number] = None
    for step in plan.steps:
        run_step(step, held, device)
        for number in step.release:
            held[number] = None


def run_step(step: Step, nodes: list[Any], device: Any) -> None:
    """Run one step."""
    buffers: dict[int, Any] = {}
    for number, nbytes in step.allocate:
        buffers[number] = device.allocate(nbytes)
    for number, base in step.adopt:
        buffers[number] = nodes[base].buffer
    if step.copy is not None:
        target, source, nbytes = step.copy
        device.copy(buffers[target], 0, nodes[source].buffer, 0, nbytes)
        counters.copies += 1
    if step.program is not None:
        launch(step, nodes, buffers, device)
    for number in step.computed:
        become_leaf(nodes[number], buffers[number])


def launch(step: Step, nodes: list[Any], buffers: dict[int, Any], device: Any) -> None:
    """Bind a step's kernel to addresses and numbers, and launch it (or interpret it meanwhile)."""
    prepared = step.prepared.get(device.name)
    if prepared is None:
        prepared = step.prepared[device.name] = Prepared(step, device)
    counters.kernels += 1
    words = prepared.words
    for word, number, offset, view in prepared.pointers:
        buffer = buffers.get(number)
        if buffer is None:
            buffer = nodes[number].buffer
        if view >= 0:
            offset += nodes[view].attr
        words[word] = buffer.ptr + offset
    for word, number, code in prepared.params:
        pack(words, word, nodes[number].attr, code)
    if prepared.workspace >= 0:
        geometry = prepared.geometry
        words[prepared.workspace] = device.workspace(geometry.workspace, geometry.counters)
    if prepared.kernel.ready:
        device.launch(prepared.kernel, words, prepared.geometry)
    else:
        run_interpreted(step, prepared, nodes, device)


def pack(words: Any, word: int, value: Any, code: int) -> None:
    """Put a host value into a parameter block as an element of dtype `code`."""
    if value is None:
        value = 0
    if code == F32:
        try:
            words[word] = _long_word.unpack(_float_word.pack(value))[0]
        except OverflowError:
            words[word] = _long_word.unpack(_float_word.pack(float("inf") if value > 0 else -float("inf")))[0]
    elif code == F64:
        words[word] = _long_word.unpack(_double_word.pack(value))[0]
    elif code == I64:
        words[word] = value
    else:
        with np.errstate(all="ignore"):
            raw = np.array(value).astype(DTYPES[code]).tobytes()
        raw += bytes(-len(raw) % 8)
        for index in range(0, len(raw), 8):
            words[word + index // 8] = _long_word.unpack_from(raw, index)[0]


def run_interpreted(step: Step, prepared: Prepared, nodes: list[Any], device: Any) -> None:
    """Tier 0 of the CPU executor: the same program by NumPy and precompiled single-operation loops."""
    pointers = [0] * len(step.bindings)
    for index, word in enumerate(prepared.source.words):
        if word.kind == "pointer":
            pointers[word.index] = prepared.words[index]
    with np.errstate(all="ignore"):
        numbers = [(nodes[number].attr, code) for number, code in step.params]
        params = [np.array(0 if number is None else number).astype(DTYPES[code])[()] for number, code in numbers]
    interpret(step.program, pointers, params, step.iota_offsets, device)


__all__ = ["config", "run_plan"]
