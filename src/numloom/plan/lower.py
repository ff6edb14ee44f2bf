"""From a kernel in the making to a program: expressions followed through views as affine index maps.

While lowering, a position in a value is an *index map*: for each axis of the value, an offset and
one coefficient for each axis of the kernel's space. Views, broadcasts and transposes only change
the map, so they vanish; what reaches memory becomes strides of an operand.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from dataclasses import dataclass, field
from operator import index
from typing import Any

from numloom.base.dtypes import I64, ITEMSIZES
from numloom.graph.layout import displacement, factor
from numloom.graph.node import CAST, FILL, GATHER, IOTA, OP, REDUCE, SCALAR, VIEW, Node
from numloom.ops.elementwise import ELEMENTWISE, header_order
from numloom.plan.collapse import Space
from numloom.plan.group import Choice, Draft, short_maps
from numloom.plan.overwriting import box_of
from numloom.plan.position import Map, address, compose, fit, identity, kept_position, unit
from numloom.plan.program import Box, Instr, Operand, Program, Reduce, Store
from numloom.plan.step import Binding, Step


@dataclass(slots=True)
class Access:
    """An operand before the space is collapsed: strides in elements along the axes of its stage."""

    code: int
    strides: tuple[int, ...]
    binding: Binding
    post: bool = False
    written: bool = False
    in_place: bool = False
    past: int = 0
    """Bytes by which it begins past a multiple of 16."""
    inner: tuple[int, ...] = ()
    """Stride along the rows of a nested reduction, if it is read there."""


@dataclass(slots=True)
class Lowered:
    """A lowered kernel: everything but the choice of which of its values are stored."""

    choice: Choice
    draft: Draft
    space: Space
    body: list[Instr] = field(default_factory=list)
    post: list[Instr] = field(default_factory=list)
    accesses: list[Access] = field(default_factory=list)
    params: list[tuple[int, int]] = field(default_factory=list)
    iotas: list[tuple[int, tuple[int, ...], bool]] = field(default_factory=list)
    gathers: list[int] = field(default_factory=list)
    reductions: list[Reduce] = field(default_factory=list)
    nested: list[Program] = field(default_factory=list)
    inside: bool = False
    """Whether this is a nested reduction: the last axis of its space is that of its rows."""
    values: dict[int, int] = field(default_factory=dict)
    loaded: set[int] = field(default_factory=set)
    _operands: dict[Any, list[int]] = field(default_factory=dict)
    _param_of: dict[int, int] = field(default_factory=dict)

    def operand(self, code: int, strides: tuple[int, ...], binding: Binding, post: bool) -> int:
        """Number of the operand read there; equal reads share one."""
        inner: tuple[int, ...] = ()
        if self.inside:
            strides, inner = strides[:-1], strides[-1:]
        reads = self._operands.setdefault((code, binding.number, binding.view, post, self.inside), [])
        for number in reads:
            known = self.accesses[number]
            if known.strides == strides and known.binding.offset == binding.offset and known.inner == inner:
                return number
        number = len(self.accesses)
        reads.append(number)
        at = binding.offset
        if binding.view >= 0:
            at += self.choice.nodes[binding.view].attr & 15
        base = self.choice.nodes[binding.number]
        if base.buffer is not None:
            at += base.buffer.ptr & 15
        self.accesses.append(Access(code, strides, binding, post, past=at % 16, inner=inner))
        return number

    def reads(self, base: Node) -> int:
        """Number of the node in whose buffer a value lies, which is noted as read."""
        if base.number in self.draft.updates:
            # What another update of this kernel does not write is the array's from before all of them.
            base = self.choice.nodes[self.draft.updates[0]].args[0]
        self.loaded.add(base.number)
        return base.number

    def within(self, extent: int) -> Lowered:
        """A nested reduction over rows of `extent` elements: it shares operands and numbers."""
        lowered = Lowered(self.choice, self.draft, Space((*self.space.shape, extent), None, ()), inside=True)
        lowered.accesses, lowered.params, lowered.loaded = self.accesses, self.params, self.loaded
        lowered._operands, lowered._param_of = self._operands, self._param_of
        return lowered

    def param(self, number: int, code: int) -> int:
        """Number of the launch parameter that carries a host value."""
        index = self._param_of.get(number)
        if index is None:
            index = self._param_of[number] = len(self.params)
            self.params.append((number, code))
        return index

    # -------------------------------------------------------- to steps

    def steps(self, needed: Sequence[int]) -> list[Step]:
        """The kernel's steps, storing the values in `needed`."""
        draft, nodes = self.draft, self.choice.nodes
        if draft.updates:
            return self._update_steps()
        if not needed:
            return []
        allocate = tuple((number, nodes[number].size * ITEMSIZES[nodes[number].code]) for number in needed)
        if all(not nodes[n].size or (nodes[n].kind == FILL and nodes[n].attr is None) for n in needed):
            return [Step(allocate=allocate, computed=tuple(needed))]
        stores: list[Store] = []
        post_stores: list[Store] = []
        for number in needed:
            node = nodes[number]
            full = self.choice.full[number]
            strides = tuple(s // ITEMSIZES[node.code] for s in node.strides)
            at = len(self.accesses)
            self.accesses.append(Access(node.code, strides, Binding(number, 0), not full, written=True))
            (stores if full else post_stores).append(Store(self.values[number], at))
        return [self._kernel_step(stores, post_stores, None, allocate, tuple(needed))]

    def _update_steps(self) -> list[Step]:
        draft, nodes = self.draft, self.choice.nodes
        node = nodes[draft.updates[-1]]
        base = nodes[draft.updates[0]].args[0]
        nbytes = node.size * ITEMSIZES[node.code]
        number = node.number
        if draft.mode == "box":
            starts, counts, _ = box_of(node)  # type: ignore[misc]
            dense = tuple(s // ITEMSIZES[node.code] for s in node.strides)
            out = len(self.accesses)
            self.accesses.append(Access(node.code, dense, Binding(number, 0), written=True))
            ones = (1,) * len(starts)
            if not self.choice.memory[base.number]:
                box = Box(-1, starts, ones, counts, self.param(base.number, base.code))
            else:
                box = Box(self.operand(node.code, dense, Binding(base.number, 0), False), starts, ones, counts)
            return [self._kernel_step([Store(self.values[number], out)], [], box, ((number, nbytes),), (number,))]
        in_place = draft.mode == "place"
        # Memory that is written in place may be another library's, which begins anywhere.
        begin = base.buffer.ptr if in_place and base.buffer is not None else 0
        stores = []
        for update in draft.updates:
            offset, _, strides, code = nodes[update].attr
            stores.append(Store(self.values[update], len(self.accesses)))
            elements = tuple(s // ITEMSIZES[code] for s in strides)
            past = (offset + begin) % 16
            self.accesses.append(
                Access(code, elements, Binding(number, offset), written=True, in_place=in_place, past=past)
            )
        if in_place:
            for access in self.accesses:
                if access.binding.number == base.number:
                    access.in_place = True
            step = self._kernel_step(stores, [], None, (), (number,))
            step.adopt = ((number, base.number),)
            return [step]
        step = self._kernel_step(stores, [], None, ((number, nbytes),), (number,))
        step.copy = (number, base.number, nbytes)
        return [step]

    def _kernel_step(
        self,
        stores: list[Store],
        post_stores: list[Store],
        box: Box | None,
        allocate: tuple[tuple[int, int], ...],
        computed: tuple[int, ...],
    ) -> Step:
        space = self.space
        columns = [(a.strides, a.post) for a in self.accesses]
        columns += [(strides, post) for _, strides, post in self.iotas]
        order = self.accesses[stores[0].operand] if stores else None
        collapsed = space.collapse(columns, None if order is None else order.strides, box)
        operands = []
        beside = _beside(self.accesses, collapsed.strides)
        for k, (access, strides) in enumerate(zip(self.accesses, collapsed.strides, strict=False)):
            outer = [s * ITEMSIZES[access.code] for s in (strides if access.inner else strides[:-1])]
            word = next((word for word in (16, 8) if all(stride % word == 0 for stride in outer)), 0)
            past = access.past % word if word else 0
            operands.append(
                Operand(
                    access.code,
                    strides,
                    word,
                    past,
                    access.written,
                    access.in_place,
                    access.post,
                    *beside[k],
                    access.inner,
                )
            )
        iota_strides = collapsed.strides[len(self.accesses) :]

        draws = bool(self.iotas) and any(
            i.kind == "op" and "philox" in header_order(i.op_def.headers) for i in self.body
        )

        def numbers(index: int) -> Instr:
            strides = iota_strides[index]
            begins = (self.iotas[index][0], *strides[:-1]) if draws else (1,)
            return Instr("iota", I64, index=index, strides=strides, by_four=all(n % 4 == 0 for n in begins))

        def finished(instrs: list[Instr]) -> tuple[Instr, ...]:
            return tuple(numbers(i.index) if i.kind == "iota" else i for i in instrs)

        program = Program(
            shape=collapsed.shape,
            kept=collapsed.kept,
            body=finished(self.body),
            stores=tuple(stores),
            operands=tuple(operands),
            params=tuple(code for _, code in self.params),
            reductions=tuple(self.reductions),
            post=finished(self.post),
            post_stores=tuple(post_stores),
            box=collapsed.box,
            fast=self.draft.fast,
            nested=tuple(self.nested),
            cluster=self.choice.cluster if self.reductions else 1,
        )
        return Step(
            allocate=allocate,
            program=program,
            bindings=tuple(access.binding for access in self.accesses),
            params=tuple(self.params),
            iota_offsets=tuple(offset for offset, _, _ in self.iotas),
            computed=computed,
            gathers=tuple(self.gathers),
        )


def _beside(accesses: Sequence[Access], strides: Sequence[tuple[int, ...]]) -> list[tuple[int, tuple[int, ...]]]:
    """For each access the first one that reads the same array from nearby, and by how many steps it is further."""
    found: list[tuple[int, tuple[int, ...]]] = []
    firsts: dict[tuple[int, ...], list[int]] = {}
    for number, access in enumerate(accesses):
        near: tuple[int, tuple[int, ...]] = (-1, ())
        if not (access.written or access.in_place or access.post or access.inner):
            binding = access.binding
            known = firsts.setdefault((access.code, binding.number, binding.view), [])
            for first in known:
                if strides[first] == strides[number]:
                    bytes_between = binding.offset - accesses[first].binding.offset
                    by = displacement(bytes_between, [s * ITEMSIZES[access.code] for s in strides[number]])
                    if by is not None:
                        near = (first, by)
                        break
            else:
                known.append(number)
        found.append(near)
    return found


def lower(choice: Choice, draft: Draft) -> Lowered:
    """Lower a kernel's members: expressions to instructions, memory to operands."""
    nodes = choice.nodes
    if draft.updates:
        node = nodes[draft.updates[0]]
        value = node.args[1]
        if draft.mode == "box":
            lowered = Lowered(choice, draft, Space(node.shape, None, ()))
            _, _, axes = box_of(node)  # type: ignore[misc]
            starts = box_of(node)[0]  # type: ignore[index]
            rank = len(node.shape)
            at = []
            for d in range(len(value.shape)):
                axis = axes.index(d) if d in axes else -1
                at.append((-starts[axis], unit(rank, axis)) if axis >= 0 else (0, (0,) * rank))
            lowered.values[node.number] = _lower_value(lowered, value, tuple(at), post=False)
            if choice.memory[node.args[0].number]:
                lowered.loaded.add(node.args[0].number)
        else:
            lowered = Lowered(choice, draft, Space(value.shape, None, ()))
            lowered.loaded.add(node.args[0].number)
            written = [
                (number, _lower_value(lowered, nodes[number].args[1], identity(value.shape), post=False))
                for number in draft.updates
            ]
            lowered.values.update(written)
        return lowered
    lowered = Lowered(choice, draft, Space(draft.space, draft.axes, draft.order))
    if not all(draft.space) and all(not nodes[n].size for n in draft.members):
        return lowered
    for number in draft.members:
        node = nodes[number]
        if node.kind == REDUCE:
            source = node.args[0]
            reduced = _lower_value(lowered, source, identity(source.shape), post=False, own=False)
            lowered.values[number] = len(lowered.post)
            lowered.post.append(Instr("reduced", node.code, index=len(lowered.reductions)))
            lowered.reductions.append(Reduce(node.op_def, reduced, node.code))
        elif node.size:
            post = not choice.full[number]
            own = kept_position(draft.space, draft.axes or (), node.shape) if post else identity(draft.space)
            assert own is not None
            lowered.values[number] = _lower_value(lowered, node, own, post=post)
    return lowered


def _lower_value(lowered: Lowered, root: Node, at: Map, post: bool, own: bool = True) -> int:
    """Instruction that gives `root` at an index map (iterative: arguments are pushed first).

    A value of this kernel's own is computed here if it is the root, but not if that is another's argument (`own`).
    """
    rank = len(lowered.space.shape)
    instrs = lowered.post if post else lowered.body
    memo: dict[tuple[int, Map], int] = lowered.space.memo(post)
    alike = lowered.choice.alike
    stack: list[tuple[Node, Map, list[tuple[Node, Map]] | None]] = [(root, at, None)]
    while stack:
        node, here, args = stack.pop()
        key = (alike.get(node.number, node.number), here)
        if args is None:
            if key in memo:
                continue
            found = _arguments(lowered, node, here, post, rank, own and node is root)
            if type(found) is int:
                memo[key] = found
                continue
            args = found
            missing = [
                (arg, where, None) for arg, where in args if (alike.get(arg.number, arg.number), where) not in memo
            ]
            if missing:
                stack.append((node, here, args))
                missing.reverse()
                stack += missing
                continue
        elif key in memo:
            continue
        values = tuple([memo[alike.get(arg.number, arg.number), where] for arg, where in args])
        kind = node.kind
        if kind == OP:
            instrs.append(Instr("op", node.code, values, node.op_def))
        elif kind in (VIEW, CAST):
            if node.args[0].code == node.code:
                memo[key] = values[0]
                continue
            instrs.append(Instr("cast" if kind == CAST else "bitcast", node.code, values))
        elif kind == REDUCE:
            memo[key] = _combine(node, values, instrs)
            continue
        else:
            instrs.append(_gather(lowered, node, here, values, post, rank))
        memo[key] = len(instrs) - 1
    return memo[alike.get(root.number, root.number), at]


def _arguments(lowered: Lowered, node: Node, here: Map, post: bool, rank: int, is_root: bool) -> Any:
    """An instruction (int) for what needs no arguments, else the list of the arguments with their maps."""
    choice = lowered.choice
    instrs = lowered.post if post else lowered.body
    kind = node.kind
    number = node.number
    if kind in (SCALAR, FILL):
        instrs.append(Instr("param", node.code, index=lowered.param(number, node.code)))
        return len(instrs) - 1
    if kind == IOTA and not (choice.memory[number] and not is_root):
        offset, strides = address(here, (1,), rank)
        lowered.iotas.append((offset, strides, post))
        instrs.append(Instr("iota", I64, index=len(lowered.iotas) - 1))
        return len(instrs) - 1
    if choice.memory[number] and not (is_root and number in lowered.draft.members):
        if number not in lowered.values:
            return _load(lowered, node, node, here, 0, -1, post, rank)
        if choice.full[number] != post:
            return lowered.values[number]
        if not post:
            return _of_row(lowered, lowered.values[number])
        # A row of one element is its row's one value: what the body has of it is computed again where rows are.
    if lowered.draft.rows and not post and kind in (OP, CAST) and lowered.space.of_row(here):
        # One value a row: computed once, not for every element.
        return _of_row(lowered, _lower_value(lowered, node, here, post=True))
    if kind == VIEW:
        base = node.args[0]
        if choice.memory[base.number] and base.number not in lowered.values:
            view, offset = (-1, node.attr) if base.buffer is None else choice.begins[number]
            return _load(lowered, base, node, here, offset, view, post, rank)
        found = factor(node.attr, node.shape, node.strides, base.shape, base.strides, ITEMSIZES[base.code])
        if base.kind in (SCALAR, FILL):
            return [(base, tuple((0, (0,) * rank) for _ in base.shape))]
        assert found is not None
        return [(base, compose(here, found[0], found[1], rank))]
    if kind == GATHER:
        _, position, count, _ = node.attr
        index_map = here[position : position + count]
        index_shape = node.shape[position : position + count]
        return [(arg, fit(index_map, arg.shape, index_shape) if arg.shape else ()) for arg in node.args[1:]]
    if kind == REDUCE and number in choice.nested:
        return _nested(lowered, node, here, rank)
    if kind == REDUCE:
        return [(node.args[0], where) for where in short_maps(node, here, rank)]
    assert kind in (OP, CAST), kind
    return [(arg, fit(here, arg.shape, node.shape)) for arg in node.args]


def _nested(lowered: Lowered, node: Node, here: Map, rank: int) -> int:
    """The instruction of a row's reduction at an index map: a nested reduction."""
    source = node.args[0]
    (axis,), fast, keepdims = node.attr
    extent = index(source.shape[axis])
    rest = [(offset, (*steps, 0)) for offset, steps in ((*here[:axis], *here[axis + 1 :]) if keepdims else here)]
    inside = lowered.within(extent)
    at = (*rest[:axis], (0, unit(rank + 1, rank)), *rest[axis:])
    value = _lower_value(inside, source, at, post=False)
    reductions = (Reduce(node.op_def, value, node.code),)
    lowered.nested.append(Program((extent,), 0, tuple(inside.body), (), (), reductions=reductions, fast=fast))
    lowered.body.append(Instr("nested", node.code, index=len(lowered.nested) - 1))
    return len(lowered.body) - 1


def _combine(node: Node, values: tuple[int, ...], instrs: list[Instr]) -> int:
    """The values of a short row combined as the tree of reductions does: by halves, or one after another."""
    op_def = ELEMENTWISE[node.op_def.pair]

    def pair(a: int, b: int) -> int:
        instrs.append(Instr("op", node.code, (a, b), op_def=op_def))
        return len(instrs) - 1

    if not node.attr[1]:
        return functools.reduce(pair, values)
    left = list(values)
    half = 1 << (len(left) - 1).bit_length() >> 1
    while half:
        left = [pair(left[k], left[k + half]) if k + half < len(left) else left[k] for k in range(half)]
        half //= 2
    return left[0]


def _of_row(lowered: Lowered, value: int) -> int:
    """An instruction of the body that gives a value of the row."""
    lowered.body.append(Instr("kept", lowered.post[value].code, index=value))
    return len(lowered.body) - 1


def _load(lowered: Lowered, base: Node, seen: Node, at: Map, offset: int, view: int, post: bool, rank: int) -> int:
    """Read the memory of `base` at an index map of `seen` (the base itself, or a view of it)."""
    itemsize = ITEMSIZES[seen.code]
    start, strides = address(at, seen.strides, rank)
    if (
        base.number in lowered.draft.updates
    ):  # What another update of this kernel does not write is the array's from before.
        base = lowered.choice.nodes[lowered.draft.updates[0]].args[0]
    lowered.loaded.add(base.number)
    instrs = lowered.post if post else lowered.body
    binding = Binding(base.number, offset + start, view)
    operand = lowered.operand(seen.code, tuple(s // itemsize for s in strides), binding, post)
    instrs.append(Instr("load", seen.code, operand=operand))
    return len(instrs) - 1


def _gather(lowered: Lowered, node: Node, here: Map, indices: tuple[int, ...], post: bool, rank: int) -> Instr:
    source = node.args[0]
    axes, position, count, inside = node.attr
    rest = iter((*here[:position], *here[position + count :]))
    at = tuple((0, (0,) * rank) if axis in axes else next(rest) for axis in range(len(source.shape)))
    base = source.args[0] if source.kind == VIEW else source
    dynamic = source.kind == VIEW and base.buffer is not None
    offset = source.attr if source.kind == VIEW and not dynamic else 0
    itemsize = ITEMSIZES[source.code]
    start, strides = address(at, source.strides, rank)
    binding = Binding(lowered.reads(base), offset + start, source.number if dynamic else -1)
    operand = lowered.operand(source.code, tuple(s // itemsize for s in strides), binding, post)
    lowered.gathers.append(node.number)
    pairs = tuple((source.shape[axis], source.strides[axis] // itemsize) for axis in axes)
    number = len(lowered.gathers) - 1
    return Instr("gather", node.code, indices, operand=operand, index=number, strides=pairs, inside=inside)
