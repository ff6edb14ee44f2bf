"""Which values are stored, and which stored values share a kernel.

Rules for storing, in order (docs/design/planning.md has the evidence):

- S1. What is asked for, and what a live array holds, is stored; slice updates and their bases too.
- S2. Reductions are stored, unless all that reads them is in their own kernel (see `plan.make_plan`). On a GPU those of
  rows of a few elements, cheap ones, that lead to another reduction (distances in space, then a sum or the nearest) are
  computed where they are read: the distances need no memory. Longer ones are nested reductions (`plan.nested`).
- S3. What is gathered from, or seen through a layout that cannot be followed, is stored.
- S4. A computed value read at more than one layout is stored, unless it costs next to nothing.
- S5. A costly value that is repeated by broadcasting, or read by several, is stored where recomputing
  costs more than memory does (about 8 instructions a byte).
- S7. What was computed from memory before a part of that is written, and is read behind, is stored if it is less than
  half of the memory, which would have to be copied.
- S6. No value is computed by more than `MAX_OPS` operations and `MAX_LOADS` inputs, and no kernel has more than
  `JOINED_OPS` operations, `MAX_LOADS` inputs or `MAX_OUTPUTS` outputs.

Kernels run in the order of their making. A stored value joins the latest kernel of its space that it
may join: one not before any kernel it needs, and, where it needs that kernel's own result, reading it
at the same position. So no dependency leaves a kernel and enters it again. A kernel that reduces along the
fast axis may go on with its rows once their results are there (softmax): what reads results of a row
for elements of that row joins while a row is at most `ROW_BYTES`, so that it stays on the chip: as many times that as
multiprocessors may share a row. Where several may, columns are kept so, too.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from math import prod

from numloom.base.dtypes import BOOL, ITEMSIZES, ROUNDED
from numloom.graph.layout import Layout, factor, may_overlap
from numloom.graph.node import CAST, FILL, GATHER, IOTA, LEAF, OP, REDUCE, SCALAR, UPDATE, VIEW, Node
from numloom.plan.nearby import Nearby, nearby_views
from numloom.plan.nested import SHORT, nested_rows
from numloom.plan.overwriting import alternate, box_of, fills_around, reads_apart
from numloom.plan.position import Map, compose, fit, identity, kept_position, same_position

MAX_OPS = 512
JOINED_OPS = 640
"""Operations of a value computed inline, and of a kernel: those that were stored since they had as many share one."""
MAX_LOADS = 40
_LONG = 1 << 10
"""Walks of more nodes drop what is known of values that all have read."""
MAX_OUTPUTS = 8
SMALL = 65536
"""Elements up to which launches, not bytes, decide, so that unrelated values share a kernel."""

ROW_BYTES = 1 << 17
"""Largest row that a multiprocessor keeps on the chip between reductions and what reads them."""

ROW_THREADS, EACH, BUSY = 128, 32, 1 << 14
"""Threads that reduce a short row, elements of one in long rows, and how many are few for a device that has many."""

LARGE = 1 << 16
"""Bytes from which a copy takes longer than the launch that spares it."""

LONG = 400
"""Cost of a thread's elements that takes as long as one more launch, about (4 µs; 8 for sixteen of two tanh each)."""

STRIP = 128
"""Bytes of neighbouring columns that are kept on the chip together, at least."""

LEAST = 32
"""Columns from which that is worth while."""

SHORT_COST = 64
"""Instructions that such a reduction may cost."""

GENERATED = (SCALAR, FILL, IOTA)


@dataclass(slots=True)
class Choice:
    """A walk with the decision of what is stored.

    `ops` and `loads` are bit sets over node numbers: the operations that are computed inline for a
    value, and the memory that it reads.
    """

    nodes: Sequence[Node]
    users: list[list[int]]
    stored: list[bool]
    memory: list[bool]
    """Whether others read the value from memory: computed, or stored and not merely generated."""

    ops: list[int]
    loads: list[int]
    begins: dict[int, tuple[int, int]] = field(default_factory=dict)
    """For views of computed memory that begin near another one: that one, and how many bytes further."""

    nested: frozenset[int] = frozenset()
    """Reductions that are nested reductions of what reads them (`plan.nested`)."""

    alike: dict[int, int] = field(default_factory=dict)
    """For views of computed memory that are the same layout as another one: that one. They are one value."""

    kernel: list[int] = field(default_factory=list)
    """Kernel of each stored value, or -1."""

    full: list[bool] = field(default_factory=list)
    """Whether a stored value is computed on its kernel's full space (else: after its reductions)."""

    cluster: int = 1
    """Most multiprocessors that may share a row."""

    short_rows: bool = False
    """Whether the device has many threads."""

    most_shared: int = 0
    """Values of a kernel without reductions: of most of them others may read nothing."""


@dataclass(slots=True)
class Draft:
    """A kernel in the making.

    `space` is the shape it runs over; with `axes` it reduces over them, walked in `order` (slowest first).
    `rows`: results of rows are read again for elements of those rows. `members` are the stored
    values it computes. `updates` are the numbers of the UPDATEs it runs, each of the one before, if any; `mode` then is
    "place" (into the base's memory), "copy" (into a copy of it) or "box" (old and new into fresh memory, one update).
    """

    index: int
    space: tuple[int, ...]
    members: list[int]
    axes: tuple[int, ...] | None = None
    order: tuple[int, ...] = ()
    fast: bool = True
    rows: bool = False
    row_bytes: int = 0
    ops: int = 0
    loads: int = 0
    updates: list[int] = field(default_factory=list)
    mode: str = ""
    arg_order: bool = False


def choose_stored(
    nodes: Sequence[Node],
    roots: Sequence[int],
    short_rows: bool = False,
    nearby: Mapping[int, Nearby] | None = None,
    tables: Collection[int] = (),
    cluster: int = 1,
) -> Choice:
    """Apply the rules for storing to a walk.

    With `short_rows` reductions of short rows are not all stored, but those in `tables` are. Up to `cluster`
    multiprocessors may share a row.
    """
    if nearby is None:
        nearby = nearby_views(nodes)
    total = len(nodes)
    users: list[list[int]] = [[] for _ in range(total)]
    for node in nodes:
        for arg in node.args:
            users[arg.number].append(node.number)
    nested = nested_rows(nodes, roots, users, tables) if short_rows else frozenset()
    stored = [False] * total
    memory = [node.kind == LEAF for node in nodes]
    for number in roots:
        stored[number] = True
    # By value, the layouts it is read at; they are compared, not hashed, since sizes may be traced (`plan.sizes`).
    layouts: dict[int, list[object]] = {}
    begins: dict[int, tuple[int, int]] = {}
    alike: dict[int, int] = {}
    known: dict[Nearby, list[Node]] = {}
    for node in nodes:
        kind = node.kind
        if kind == LEAF:
            continue
        if (
            (node.storages and kind != VIEW and kind not in GENERATED)
            or kind == UPDATE
            or (
                kind == REDUCE
                and node.number not in nested
                and not (short_rows and _is_short(node) and _leads_to_reduction(node, nodes, users))
            )
        ):
            stored[node.number] = True
        if kind == UPDATE:
            if not fills_around(node, users):
                _to_memory(node.args[0], stored, memory)
        elif kind == GATHER:
            source = node.args[0]
            _to_memory(source.args[0] if source.kind == VIEW else source, stored, memory)
        elif kind == VIEW:
            base = node.args[0]
            if base.kind == LEAF:
                first, by = nearby.get(node.number, (node.number, ()))
                further = sum(steps * stride for steps, stride in zip(by, node.strides, strict=False))
                begins[node.number] = first, further
                same = known.setdefault((first, by if any(by) else ()), [])
                for before in same:
                    if (node.code, node.shape, node.strides) == (before.code, before.shape, before.strides):
                        alike[node.number] = before.number
                        break
                else:
                    same.append(node)
                continue
            if not _followable(node, base):
                _to_memory(base, stored, memory)
            _add_layout(layouts.setdefault(base.number, []), (node.attr, node.shape, node.strides))
        for arg in node.args:
            if kind != VIEW and arg.number in layouts:
                _add_layout(layouts[arg.number], None)
    for node in nodes:
        if node.kind == UPDATE:
            _store_readers(node, nodes, users, stored, memory)
    for number, node in enumerate(nodes):
        if stored[number] and node.kind not in GENERATED:
            memory[number] = True
    choice = Choice(nodes, users, stored, memory, [0] * total, [0] * total, begins, nested, alike)
    for node in nodes:
        _weigh(choice, node, layouts)
        if total > _LONG:
            _forget_read(choice, node)
    choice.nested = frozenset([number for number in nested if not memory[number]])
    choice.cluster = cluster
    choice.short_rows = short_rows
    return choice


def _store_readers(
    update: Node, nodes: Sequence[Node], users: Sequence[Sequence[int]], stored: list[bool], memory: list[bool]
) -> None:
    """S7: of what an update overwrites, store what was computed before and is read behind it, if that is less."""
    base = update.args[0]
    least = base.size * ITEMSIZES[base.code]
    if base.storages or base.readers > base.seen or len(users[base.number]) < 2 or least < LARGE:
        return
    found, stack, seen = [], [number for number in users[base.number] if number < update.number], set()
    while stack:
        number = stack.pop()
        if number in seen or stored[number]:
            continue
        seen.add(number)
        if len(seen) > MAX_OPS:
            return
        node = nodes[number]
        behind = any([user > update.number for user in users[number]])
        if behind and node.kind in (OP, CAST):
            found.append(node)
        elif behind:
            return
        else:
            stack.extend(users[number])
    if 2 * sum([node.size * ITEMSIZES[node.code] for node in found]) <= least:
        for node in found:
            _to_memory(node, stored, memory)


def _add_layout(known: list[object], layout: object) -> None:
    """Note a layout; two are as good as many."""
    if len(known) < 2 and layout not in known:
        known.append(layout)


def _is_short(node: Node) -> bool:
    """Whether a reduction is of a few elements, which combine by an operation."""
    source, axes = node.args[0], node.attr[0]
    return (
        len(axes) == 1
        and 0 < source.shape[axes[0]] <= SHORT
        and node.op_def.pair
        and node.code == source.code
        and node.code != BOOL
        and node.code not in ROUNDED
    )


def _leads_to_reduction(node: Node, nodes: Sequence[Node], users: Sequence[Sequence[int]]) -> bool:
    """Whether elementwise work on a result leads to a reduction of other rows than its own."""
    shape, axes = node.args[0].shape, node.attr[0]
    seen = {node.number}
    stack = [node.number]
    while stack:
        for number in users[stack.pop()]:
            user = nodes[number]
            if user.kind == REDUCE:
                if user.args[0].shape != shape or user.attr[0] != axes:
                    return True
            elif user.kind in (OP, CAST, VIEW) and number not in seen and len(seen) < SHORT_COST:
                seen.add(number)
                stack.append(number)
    return False


def short_maps(node: Node, at: Map, rank: int) -> list[Map]:
    """Where the elements of a row are read if a reduction's result is read at an index map."""
    (axis,), _, keepdims = node.attr
    rest = (*at[:axis], *at[axis + 1 :]) if keepdims else at
    extent = node.args[0].shape[axis]
    return [(*rest[:axis], (k, (0,) * rank), *rest[axis:]) for k in range(extent)]


def _to_memory(node: Node, stored: list[bool], memory: list[bool]) -> None:
    """Others will read this value from memory, even if it could be generated."""
    if node.kind != LEAF:
        stored[node.number] = True
    memory[node.number] = True


def _memory_of(node: Node) -> Node:
    return node.args[0] if node.kind == VIEW else node


def _followable(view: Node, base: Node) -> bool:
    """Whether a computed base can be evaluated at the positions that the view reads."""
    if ITEMSIZES[view.code] != ITEMSIZES[base.code]:
        return False
    if base.kind in (SCALAR, FILL) and view.code == base.code:
        return True
    return factor(view.attr, view.shape, view.strides, base.shape, base.strides, ITEMSIZES[base.code]) is not None


def _weigh(choice: Choice, node: Node, layouts: dict[int, list[object]]) -> None:
    """Bit sets of a node from its arguments', cutting where a kernel would become too large."""
    number = node.number
    ops, loads, nodes = choice.ops, choice.loads, choice.nodes
    kind = node.kind
    if kind == LEAF:
        return
    if kind == VIEW:
        base = node.args[0]
        if choice.memory[base.number]:
            loads[number] = 1 << number
        else:
            ops[number] = ops[base.number]
            loads[number] = loads[base.number]
        return
    if kind in GENERATED:
        return
    own_ops = 1 << number
    own_loads = 0
    for arg in node.args:
        own_ops |= _inlined_ops(choice, arg)
        own_loads |= _inlined_loads(choice, arg)
    while own_ops.bit_count() > MAX_OPS or own_loads.bit_count() > MAX_LOADS:
        # S6: store the heaviest argument; what is left is lighter by all of it.
        heaviest = max(
            (arg for arg in node.args if _can_store(choice, arg)),
            key=lambda arg: ops[arg.number].bit_count() + loads[arg.number].bit_count(),
            default=None,
        )
        if heaviest is None:
            break
        target = _memory_of(heaviest)
        _to_memory(target, choice.stored, choice.memory)
        if heaviest.kind == VIEW:
            ops[heaviest.number] = 0
            loads[heaviest.number] = 1 << heaviest.number
        own_ops, own_loads = 1 << number, 0
        for arg in node.args:
            own_ops |= _inlined_ops(choice, arg)
            own_loads |= _inlined_loads(choice, arg)
    ops[number], loads[number] = own_ops, own_loads
    if choice.stored[number] or kind not in (OP, CAST, GATHER, REDUCE) or number in choice.nested:
        return
    if kind == REDUCE and _costs_more(nodes, own_ops, SHORT_COST // SHORT - own_loads.bit_count()):
        _to_memory(node, choice.stored, choice.memory)
        return
    users = choice.users[number]
    widest = 0
    for user in _through_views(choice, users):
        reader = nodes[user]
        # What is stored to a slice is read once for each of its elements.
        size = node.size if reader.kind == UPDATE else reader.size
        if size > widest:
            widest = size
    if (
        # S4: read at several layouts.
        (len(layouts.get(number, ())) > 1 and (own_loads.bit_count() > 1 or _costs_more(nodes, own_ops, 4)))
        # S5: several readers (which is free if they share a kernel), or repeated by broadcasting.
        or (len(users) > 1 and _costs_more(nodes, own_ops, 8 * 2 * ITEMSIZES[node.code]))
        or (widest >= 4 * node.size and _costs_more(nodes, own_ops, _repeated(choice, node, own_loads)))
    ):
        _to_memory(node, choice.stored, choice.memory)


def _through_views(choice: Choice, users: Sequence[int]) -> list[int]:
    """Who reads a value, and who reads its views."""
    found = list(users)
    for user in found:  # Which grows.
        if choice.nodes[user].kind == VIEW:
            found.extend(choice.users[user])
    return found


def _repeated(choice: Choice, node: Node, loads: int) -> int:
    """Instructions that elements may take which broadcasting repeats; what is made of counters alone reads nothing.

    None, where a reduction's kernel can compute them after its results: that takes no other launch.
    """
    if node.size == 1:
        return 100
    if not loads:
        return 15
    while loads:
        highest = loads.bit_length() - 1
        read = _memory_of(choice.nodes[highest])
        if read.kind == REDUCE and read.size == node.size:
            return 0
        loads ^= 1 << highest
    return 7


def _forget_read(choice: Choice, reader: Node) -> None:
    """Drop the bit sets of arguments that nobody else will read.

    A set has as many bits as there are nodes before: of all nodes of a walk they would take its square. What is stored
    and what is written keep them for kernels, and the base of a view since that may be stored in its place.
    """
    for arg in reader.args:
        users = choice.users[arg.number]
        if (
            users[-1] == reader.number
            and not choice.stored[arg.number]
            and not any([choice.nodes[user].kind in (UPDATE, VIEW) for user in users])
        ):
            choice.ops[arg.number] = choice.loads[arg.number] = 0


def _can_store(choice: Choice, arg: Node) -> bool:
    target = _memory_of(arg)
    return (
        target.kind not in (LEAF, *GENERATED)
        and not choice.memory[target.number]
        and (choice.ops[arg.number].bit_count() > 1 or choice.loads[arg.number].bit_count() > 1)
    )


def _inlined_ops(choice: Choice, arg: Node) -> int:
    return 0 if choice.memory[arg.number] else choice.ops[arg.number]


def _inlined_loads(choice: Choice, arg: Node) -> int:
    return 1 << arg.number if choice.memory[arg.number] else choice.loads[arg.number]


def _costs_more(nodes: Sequence[Node], ops: int, limit: int) -> bool:
    """Whether a set of operations costs more instructions an element than so many, about."""
    while ops:
        highest = ops.bit_length() - 1
        op_def = nodes[highest].op_def
        limit -= op_def.cost if op_def is not None and hasattr(op_def, "cost") else 2
        if limit < 0:
            return True
        ops ^= 1 << highest
    return limit < 0


# ---------------------------------------------------------------- kernels


def group(choice: Choice, most_shared: int) -> list[Draft]:
    """Put each stored value into a kernel; one that only maps may have `most_shared` of them."""
    drafts: list[Draft] = []
    nodes = choice.nodes
    choice.most_shared = most_shared
    choice.kernel = [-1] * len(nodes)
    choice.full = [True] * len(nodes)
    for node in nodes:
        if node.kind == LEAF or not choice.stored[node.number]:
            continue
        if node.kind == UPDATE:
            _draft_update(choice, drafts, node)
        elif node.kind == REDUCE:
            _place(choice, drafts, node, node.args[0].shape, node)
        else:
            _place(choice, drafts, node, node.shape, None)
    return drafts


def dependencies(choice: Choice, number: int) -> tuple[dict[int, set[Map | None]], int, int]:
    """Stored values that one needs, each with where it is read over the reader's space (None: elsewhere).

    Also gives bit sets of the operations and the loads that it computes inline.
    """
    memory = choice.memory
    node = choice.nodes[number]
    loads = 0
    ops = 1 << number
    needs = False
    # Most read nothing but what is in memory already, so where they read it does not matter.
    waiting = list(node.args)
    visited = set()
    while waiting:
        arg = waiting.pop()
        at = arg.number
        if at in visited:
            continue
        visited.add(at)
        if memory[at]:
            loads |= 1 << at
            needs = needs or arg.kind != LEAF
        elif arg.kind not in GENERATED:
            if arg.kind == VIEW:
                loads |= 1 << at
            else:
                ops |= 1 << at
            waiting += arg.args
    return (_where_read(choice, node) if needs else {}), ops, loads


def _where_read(choice: Choice, node: Node) -> dict[int, set[Map | None]]:
    """Stored values that one needs, with where each is read over the reader's space."""
    memory = choice.memory
    space = node.args[0].shape if node.kind == REDUCE else node.shape
    found: dict[int, set[Map | None]] = {}
    seen: set[tuple[int, Map | None]] = set()
    root = identity(space)
    stack: list[tuple[Node, Map | None]] = (
        [(node.args[0], root)] if node.kind == REDUCE else _read_at(node, root, len(space))
    )
    while stack:
        arg, where = stack.pop()
        at = arg.number
        if (at, where) in seen:
            continue
        seen.add((at, where))
        if memory[at]:
            if arg.kind != LEAF:
                found.setdefault(at, set()).add(where)
        elif arg.kind not in GENERATED:
            stack.extend(_read_at(arg, where, len(space)))
    return found


def _read_at(node: Node, at: Map | None, rank: int) -> list[tuple[Node, Map | None]]:
    """Where the arguments of a value are read if that is read at an index map."""
    if at is None or node.kind == GATHER:
        return [(arg, None) for arg in node.args]
    if node.kind == REDUCE:
        source, axes = node.args[0], node.attr[0]
        if source.shape[axes[0]] > SHORT:
            return [(source, None)]
        return [(source, where) for where in short_maps(node, at, rank)]
    if node.kind == VIEW:
        base = node.args[0]
        if ITEMSIZES[node.code] != ITEMSIZES[base.code]:
            return [(base, None)]
        found = factor(node.attr, node.shape, node.strides, base.shape, base.strides, ITEMSIZES[base.code])
        return [(base, None if found is None else compose(at, found[0], found[1], rank))]
    return [(arg, fit(at, arg.shape, node.shape)) for arg in node.args]


def _place(choice: Choice, drafts: list[Draft], node: Node, space: tuple[int, ...], reduction: Node | None) -> None:
    number = node.number
    found, ops, loads = dependencies(choice, number)
    first = 0
    for dependency, maps in found.items():
        index = choice.kernel[dependency]
        same = _reads_same(choice, drafts[index], dependency, maps, space)
        first = max(first, index if same else index + 1)
    joined = None
    size = 1
    for extent in space:
        size *= extent
    for index in range(len(drafts) - 1, first - 1, -1):
        draft = drafts[index]
        stage = _may_join(choice, draft, node, space, reduction, found, ops, loads, size)
        if stage:
            joined = draft
            choice.full[number] = stage == "full"
            break
    if joined is None:
        joined = Draft(len(drafts), space, [])
        drafts.append(joined)
    if choice.full[number]:
        inside = [n for n in found if choice.kernel[n] == joined.index]
        joined.rows = joined.rows or any(not choice.full[n] for n in inside)
    if reduction is not None:
        joined.axes, joined.fast, _ = reduction.attr
        joined.order = reduced_order(reduction)
        joined.arg_order = joined.arg_order or _finds_position(reduction)
        source = reduction.args[0]
        joined.row_bytes = max(joined.row_bytes, prod(space[axis] for axis in joined.axes) * ITEMSIZES[source.code])
        choice.full[number] = False
    joined.members.append(number)
    joined.ops |= ops
    joined.loads |= loads
    choice.kernel[number] = joined.index


def _reads_same(choice: Choice, draft: Draft, number: int, maps: set[Map | None], space: tuple[int, ...]) -> bool:
    """Whether a value over `space`, in this kernel, would read its member `number` at its own position."""
    shape = choice.nodes[number].shape
    rank = len(draft.space)
    own: Map | None = identity(space)
    if space != draft.space:
        own = None if draft.axes is None else kept_position(draft.space, draft.axes, space)
    if choice.full[number]:
        there = identity(draft.space) if shape == draft.space else None
    else:
        there = None if draft.axes is None else kept_position(draft.space, draft.axes, shape)
    if own is None or there is None:
        return False
    return all(
        at is not None
        and same_position(compose(own, [o for o, _ in at], [c for _, c in at], rank), there, shape, draft.space)
        for at in maps
    )


def reduced_order(reduction: Node) -> tuple[int, ...]:
    """Order in which a reduction walks its axes: physical, slowest first; C order for positions (argmin)."""
    axes: tuple[int, ...] = reduction.attr[0]
    if _finds_position(reduction):
        return axes
    source = reduction.args[0]
    return tuple(sorted(axes, key=lambda axis: -abs(source.strides[axis]) if source.strides[axis] else -(1 << 62)))


def _finds_position(reduction: Node) -> bool:
    return bool(reduction.op_def.better)


def _may_join(
    choice: Choice,
    draft: Draft,
    node: Node,
    space: tuple[int, ...],
    reduction: Node | None,
    found: dict[int, set[Map | None]],
    ops: int,
    loads: int,
    size: int,
) -> str:
    """How a value may join a kernel: "full", "post" (after its reductions), or not ("")."""
    if draft.updates or not size or 0 in draft.space:
        return ""
    most = choice.most_shared if reduction is None and draft.axes is None else MAX_OUTPUTS
    if len(draft.members) >= most or (draft.ops | ops).bit_count() > JOINED_OPS:
        return ""
    if (draft.loads | loads).bit_count() > MAX_LOADS:
        return ""
    inside = [number for number in found if choice.kernel[number] == draft.index]
    close = bool(inside) or bool(draft.loads & loads) or size <= SMALL
    of_rows = [number for number in inside if not choice.full[number]]
    if reduction is not None:
        if not close or draft.space != space or (of_rows and not _on_chip(choice, draft)):
            return ""
        if draft.axes is None:
            # A map kernel becomes a reducing one; its outputs are written on the way.
            return "full" if node.size and not _starves(choice, draft.ops | ops, size, node.size) else ""
        axes, fast, _ = reduction.attr
        wide = [[axis for axis in order if space[axis] > 1] for order in (draft.order, reduced_order(reduction))]
        same = draft.axes == axes and draft.fast == fast and wide[0] == wide[1]
        # Rows that both would reduce inside count for more than a search without a tree.
        shared = any((draft.ops & ops) >> number & 1 for number in choice.nested)
        return "full" if same and (shared or _finds_position(reduction) == draft.arg_order) else ""
    after = draft.axes is not None and inside and len(of_rows) == len(inside)
    if after and kept_position(draft.space, draft.axes or (), space) is not None:
        return "post"
    if draft.space == space and close and (not of_rows or _on_chip(choice, draft)):
        return "full"
    return ""


def _starves(choice: Choice, ops: int, size: int, rows: int) -> bool:
    """Whether dear elements, which a map kernel computes by many threads, would be the work of the few of some rows."""
    if not choice.short_rows:
        return False
    cost = 0
    while ops:
        highest = ops.bit_length() - 1
        cost += getattr(choice.nodes[highest].op_def, "cost", 2)
        ops ^= 1 << highest
    threads = max(rows * ROW_THREADS, size // EACH)
    return threads < BUSY and size * cost > LONG * threads


def _on_chip(choice: Choice, draft: Draft) -> bool:
    """Whether the rows of a reducing kernel stay on the chip; of columns a strip."""
    most = ROW_BYTES * choice.cluster
    if choice.cluster == 1:
        return draft.fast and draft.row_bytes <= most
    count = prod([draft.space[axis] for axis in draft.axes or ()])
    if not draft.fast:
        return count * STRIP <= most and prod(draft.space) >= LEAST * count
    # Rows in pieces, as of a batch's channels, are shared by blocks more slowly than they are read twice (measured).
    kept = [axis for axis, extent in enumerate(draft.space) if extent > 1 and axis not in (draft.axes or ())]
    if kept and min(draft.axes or (0,)) < kept[-1]:
        most = ROW_BYTES
    # Registers hold narrow elements as words, and half as many words more if each element is one.
    words = 4 * count
    return words <= most + most // 2 if draft.row_bytes <= words else draft.row_bytes <= most


def _draft_update(choice: Choice, drafts: list[Draft], node: Node) -> None:
    """Decide how a slice update runs: in place, into a copy, or old and new into fresh memory.

    In place only where the rule of `plan.overwriting` proves that what is read is what was there before.
    """
    base, value = node.args
    offset, shape, strides, code = node.attr
    memory = choice.memory
    if not memory[base.number]:
        # A filled array that nobody else reads (`fills_around`).
        choice.kernel[node.number] = len(drafts)
        drafts.append(Draft(len(drafts), shape, [node.number], updates=[node.number], mode="box"))
        return
    itemsize = ITEMSIZES[code]
    region = Layout(offset, shape, strides)
    exclusive = _is_exclusive(choice, node)
    if exclusive and reads_apart(memory, value, base, region, itemsize):
        mode = "place"
    elif code == base.code and 2 * prod(shape) > base.size and box_of(node) is not None:
        mode = "box"
    elif exclusive and not memory[value.number] and not _is_computed_before(choice, node, value):
        # It reads what it overwrites: compute it into memory of its own first.
        _to_memory(value, choice.stored, memory)
        _place(choice, drafts, value, value.shape, None)
        mode = "place"
    else:
        mode = "copy"
    draft = _writes_beside(choice, drafts, node, region) if mode == "place" else None
    if draft is None:
        draft = Draft(len(drafts), shape, [], mode=mode)
        drafts.append(draft)
    draft.members.append(node.number)
    draft.updates.append(node.number)
    draft.ops |= _inlined_ops(choice, value)
    draft.loads |= _inlined_loads(choice, value)
    choice.kernel[node.number] = draft.index


def _is_exclusive(choice: Choice, node: Node) -> bool:
    """Whether nobody needs the base of an update once that has run; what else reads it runs before."""
    base = node.args[0]
    if base.storages or base.readers > base.seen or _is_read_outside(choice, base):
        return False
    return all(reader == node.number or choice.kernel[reader] >= 0 for reader in _stored_readers(choice, base))


def _is_read_outside(choice: Choice, base: Node) -> bool:
    """Whether work outside of the walk reads what is computed inline from `base`, and so will read that again."""
    seen: set[int] = set()
    stack = list(choice.users[base.number])
    while stack:
        number = stack.pop()
        if number in seen or choice.stored[number]:
            continue
        seen.add(number)
        node = choice.nodes[number]
        if node.readers > node.seen:
            return True
        stack.extend(choice.users[number])
    return False


def _is_computed_before(choice: Choice, node: Node, value: Node) -> bool:
    """Whether a kernel that was drafted before this update computes its value inline, and so takes it for no memory."""
    return any([reader != node.number and choice.kernel[reader] >= 0 for reader in _stored_readers(choice, value)])


def _writes_beside(choice: Choice, drafts: list[Draft], node: Node, region: Layout) -> Draft | None:
    """The kernel of the update before this one (in place), if both regions can be written at once."""
    base, value = node.args
    if base.kind != UPDATE or choice.kernel[base.number] < 0:
        return None
    draft = drafts[choice.kernel[base.number]]
    itemsize = ITEMSIZES[node.attr[3]]
    own = _inlined_loads(choice, value)
    ops, loads = draft.ops | _inlined_ops(choice, value), draft.loads | own
    close = bool(draft.loads & own) or prod(region.shape) <= SMALL
    if (
        draft.mode == "box"
        or draft.updates[-1] != base.number
        or draft.space != region.shape
        or not node.size
        or 0 in region.shape
        or len(draft.updates) >= MAX_OUTPUTS
        or ops.bit_count() > MAX_OPS
        or loads.bit_count() > MAX_LOADS
        or not _stored_readers(choice, base) <= {node.number}
    ):
        return None
    for number in _inputs(choice, value):
        if number != base.number and choice.nodes[number].kind != LEAF and choice.kernel[number] >= draft.index:
            return None
    for number in draft.updates:
        before = choice.nodes[number]
        offset, shape, strides, code = before.attr
        written = Layout(offset, shape, strides)
        if (
            before.args[1].shape != value.shape
            # Large parts that have nothing in common are better written one after another.
            or not (close or alternate(written, ITEMSIZES[code], region, itemsize))
            or may_overlap(written, ITEMSIZES[code], region, itemsize)
            # What the one writes the other does not read, but for what an element itself was before.
            or not reads_apart(choice.memory, value, base, written, ITEMSIZES[code], same=False)
            or not reads_apart(choice.memory, before.args[1], before.args[0], region, itemsize)
        ):
            return None
    return draft


def _inputs(choice: Choice, value: Node) -> set[int]:
    """Numbers of the memory that is read where `value` is computed inline."""
    found: set[int] = set()
    seen = {value.number}
    stack = [value]
    while stack:
        node = stack.pop()
        if choice.memory[node.number]:
            found.add(node.number)
            continue
        for arg in node.args:
            if arg.number not in seen:
                seen.add(arg.number)
                stack.append(arg)
    return found


def _stored_readers(choice: Choice, base: Node) -> set[int]:
    """Stored values that read `base`, themselves or through what is computed inline for them."""
    found: set[int] = set()
    seen: set[int] = set()
    stack = list(choice.users[base.number])
    while stack:
        number = stack.pop()
        if number in seen:
            continue
        seen.add(number)
        if choice.stored[number]:
            found.add(number)
        else:
            stack.extend(choice.users[number])
    return found
