"""The emitter's door: a program to its source, for both targets."""

from __future__ import annotations

import hashlib
import sys
from functools import partial

from numloom.emit.compaction import emit_select
from numloom.emit.maps import emit_map
from numloom.emit.nested import emit_nested
from numloom.emit.outer_products import emit_outer_product, pair_tile_of
from numloom.emit.reducing_host import emit_reduction
from numloom.emit.repeating import emit_repeated
from numloom.emit.rows import emit_rows
from numloom.emit.user import guarded
from numloom.emit.words import in_words
from numloom.ops.elementwise import header_order
from numloom.plan.program import KernelSource, Program

_ENTRY = "nl_kernel_entry"

FAST_MATH = "// nvrtc: -use_fast_math -fmad=true -ftz=true -prec-div=false -prec-sqrt=false\n"
"""First line of a CUDA text with contraction, approximate division and functions, and no denormals of float32."""


def emit(program: Program, fast_math: bool = False) -> KernelSource:
    """C++ text, parameter words and launch geometry of a program.

    The text is the same for every size, stride and address of one structure, and its entry is
    named by a hash of it, so equal texts are equal kernels. With `fast_math` a CUDA compiler is told so by the text's
    first line, except where random numbers are made: these are the same on every machine.
    """
    if program.nested:
        family = emit_nested
    elif program.by_rows:
        family = emit_rows
    elif program.reductions:
        tile = pair_tile_of(program)
        family = emit_reduction if tile is None else partial(emit_outer_product, tile=tile)
    elif program.repeat is not None:
        family = emit_repeated
    else:
        family = emit_select if program.select else emit_map
    source = family(in_words(program), _ENTRY)
    text = FAST_MATH + source.text if fast_math and not _makes_random_numbers(program) else source.text
    entry = "k_" + hashlib.sha256(text.encode()).hexdigest()[:20]
    text = text.replace(_ENTRY, entry)
    if "namespace nl_user" in text:
        text = guarded(text, entry)
    # Of many steps with one kernel, one text is kept.
    return KernelSource(sys.intern(text), entry, source.words, source.geometry)


def _makes_random_numbers(program: Program) -> bool:
    inside = [instr for inner in program.nested for instr in inner.body]
    op_defs = [instr.op_def for instr in (*program.body, *program.post, *inside) if instr.kind == "op"]
    return any("philox" in header_order(op_def.headers) for op_def in op_defs)
