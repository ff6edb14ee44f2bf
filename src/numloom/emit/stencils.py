"""Register-blocked stencils: threads that take a few rows of neighbours, and read what these share once.

Rows that do not begin at a multiple of 16 bytes cannot be read 16 bytes at a time as they are. But the words that hold
them can, so a thread reads words and takes its elements from them. Where several operands are one array seen from
different places (a stencil), they are read by the same words: a word is known by the operand that its array is bound
to, and where it lies from there. Where rows begin anywhere, words are single elements.
"""

from __future__ import annotations

from math import prod
from typing import NamedTuple

from numloom.base.dtypes import CTYPES, ITEMSIZES
from numloom.emit.mapping import THREADS, MapText, magic
from numloom.emit.values import loaded
from numloom.plan.program import Operand, Program

ACROSS = {True: 32, False: 256}
"""Threads side by side in a stencil: of words, of elements. Fewer were slower, most of all in three dimensions."""
ROWS = {16: 2, 8: 4, 0: 4}
"""Rows of a thread whose words have so many bytes (0: are elements)."""
HELD_BYTES = 512
"""Most bytes of words that a thread may hold; then it has fewer rows."""
UNUSED = 1.25
"""Most that stencils may be larger than what they cover."""


class StencilWord(NamedTuple):
    """A word of an array, by where it lies from what a thread reads of operand `operand`.

    `by` are steps along the outer dimensions; rows count from the thread's first one, columns (in words) from the word
    that holds its first element.
    """

    operand: int
    by: tuple[int, ...]
    row: int
    column: int


class Seen(NamedTuple):
    """Where a thread's elements of an operand's row are: `shift` elements into `first`, and on in `second`."""

    first: StencilWord
    second: StencilWord | None
    shift: int


class Stencil(NamedTuple):
    """`vector` neighbours in each of `rows` rows a thread; `sides` of a block's stencil."""

    word: int
    vector: int
    rows: int
    sides: tuple[int, int]


def stencil_of(kernel: MapText) -> Stencil | None:
    """The stencil for a map that is not read 16 bytes at a time as it is; None where stencils do not help."""
    program = kernel.program
    if kernel.gathers:
        return None
    sizes = [ITEMSIZES[operand.code] for operand in program.operands]
    for word in (16, 8):
        if _in_words(kernel, word):
            rows = ROWS[word] if kernel.rank > 1 else 1
            vector = word // max(sizes)
            while rows > 1 and word * len(_words(kernel, word, vector, rows)[0]) > HELD_BYTES:
                rows //= 2
            stencil = Stencil(word, vector, rows, (THREADS // ACROSS[True] * rows, ACROSS[True] * vector))
            if kernel.rank == 1 or _covers(program, stencil):
                return stencil
    single = Stencil(0, 1, ROWS[0], (ROWS[0], ACROSS[False]))
    # Single bytes took longer so (measured).
    if kernel.rank > 1 and sizes and 4 <= max(sizes) <= 8 and _covers(program, single):
        return single
    return None


def _covers(program: Program, stencil: Stencil) -> bool:
    """Whether stencils are not much larger than what they cover."""
    rows, columns = program.shape[-2:]
    high, wide = stencil.sides
    return -(-rows // high) * high * -(-columns // wide) * wide <= UNUSED * rows * columns


def _in_words(kernel: MapText, word: int) -> bool:
    """Whether what is read lies in words of so many bytes the same way in all rows, and results begin at words."""
    program = kernel.program
    box = program.box
    used = [program.operands[k] for k in kernel.reads] + [program.operands[s.operand] for s in program.stores]
    whole = [o for o in used if o.written] + ([] if box is None or box.fill >= 0 else [program.operands[box.base]])
    size = ITEMSIZES[used[0].code]
    return (
        size in (2, 4, 8)
        and size < word
        and all(ITEMSIZES[o.code] == size and not o.in_place for o in used)
        and all((o.strides[-1] == 1 and o.word >= word and o.past % size == 0) or not o.strides[-1] for o in used)
        and all(o.strides[-1] == 1 and o.past % word == 0 for o in whole)
        and (box is None or set(box.steps) == {1})
        and (kernel.rank == 1 or program.shape[-1] % (word // size) == 0)
    )


def _words(
    kernel: MapText, word: int, vector: int, rows: int
) -> tuple[dict[StencilWord, list[int]], dict[int, list[Seen]]]:
    """The words that a thread reads, with the rows that need each; and where it finds an operand's elements by row."""
    program, last = kernel.program, kernel.rank - 1
    words: dict[StencilWord, list[int]] = {}
    seen: dict[int, list[Seen]] = {}
    for k in kernel.reads:
        operand = program.operands[k]
        root, by = (operand.beside, operand.by) if operand.beside >= 0 else (k, (0,) * kernel.rank)
        size = ITEMSIZES[operand.code]
        down = by[last - 1] if last else 0
        begin = 0
        if operand.strides[-1]:
            begin = by[last] + (program.operands[root].past % word // size if vector > 1 else 0)
        column, shift = divmod(begin, vector)
        seen[k] = []
        moves = not last or program.operands[root].strides[last - 1]
        for row in range(rows):
            first = StencilWord(root, by[: max(last - 1, 0)], row + down if moves else 0, column)
            second = first._replace(column=column + 1) if shift else None
            seen[k].append(Seen(first, second, shift))
            for each in (first, second):
                if each is not None:
                    words.setdefault(each, []).append(row)
    return words, seen


def blocks_of(program: Program, stencil: Stencil) -> int:
    """Blocks that cover a space."""
    if len(program.shape) == 1:
        return -(-program.shape[0] // (THREADS * stencil.vector))
    sides = zip(program.shape[-2:], stencil.sides, strict=True)
    return prod(program.shape[:-2]) * prod(-(-extent // side) for extent, side in sides)


def stencil_body(kernel: MapText, stencil: Stencil, names: list[str], kind: str) -> list[str]:
    """Statements of a thread: read all words, then compute and write row by row.

    Of V neighbours those from `low` to `high` are in the box; the others are copied from its base.
    """
    program, box, last = kernel.program, kernel.program.box, kernel.rank - 1
    vector, rows, number = stencil.vector, stencil.rows, kernel.block.number
    column, full = names[last], f"({kind}){number(f'e{last}', program.shape[last])}"
    parts = box is not None and vector > 1
    tests = []
    if box is not None:
        among = names if vector == 1 else names[:-1]
        tests = [kernel.box_test(d, name, kind) for d, name in enumerate(among) if not kernel.box_full(d)]
    lines = _places(kernel, stencil, names, kind)
    if last == 0 and vector > 1:
        # What is left of a vector is taken one by one.
        lines.append(f"const bool whole = {column} + {vector} <= {full};")
    inside = f"{names[last - 1]} < ({kind}){number(f'e{last - 1}', program.shape[last - 1])}" if last else "true"
    if parts:
        lines += _part_of_box(kernel, column, kind, vector)
    present = "whole" if last == 0 and vector > 1 else "column"
    words, seen = _words(kernel, stencil.word, vector, rows)
    # Rows that are not there are the last one: loads that ask for nothing share what they compute.
    free = box is None and vector == 1 and last > 0 and all(0 <= word.row < rows for word in words)
    if free:
        extent = f"({kind}){number(f'e{last - 1}', program.shape[last - 1])}"
        lines.append(f"if (!column || row >= {extent}) return;")
        for row in range(rows):
            lines.append(f"const bool on{row} = row + {row} < {extent};")
            lines.append(f"const {kind} row{row} = on{row} ? row + {row} : {extent} - 1;")
    for row in range(0 if free else rows):
        own = f"const {kind} {names[last - 1]} = row + {row}; " if last else ""
        lines.append(f"bool in{row}, on{row}; {{ {own}in{row} = {present} && {inside};")
        lines.append(f"on{row} = {' && '.join([f'in{row}', *tests, *(['low < high'] if parts else [])])}; }}")
    places = {word: place for place, word in enumerate(words)}
    reach = _reach(words, seen, vector) if parts and not kernel.box_full(last) else {}
    for word, users in words.items():
        asked = [] if free else users
        lines.append(_read(kernel, stencil, word, places[word], asked, reach.get(word, ""), names, kind))
    for row in range(rows):
        lines.append(f"if (in{row}) {{" if parts else f"if (on{row}) {{")
        lines += [f"const {kind} {names[last - 1]} = row + {row};"] if last else []
        values = {}
        for k in kernel.reads:
            operand = program.operands[k]
            values[k] = loaded(_element(operand, seen[k][row], places, vector), operand.code)
        lines += _compute(kernel, vector, names, kind, values, f"on{row}" if parts else "")
        lines.append("}")
    if (box is not None and vector == 1) or (last == 0 and vector > 1):
        lines += _singly(kernel, stencil, names, kind, inside, full)
    return lines


def _part_of_box(kernel: MapText, column: str, kind: str, vector: int) -> list[str]:
    """Statements that say which of V neighbours are in the box along the last dimension."""
    box, last, number = kernel.program.box, kernel.rank - 1, kernel.block.number
    assert box is not None
    if kernel.box_full(last):
        return [f"const {kind} low = 0, high = {vector};"]
    start, end = number(f"bs{last}", box.starts[last]), number(f"be{last}", kernel.box_end(last))
    return [
        f"const {kind} low = {column} < ({kind}){start} ? ({kind}){start} - {column} : 0;",
        f"const {kind} high = {column} + {vector} > ({kind}){end} ? ({kind}){end} - {column} : {vector};",
    ]


def _reach(words: dict[StencilWord, list[int]], seen: dict[int, list[Seen]], vector: int) -> dict[StencilWord, str]:
    """For words of which elements outside of the box alone may be, when one inside is there: so memory is not left."""
    ahead: dict[StencilWord, int] = {}
    behind: dict[StencilWord, int] = {}
    for rows in seen.values():
        for each in rows:
            # Of the thread's elements those before `split` are in the first word, the others in the second.
            split = vector - each.shift if each.second is not None else vector
            ahead[each.first] = max(ahead.get(each.first, 0), split)
            if each.second is not None:
                behind[each.second] = min(behind.get(each.second, vector), split)
    found = {}
    for word in words:
        until, since = ahead.get(word, 0), behind.get(word, vector)
        if until < since:
            tests = [f"low < {until}"] if until else []
            found[word] = " || ".join([*tests, f"high > {since}"] if since < vector else tests)
    return {word: test for word, test in found.items() if ahead.get(word, 0) < vector}


def _read(
    kernel: MapText,
    stencil: Stencil,
    word: StencilWord,
    place: int,
    users: list[int],
    reach: str,
    names: list[str],
    kind: str,
) -> str:
    """The statement that reads a word: if one of the rows `users` is there, or (without any) in any case."""
    operand = kernel.program.operands[word.operand]
    ctype, last = CTYPES[operand.code], kernel.rank - 1
    wide = stencil.vector > 1 and operand.strides[-1] == 1
    past = operand.past % stencil.word // ITEMSIZES[operand.code] if wide else 0
    at = [_plus(name, step) for name, step in zip(names, word.by, strict=False)]
    row = _plus("row", word.row) if users else f"row{word.row}"
    at += [row] if last else []
    at.append(_plus(names[last], word.column * stencil.vector - past))
    where = f"{kernel.pointer(word.operand)} + ({kernel.offset(f's{word.operand}', operand.strides, at, kind)})"
    if not users:
        return f"const {ctype} w{place} = *({where});"
    test = " || ".join(f"on{row}" for row in dict.fromkeys(users))
    test = f"({test}) && ({reach})" if reach else test
    if wide:
        return f"nl::pack<{stencil.vector}, {ctype}> w{place}; if ({test}) nl::load(w{place}, {where});"
    return f"{ctype} w{place}; if ({test}) w{place} = *({where});"


def _plus(name: str, step: int) -> str:
    return f"({name} + {step})" if step else name


def _element(operand: Operand, seen: Seen, places: dict[StencilWord, int], vector: int) -> str:
    """Element `v` of what a thread reads of an operand's row."""
    first = f"w{places[seen.first]}"
    if vector == 1 or not operand.strides[-1]:
        return first
    if seen.second is None:
        return f"{first}.x[v]"
    return f"nl::pick({first}, w{places[seen.second]}, v + {seen.shift})"


def _compute(
    kernel: MapText, vector: int, names: list[str], kind: str, values: dict[int, str], part: str = ""
) -> list[str]:
    """Statements that compute a row's elements from their words, and write them.

    With `part` only if that is so, and only those in the box; what is not computed comes from the box's base.
    """
    operands, box = kernel.program.operands, kernel.program.box
    stores = [s.operand for s in kernel.program.stores]
    places = {k: f"{kernel.pointer(k)} + ({kernel.store_offset(k, names, kind)})" for k in stores}
    if vector == 1:
        lines = [f"{CTYPES[operands[k].code]} b{k};" for k in stores]
        lines.append(kernel.call(values, names, kind, {k: f"b{k}" for k in stores}))
        return lines + [f"*({places[k]}) = b{k};" for k in stores]
    lines = [f"nl::pack<{vector}, {CTYPES[operands[k].code]}> b{k};" for k in stores]
    each = kernel.call(values, [*names[:-1], f"({names[-1]} + v)"], kind, {k: f"b{k}.x[v]" for k in stores})
    loop = f"#pragma unroll\nfor (int v = 0; v < {vector}; ++v)"
    if part:
        assert box is not None
        lines.append(f"if ({part} && low == 0 && high == {vector}) {{\n{loop} {{ {each} }}\n}} else {{")
        if box.fill >= 0:
            lines.append(f"{loop} b{stores[0]}.x[v] = {kernel.around(names, kind)};")
        else:
            lines.append(f"nl::load(b{stores[0]}, &{kernel.around(names, kind)});")
        lines.append(f"if ({part}) {{")
        lines.append(f"{loop} if (v >= low && v < high) {{ {each} }}\n}} }}")
    else:
        lines.append(f"{loop} {{ {each} }}")
    return lines + [f"nl::store({places[k]}, b{k});" for k in stores]


def _singly(kernel: MapText, stencil: Stencil, names: list[str], kind: str, inside: str, full: str) -> list[str]:
    """Statements for elements one by one: what is left of a vector, and what single elements outside of a box copy."""
    program, box, last = kernel.program, kernel.program.box, kernel.rank - 1
    column = names[last]
    at = [*names[:-1], "one"]
    values = {}
    for k in kernel.reads:
        operand = program.operands[k]
        values[k] = loaded(f"{kernel.pointer(k)}[{kernel.offset(f's{k}', operand.strides, at, kind)}]", operand.code)
    compute = " ".join(_compute(kernel, 1, at, kind, values))
    if box is not None:
        store = program.stores[0].operand
        test = " && ".join(kernel.box_test(d, name, kind) for d, name in enumerate(at) if not kernel.box_full(d))
        copy = f"{kernel.pointer(store)}[{kernel.store_offset(store, at, kind)}] = {kernel.around(at, kind)};"
        if stencil.vector == 1:
            compute = f"if (!({test or 'true'})) {copy}"
        else:
            compute = f"if ({test or 'true'}) {{ {compute} }} else {copy}"
    if stencil.vector > 1:
        end = f"{column} + {stencil.vector} < {full} ? {column} + {stencil.vector} : {full}"
        return [
            f"if (column && !whole)\n#pragma unroll 1\nfor ({kind} one = {column}; one < ({end}); ++one) {{",
            compute,
            "}",
        ]
    lines = [f"const {kind} one = {column};"]
    if last == 0:
        return [*lines, f"if (column) {{ {compute} }}"]
    lines.append(
        f"#pragma unroll\nfor (int r = 0; r < {stencil.rows}; ++r) {{ const {kind} {names[last - 1]} = row + r;"
    )
    return [*lines, f"if (column && {inside}) {{ {compute} }} }}"]


def _places(kernel: MapText, stencil: Stencil, names: list[str], kind: str) -> list[str]:
    """Statements that give a thread's (first) column, its first row, and the outer indices of the block's stencil."""
    last, shape, number = kernel.rank - 1, kernel.program.shape, kernel.block.number
    if last == 0:
        return [
            f"const {kind} {names[0]} = ((i64)blockIdx.x * {THREADS} + threadIdx.x) * {stencil.vector};",
            f"const bool column = {names[0]} < ({kind}){number('e0', shape[0])};",
        ]
    height, width = stencil.sides
    across = width // stencil.vector
    lines = ["i32 rest = (i32)blockIdx.x, q;"]
    for d in range(last, 0, -1):
        side = stencil.sides[d - last + 1] if d >= last - 1 else 1
        count = -(-shape[d] // side)
        m, s = magic(count, "i32")
        name = {last: "jt", last - 1: "it"}.get(d, names[d])
        lines.append(f"q = nl::divide(rest, {number(f'pm{d}', m)}, {number(f'ph{d}', s)});")
        lines.append(f"const {kind} {name} = rest - q * (i32){number(f'pe{d}', count)}; rest = q;")
    lines.append(f"const {kind} {names[0] if last > 1 else 'it'} = rest;")
    times = f" * {stencil.vector}" if stencil.vector > 1 else ""
    lines.append(f"const {kind} {names[last]} = jt * {width} + (i32)(threadIdx.x % {across}){times};")
    lines.append(f"const {kind} row = it * {height} + (i32)(threadIdx.x / {across}) * {stencil.rows};")
    lines.append(f"const bool column = {names[last]} < ({kind}){number(f'e{last}', shape[last])};")
    return lines


__all__ = ["Stencil", "blocks_of", "stencil_body", "stencil_of"]
