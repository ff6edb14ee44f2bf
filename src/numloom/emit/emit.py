"""The emitter's door: a program to its source, for both targets."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from numloom.base.later import Later
from numloom.emit.maps import emit_map
from numloom.emit.words import in_words
from numloom.ops.elementwise import header_order
from numloom.plan.program import KernelSource, Program

if TYPE_CHECKING:
    import hashlib

    from numloom.emit import compaction, nested, outer_products, reducing_host, repeating, rows, user
else:  # Families of kernels are imported when a program has one.
    hashlib, compaction, nested = Later("hashlib"), Later("numloom.emit.compaction"), Later("numloom.emit.nested")
    outer_products, reducing_host = Later("numloom.emit.outer_products"), Later("numloom.emit.reducing_host")
    repeating, rows, user = Later("numloom.emit.repeating"), Later("numloom.emit.rows"), Later("numloom.emit.user")

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
        family = nested.emit_nested
    elif program.by_rows:
        family = rows.emit_rows
    elif program.reductions:
        tile = outer_products.pair_tile_of(program)
        if tile is None:
            family = reducing_host.emit_reduction
        else:
            family = partial(outer_products.emit_outer_product, tile=tile)
    elif program.repeat is not None:
        family = repeating.emit_repeated
    else:
        family = compaction.emit_select if program.select else emit_map
    source = family(in_words(program), _ENTRY)
    text = FAST_MATH + source.text if fast_math and not _makes_random_numbers(program) else source.text
    entry = "k_" + hashlib.sha256(text.encode()).hexdigest()[:20]
    text = text.replace(_ENTRY, entry)
    if "namespace nl_user" in text:
        text = user.guarded(text, entry)
    return KernelSource(text, entry, source.words, source.geometry)


def _makes_random_numbers(program: Program) -> bool:
    inside = [instr for inner in program.nested for instr in inner.body]
    op_defs = [instr.op_def for instr in (*program.body, *program.post, *inside) if instr.kind == "op"]
    return any("philox" in header_order(op_def.headers) for op_def in op_defs)
