"""The package's single-operation loops."""

from __future__ import annotations

from numloom.emit.loops import all_loops, loop_source
from numloom.ops.single_loops import loop_words


def test_every_loop_takes_the_words_that_its_caller_fills():
    seen = set()
    for op, codes, out in all_loops():
        words = [-1 if word.kind == "constant" else word.index for word in loop_source(op, codes, out).words]
        assert {word.kind for word in loop_source(op, codes, out).words} == {"constant", "pointer"}
        assert tuple(words) == loop_words(op), op.name
        seen.add(op.nin)
    assert seen >= {1, 2, 3}
