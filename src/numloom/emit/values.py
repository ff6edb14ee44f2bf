"""Instructions to C++ statements: the part of a kernel that both targets and all families share."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping, Sequence
from functools import cache

from numloom.base.dtypes import BOOL, CHARS, CTYPES, I64, ITEMSIZES, KINDS, ROUNDED
from numloom.emit.block import ParameterBlock
from numloom.ops.elementwise import cast_headers, cast_text, dtype_headers, header_order, headers_for
from numloom.ops.reductions import reduction_headers
from numloom.plan.program import Instr, Program

INCLUDE = os.path.join(os.path.dirname(__file__), "include")

VALUE_TYPES = tuple("f32" if code in ROUNDED else ctype for code, ctype in enumerate(CTYPES))
"""C++ type in which a value travels, by dtype code: float16, bfloat16 and float8 as a rounded float."""


@cache
def header(name: str) -> str:
    """Text of a prelude header, without its comment lines."""
    with open(os.path.join(INCLUDE, f"{name}.hpp"), encoding="utf-8") as file:
        lines = file.read().splitlines()
    return "\n".join(line for line in lines if line and not line.lstrip().startswith("//")) + "\n"


def prelude(program: Program) -> str:
    """Every prelude header that a program's values need, in order, then preambles of op definitions, each once."""
    needed: set[str] = set()
    preambles: dict[str, None] = {}
    chars = {CHARS[operand.code] for operand in program.operands}
    for instrs in (program.body, program.post, *(inner.body for inner in program.nested)):
        for instr in instrs:
            kind, char = instr.kind, CHARS[instr.code]
            chars.add(char)
            if kind == "op":
                op_def = instr.op_def
                if op_def.preamble:
                    needed.update(op_def.headers)
                    preambles.update(dict.fromkeys(op_def.preamble))
                else:
                    needed.update(headers_for(op_def, "".join([CHARS[instrs[arg].code] for arg in instr.args]), char))
            elif kind == "cast":
                needed.update(cast_headers(CHARS[instrs[instr.args[0]].code], char))
    reductions = [(reduction, each.body) for each in (program, *program.nested) for reduction in each.reductions]
    for reduction, body in reductions:
        needed.update(reduction_headers(reduction.op_def, CHARS[body[reduction.value].code]))
        chars.add(CHARS[reduction.code])
        preambles.update(dict.fromkeys(reduction.op_def.preamble))
    for char in chars:
        needed |= dtype_headers(char)
    return headers_text(frozenset(needed)) + "".join(preambles)


@cache
def headers_text(names: frozenset[str]) -> str:
    """The texts of these headers and of what they use, in order."""
    return "".join([header(name) for name in header_order(names)])


def loaded(expression: str, code: int) -> str:
    """A memory element as a value."""
    return f"nl::{CTYPES[code]}_to_f32({expression})" if code in ROUNDED else expression


def stored(expression: str, code: int) -> str:
    """A value as a memory element."""
    return f"nl::f32_to_{CTYPES[code]}({expression})" if code in ROUNDED else expression


def rounded(expression: str, code: int) -> str:
    """What an operation gave for a dtype that is computed in float32, as a value of that dtype; others as they are."""
    return f"nl::round_{CTYPES[code]}({expression})" if code in ROUNDED else expression


def statements(
    instrs: Sequence[Instr],
    block: ParameterBlock,
    prefix: str,
    reads: dict[int, str],
    iotas: dict[int, str],
    gathers: dict[int, str],
    reduced: Mapping[int, str] | None = None,
    only: Collection[int] | None = None,
    taken: Mapping[int, str] | None = None,
    inverses: Mapping[int, str] | None = None,
    nested: Mapping[int, str] | None = None,
    fast: bool = False,
    summed: bool = False,
) -> list[str]:
    """One ``const T name = ...;`` for each instruction.

    `reads` gives the expression of an operand's value at the current index, `iotas` that of an
    iota, `gathers` the pointer from which a gather reads, or `taken` what it has read, `reduced` the finished
    reductions (or, in a body, the values of the row), `nested` the results of nested reductions; `only` are the
    instructions wanted, if not all. `inverses`: what `nl::inverse` gave of values that many are divided by (``slow`` is
    set where a quotient needs more; where nothing is given the division is called). `fast`: functions take their short
    forms, which set ``slow``. `summed`: the elements belong to rows or columns that are reduced.
    """
    lines = []
    for number, instr in enumerate(instrs):
        if only is not None and number not in only:
            continue
        kind, code = instr.kind, instr.code
        ctype = VALUE_TYPES[code]
        if kind == "load":
            text = reads[instr.operand]
        elif kind == "op":
            chars = "".join([CHARS[instrs[arg].code] for arg in instr.args])
            template = instr.op_def.fast_text(chars, CHARS[code]) if fast else instr.op_def.text(chars, CHARS[code])
            if inverses and instr.op_def.quotient and instr.args[1] in inverses:
                inverse = inverses[instr.args[1]]
                template = f"nl::divide_by({{0}}, {{1}}, {inverse}, slow)" if inverse else "nl::divided({0}, {1})"
            text = rounded(_filled(template, prefix, instr.args, ctype), code)
        elif kind == "param":
            text = loaded(block.param(instr.index, code), code)
        elif kind == "iota":
            text = iotas[instr.index]
        elif kind == "cast":
            source = instrs[instr.args[0]]
            template = cast_text(CHARS[source.code], CHARS[code])
            if summed and source.kind == "load" and source.code == BOOL and KINDS[code] == "f":
                template = f"nl::of_truth<{VALUE_TYPES[code]}>({{0}})"
            text = _filled(template, prefix, instr.args, ctype)
            whole = source.kind == "cast" and KINDS[source.code] in "iu" and KINDS[code] in "fc"
            if whole and KINDS[instrs[source.args[0]].code] in "fc":
                # GCC makes a truncation of float, integer, float, which leaves a zero its sign.
                text = f"({prefix}{instr.args[0]} == 0 ? {template.replace('{0}', '0')} : {text})"
        elif kind == "bitcast":
            text = _bitcast(f"{prefix}{instr.args[0]}", instrs[instr.args[0]].code, code)
        elif kind == "gather":
            known = (taken or {}).get(number)
            text = known or loaded(f"{gathers[number]}[{gather_offset(instr, block, prefix)}]", code)
        elif kind == "nested":
            text = (nested or {})[instr.index]
        else:
            text = (reduced or {})[instr.index]
        lines.append(f"const {ctype} {prefix}{number} = {text};")
    return lines


def gather_offset(instr: Instr, block: ParameterBlock, prefix: str) -> str:
    """Elements from where a gather's pointer points to what it reads."""
    terms = []
    for k, (arg, (extent, stride)) in enumerate(zip(instr.args, instr.strides, strict=True)):
        index, most = f"{prefix}{arg}", block.number(f"ge{instr.index}_{k}", extent)
        if instr.inside:
            at = f"nl::from_end({index}, {most})"
        else:
            at = f"nl::checked({index}, {most}, {block.error()}, {block.location(instr.index)})"
        terms.append(f"{at} * {block.number(f'gs{instr.index}_{k}', stride)}")
    return " + ".join(terms)


def _filled(template: str, prefix: str, args: Sequence[int], ctype: str) -> str:
    for index, arg in enumerate(args):
        template = template.replace(f"{{{index}}}", f"{prefix}{arg}")
    return template.replace("{T}", ctype)


def _bitcast(value: str, source: int, target: int) -> str:
    if source == target:
        return value
    if source in ROUNDED:
        value = f"nl::f32_to_{CTYPES[source]}({value}).bits"
        if target not in ROUNDED:
            return f"({CTYPES[target]}){value}"
    if target in ROUNDED:
        return f"nl::from_bits_{CTYPES[target]}((u{8 * ITEMSIZES[target]}){value})"
    return f"nl::bit_cast<{CTYPES[target]}>({value})"


def read_operands(instrs: Sequence[Instr]) -> list[int]:
    """Operands that `load` instructions read, each once, in order."""
    return list(dict.fromkeys(instr.operand for instr in instrs if instr.kind == "load"))


def gather_instrs(instrs: Sequence[Instr]) -> list[int]:
    """Positions of the `gather` instructions."""
    return [number for number, instr in enumerate(instrs) if instr.kind == "gather"]


def iota_instrs(instrs: Sequence[Instr]) -> list[Instr]:
    """The `iota` instructions."""
    return [instr for instr in instrs if instr.kind == "iota"]


def behind(instrs: Sequence[Instr], roots: Sequence[int]) -> list[int]:
    """Positions of what some instructions are computed from, and their own, in order."""
    wanted = set(roots)
    for number in range(max(roots, default=-1), -1, -1):
        if number in wanted:
            wanted.update(instrs[number].args)
    return sorted(wanted)


__all__ = [
    "I64",
    "VALUE_TYPES",
    "behind",
    "gather_instrs",
    "gather_offset",
    "header",
    "iota_instrs",
    "loaded",
    "prelude",
    "rounded",
    "statements",
    "stored",
]
