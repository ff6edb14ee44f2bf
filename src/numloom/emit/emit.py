"""The emitter's door: a program to its source, for both targets."""

from __future__ import annotations

import hashlib

from numloom.emit.maps import emit_map
from numloom.emit.reducing import emit_reduction
from numloom.emit.rows import emit_rows
from numloom.emit.selecting import emit_select
from numloom.emit.words import in_words
from numloom.plan.program import Program, Source

_ENTRY = "nl_kernel_entry"


def emit(program: Program) -> Source:
    """C++ text, parameter words and launch geometry of a program.

    The text is the same for every size, stride and address of one structure, and its entry is
    named by a hash of it, so equal texts are equal kernels.
    """
    if program.by_rows:
        family = emit_rows
    else:
        family = emit_reduction if program.reductions else emit_select if program.select else emit_map
    source = family(in_words(program), _ENTRY)
    entry = "k_" + hashlib.sha256(source.text.encode()).hexdigest()[:20]
    return Source(source.text.replace(_ENTRY, entry), entry, source.words, source.geometry)
