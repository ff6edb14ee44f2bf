"""Gathers of rows as copies of 8-byte words: what is only moved need not be moved element by element."""

from __future__ import annotations

from dataclasses import replace
from math import prod

from numloom.base.dtypes import I64, ITEMSIZES
from numloom.plan.program import Instr, Program

WORD = 8


def in_words(program: Program) -> Program:
    """The same program over words, where all that it does along its inner dimension is to gather neighbours."""
    whole = program.reductions or program.box is not None or program.select or program.repeat is not None
    if whole or not program.shape or not prod(program.shape):
        return program
    gathers = [number for number, instr in enumerate(program.body) if instr.kind == "gather"]
    if len(gathers) != 1 or any(store.value != gathers[0] for store in program.stores):
        return program
    gather = program.body[gathers[0]]
    ratio = WORD // ITEMSIZES[gather.code]
    moved = {gather.operand, *(store.operand for store in program.stores)}
    if ratio < 2 or program.shape[-1] % ratio or any(stride % ratio for _, stride in gather.strides):
        return program
    for number, operand in enumerate(program.operands):
        if number in moved:
            strides = (*(s % ratio for s in operand.strides[:-1]), operand.strides[-1])
            fits = operand.aligned and operand.code == gather.code and strides == (0,) * (len(strides) - 1) + (1,)
        else:
            fits = operand.strides[-1] == 0
        if not fits:
            return program
    # The gathered value is moved, nothing else reads it, and where it comes from is the same along a row.
    loaded = {instr.operand for number, instr in enumerate(program.body) if instr.kind == "load"}
    iotas = [instr for instr in program.body if instr.kind == "iota"]
    if loaded & moved or any(iota.strides[-1] for iota in iotas):
        return program
    if any(gathers[0] in instr.args for instr in program.body):
        return program

    def inner(strides: tuple[int, ...]) -> tuple[int, ...]:
        return (*(s // ratio for s in strides[:-1]), strides[-1])

    operands = tuple(
        replace(operand, code=I64, strides=inner(operand.strides)) if number in moved else operand
        for number, operand in enumerate(program.operands)
    )
    pairs = tuple((extent, stride // ratio) for extent, stride in gather.strides)
    words: Instr = replace(gather, code=I64, strides=pairs)
    body = (*program.body[: gathers[0]], words, *program.body[gathers[0] + 1 :])
    shape = (*program.shape[:-1], program.shape[-1] // ratio)
    return replace(program, shape=shape, operands=operands, body=body)
