"""Gradients of loops as loops: one forward that keeps what is read again, and one back through the steps.

The way back through a body is recorded once. The loop back hands on what flows to the state; what flows to values that
all steps read is summed up, and what flows to the elements that each step takes of an array by its number is stacked.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from numloom.array.ndarray import node_of, wrap
from numloom.base.dtypes import I64, ITEMSIZES
from numloom.compiled.calls import wrap_all
from numloom.compiled.gradient_loops import is_loop, without_loops
from numloom.compiled.gradient_memory import of_gather
from numloom.compiled.gradient_paths import Results, leading, ordered, outside, sees_loop
from numloom.compiled.gradient_values import Array, array_of, cast_to, is_smooth, named
from numloom.compiled.loops import Form, Loop, TracedBody, stacked_form
from numloom.engine.evaluate import evaluate
from numloom.graph import build
from numloom.graph.layout import c_strides
from numloom.graph.node import CAST, FILL, GATHER, LEAF, OP, SCALAR, SYMBOL, VIEW, Node
from numloom.graph.tree import Placeholder, rebuilt, recording, symbol_node, tree_nodes, waits

KEPT_BYTES = 1 << 28
"""Bytes up to which what flows to elements is stacked, where it could be summed up as well."""
_SMALL = 4
"""An element is this many times smaller than what it is taken of, if what flows to it is stacked."""
_CHEAP = (OP, CAST, VIEW, GATHER)
"""Kinds of values that are computed again on the way back, rather than kept."""


class SettledLoop(Loop):
    """A loop that has all that its steps read computed once, before the first one."""

    def __call__(self, *operands: Node) -> Node:
        if waits(operands):
            return super().__call__(*operands)
        with recording(False):
            given = [_dense(node) if node.kind == VIEW else node for node in operands]
            arrays = wrap_all(given)  # Which are held meanwhile.
            evaluate([node for node in given if node.kind not in (LEAF, SCALAR, FILL)])
            found = super().__call__(*given)
        del arrays
        return found


def _dense(node: Node) -> Node:
    """The same values in C order, no view."""
    strides = c_strides(node.shape, ITEMSIZES[node.code])
    if node.kind in (FILL, SCALAR):
        return build.full(node.attr, node.code, node.shape)
    return node if node.kind != VIEW and node.strides == strides else build.copied(node, strides, node.code)


@dataclass
class Prepared:
    """Trees whose loops keep what the way back reads.

    Attributes
    ----------
    roots, targets : list of Node
        The ends, and by what gradients are taken.
    results : Results
        The results of loops.
    plans : dict
        The way back through a loop, by the identity of its row.
    """

    roots: list[Node]
    targets: list[Node]
    results: Results
    plans: dict[int, Plan] = field(default_factory=dict)


Pull = Callable[[Prepared, Sequence[Array | None]], list[Array | None]]
"""What flows back through prepared trees; None of a root from which nothing does."""


def prepared(roots: Sequence[Node], targets: Sequence[Node], pull: Pull) -> Prepared:
    """Trees with loops through which gradients may flow.

    Raises
    ------
    NoGradientError
        If the number of steps of a loop on the way follows from values.
    """
    count = len(roots)
    nodes = [*roots, *targets]
    while True:
        results = Results(nodes[count:])
        ends = {id(node): node for node in nodes[count:]}
        order = ordered(nodes[:count], ends, results)
        leads = leading(order, ends)
        loops = [(node, args) for node, args in order if is_loop(node) and id(node) in leads and id(node) not in ends]
        unfit: set[int] = {id(node.op_def) for node, _ in loops if not _is_fit(node.op_def)}
        if not unfit:
            break
        nodes = without_loops(nodes, unfit)
    plans: dict[int, Plan] = {}
    if loops:
        wanted: dict[int, list[bool]] = {}
        rows: dict[int, Any] = {}
        for node, args in loops:
            here = [id(arg) in leads for arg in args]
            key = id(node.op_def)
            rows[key] = node.op_def
            wanted[key] = [one or other for one, other in zip(here, wanted.get(key, here), strict=True)]
        by_row = {key: Plan(row, wanted[key], pull) for key, row in rows.items()}
        nodes = _with_rows(nodes, by_row)
        plans = {id(plan.row): plan for plan in by_row.values()}
        results = Results(nodes[count:])
    return Prepared(nodes[:count], [results.same(node) for node in nodes[count:]], results, plans)


def _is_fit(row: Any) -> bool:
    """Whether the steps of a loop are one body again and again."""
    return row.condition is None and len(row.bodies) == 1 and row.steps > 1


def _with_rows(nodes: list[Node], plans: dict[int, Plan]) -> list[Node]:
    """Trees with other loops, of the same first results."""
    made: dict[int, tuple[Node, Node]] = {}
    views: dict[Any, Node] = {}

    def rule(node: Node) -> Node | None:
        if not sees_loop(node) or id(node.args[0].op_def) not in plans:
            return None
        old = node.args[0]
        if id(old) not in made:
            made[id(old)] = old, plans[id(old.op_def)].row(*old.args)
        packed = made[id(old)][1]
        key = (id(packed), node.code, node.attr, node.shape, node.strides)
        if key not in views:
            views[key] = build.view(packed, node.code, node.attr, node.shape, node.strides)
        return views[key]

    with recording():
        return rebuilt(nodes, {}, rule)


def _depending(nodes: Sequence[Node], on: Sequence[Node]) -> set[int]:
    """Which of the nodes, arguments first, are computed from others, by their identities."""
    found = {id(node) for node in on}
    for node in nodes:
        if any([id(arg) in found for arg in node.args]):
            found.add(id(node))
    return found


def _source(root: Node) -> Node:
    """What a body's result is a mere copy of."""
    arg = root.args[0] if root.kind == CAST else root
    same = (arg.code, arg.strides) == (root.code, root.strides) and arg.kind not in (VIEW, SCALAR, FILL)
    return arg if same else root


def _is_nothing(flow: Array | None) -> bool:
    if flow is None:
        return True
    node = node_of(flow)
    return bool(node.kind in (FILL, SCALAR) and node.attr == 0)


class Plan:
    """The way back through a loop.

    Parameters
    ----------
    row : Loop
        Of one body.
    wanted : sequence of bool
        Whether a gradient is wanted by each of its operands, and of what it reads from outside of trees.
    pull : callable
        What flows back through trees.

    Attributes
    ----------
    row : Loop
        The loop, which keeps what the way back reads: more stacks behind its results.
    """

    def __init__(self, row: Any, wanted: Sequence[bool], pull: Pull) -> None:
        body = row.bodies[0]
        count = self.count = row.states
        self.pull = pull
        self.steps = row.steps
        self.first = row.first
        self.body = body
        self.number, *rest = body.likes
        self.states, self.around = rest[:count], rest[count:]
        others = outside(row)
        self.targets: list[tuple[int, Node]] = [
            (place, like)
            for place, like in enumerate([*self.around, *others], count)
            if wanted[place] and (is_smooth(like.code) or like.kind == VIEW)
        ]
        given = [self.states[j] for j in range(count) if wanted[j] and is_smooth(self.states[j].code)]
        self.moving = self._moving(given)
        likes = [*[self.states[j] for j in self.moving], *[like for _, like in self.targets]]
        self.inner = prepared(body.roots, likes, pull)
        self.elements = self._elements()
        self.inner.targets = [*likes, *[gather for gather, _ in self.elements]]
        self.seeds = [
            symbol_node(Placeholder(f"flow_{k}"), form.code, form.kept, form.strides)
            if is_smooth(form.code) and (k >= count or k in self.moving)
            else None
            for k, form in enumerate(body.forms)
        ]
        self.flows = self._pulled(set(range(len(body.forms))))
        self._keep()

    def _moving(self, given: list[Node]) -> list[int]:
        """Numbers of the states that are computed from what gradients are taken by, after some steps."""
        reached = {id(like): like for like in [*given, *[like for _, like in self.targets]]}
        roots = self.body.roots[: self.count]
        while True:
            found = leading(ordered(roots, {}, Results()), reached)
            more = [
                like for like, root in zip(self.states, roots, strict=True)
                if id(root) in found and is_smooth(like.code) and id(like) not in reached
            ]  # fmt: skip
            if not more:
                return [j for j, like in enumerate(self.states) if id(like) in reached]
            reached.update({id(like): like for like in more})

    def _elements(self) -> list[tuple[Node, int]]:
        """What steps take of values by their number, and the places of these values."""
        nodes = tree_nodes(self.inner.roots)
        own = _depending(nodes, [self.number, *self.states])
        places = {id(like): place for place, like in self.targets}
        return [
            (node, places[id(node.args[0])])
            for node in nodes
            if node.kind == GATHER and id(node.args[0]) in places and any([id(arg) in own for arg in node.args[1:]])
            and node.size * _SMALL <= node.args[0].size
            and self.steps * node.size * ITEMSIZES[node.code] <= max(KEPT_BYTES, _bytes(node.args[0]))
        ]  # fmt: skip

    def _pulled(self, known: set[int]) -> list[Array | None]:
        """What flows back through a step from those of its results."""
        with recording():
            seeds = [wrap(seed) if seed is not None and k in known else None for k, seed in enumerate(self.seeds)]
            found = self.pull(self.inner, seeds)
            return [
                None if flow is None or _is_nothing(flow) else cast_to(flow, target.code)
                for flow, target in zip(found, self.inner.targets, strict=True)
            ]

    # ------------------------------------------------------------ what is kept

    def _ends(self, flows: Sequence[Array | None]) -> list[Node]:
        """All that the way back through a step computes."""
        indices = [index for gather, _ in self.elements for index in gather.args[1:]]
        return [*[node_of(flow) for flow in flows if flow is not None], *indices]

    def _keep(self) -> None:
        """Choose what of a step's values is kept: what is read again, and is not computed at once of what is kept."""
        forward = tree_nodes(self.inner.roots)
        own = _depending(forward, [self.number, *self.states])
        walked = {id(node) for node in forward}
        sources = {id(_source(root)) for root in self.inner.roots}
        ends = self._ends(self.flows)
        read = {id(node) for node in ends}
        for node in tree_nodes(ends):
            if id(node) not in walked:
                read.update([id(arg) for arg in node.args])
        cheap: set[int] = set()
        kept: dict[int, Node] = {}
        for node in forward:
            if id(node) not in own:
                continue
            if node.kind == SYMBOL:
                cheap.add(id(node))
                continue
            if node.kind in _CHEAP and all([id(arg) in cheap or id(arg) not in own for arg in node.args]):
                cheap.add(id(node))
            if id(node) in read and (id(node) not in cheap or id(node) in sources):
                memory = node.args[0] if node.kind == VIEW else node
                kept[id(memory)] = memory
                cheap |= {id(memory), id(node)}
        self.kept = list(kept.values())
        known = {node: node for node in self.kept}
        needed = tree_nodes(ends, {id(node): node for node in known})
        self.begun = [j for j, like in enumerate(self.states) if any([node is like for node in needed])]
        self._stack()

    def _stack(self) -> None:
        """Have the loop stack what is kept, unless it does so anyway."""
        body, roots = self.body, list(self.inner.roots)
        forms = list(body.forms)
        stacked = {
            id(one): k
            for k in range(len(roots) - 1, self.count - 1, -1)
            for one in (roots[k], _source(roots[k]))
            if forms[k].kept == forms[k].shape
        }
        self.columns: dict[int, int] = {}
        after = {id(_source(root)): root for root in roots[: self.count]}
        with recording():
            for node in [*self.kept, *[roots[j] for j in self.begun]]:
                node = after.get(id(node), node)
                key = id(_source(node))
                if key not in stacked:
                    stacked[key] = len(roots)
                    form = Form(node.code, node.shape, node.shape, node.strides)
                    is_root = any([node is root for root in roots])
                    roots.append(node if is_root else build.copied(node, node.strides, node.code))
                    forms.append(form)
                self.columns[id(node)] = self.columns[key] = stacked[key]
        last = forms[: self.count]
        every = [*last, *[stacked_form([form], self.steps) for form in forms[self.count :]]]
        traced = TracedBody.of_trees(roots, body.likes, forms, body.invariant)
        self.roots = roots
        self.row = SettledLoop([traced], 0, None, self.first, self.steps, every, self.count)

    # ------------------------------------------------------------ the way back

    def back(self, node: Node, flows: dict[int, Array]) -> list[tuple[int, Array]]:
        """What flows back to operands of the loop (by their places), of what flows to its results."""
        flows = {k: flow for k, flow in flows.items() if not _is_nothing(flow)}
        body, missing = self._way(node, flows)
        found = _Back(self, node, flows, body, missing).results()
        return found

    def _way(self, node: Node, flows: dict[int, Array]) -> tuple[list[Array | None], list[int]]:
        """What flows back through a step, and results of which nothing does."""
        every = {k for k, seed in enumerate(self.seeds) if seed is not None}
        missing = sorted({k for k in every if k >= self.count and k not in flows})
        if not missing:
            return self.flows, []
        found = self._pulled(every - set(missing))
        needed = tree_nodes(self._ends(found), {id(one): one for one in self.kept})
        begun = [j for j, like in enumerate(self.states) if any([one is like for one in needed])]
        return (found, []) if set(begun) <= set(self.begun) else (self.flows, missing)


class _Back:
    """The loop back, of one loop in a tree.

    Parameters
    ----------
    plan : Plan
        The way back.
    node : Node
        The loop, which keeps what is read.
    flows : dict
        What flows to its results, by their numbers.
    step : list of ndarray or None
        What flows back through a step, over the body's symbols.
    missing : list of int
        Results to which nothing flows.
    """

    def __init__(
        self, plan: Plan, node: Node, flows: dict[int, Array], step: list[Array | None], missing: list[int]
    ) -> None:
        self.plan, self.node, self.flows, self.step, self.missing = plan, node, flows, step, missing
        self.extra: list[tuple[Node, Node]] = []
        """Symbols for what is read around, and the values."""

    def _around(self, value: Node, like: Node | None = None) -> Node:
        """A symbol for a value that is read around."""
        if like is None:
            value = _dense(value)
            like = symbol_node(Placeholder(f"kept_{len(self.extra)}"), value.code, value.shape)
        self.extra.append((like, value))
        return like

    def results(self) -> list[tuple[int, Array]]:
        """What flows to the loop's operands, by their places."""
        plan = self.plan
        count = len(plan.moving)
        with recording():
            counter = symbol_node(Placeholder("back"), I64, ())
            at = node_of((plan.steps - 1) - array_of(counter))
            known = self._known(at)
            ends = [None if flow is None else node_of(flow) for flow in self.step]
            indices = [index for gather, _ in plan.elements for index in gather.args[1:]]
            new = iter(rebuilt([*[end for end in ends if end is not None], *indices], known))
            found = [None if end is None else next(new) for end in ends]
            places = list(new)
            likes: list[Node] = []
            starts: list[Node] = []
            roots: list[Node] = []
            forms: list[Form] = []
            for j, flow in zip(plan.moving, found, strict=False):
                form = plan.body.forms[j]
                seed = plan.seeds[j]
                assert seed is not None
                form = Form(form.code, form.kept, form.kept, form.strides)
                begin = self.flows.get(j)
                starts.append(_laid(None if begin is None else node_of(begin), form))
                likes.append(seed)
                roots.append(_laid(flow, form))
                forms.append(form)
            summed = found[count : count + len(plan.targets)]
            sums: list[int] = []
            for (place, like), flow in zip(plan.targets, summed, strict=True):
                if flow is None:
                    continue
                strides = like.strides if like.kind != VIEW else c_strides(like.shape, ITEMSIZES[like.code])
                form = Form(like.code, like.shape, like.shape, strides)
                total = symbol_node(Placeholder(f"sum_{place}"), form.code, form.shape, strides)
                starts.append(_laid(None, form))
                likes.append(total)
                roots.append(_laid(node_of(array_of(total) + array_of(flow)), form))
                forms.append(form)
                sums.append(place)
            states = len(roots)
            rows = found[count + len(plan.targets) :]
            for row in [*rows, *places]:
                if row is not None:
                    form = Form(row.code, row.shape, row.shape, c_strides(row.shape, ITEMSIZES[row.code]))
                    roots.append(_laid(row, form))
                    forms.append(form)
            if not roots:
                return []
            used = {id(one) for one in tree_nodes(roots)}
            read = [(like, value) for like, value in self.extra if id(like) in used]
            body = TracedBody.of_trees(
                roots, [counter, *likes, *[like for like, _ in read]], forms, [value for _, value in read]
            )
            every = [*forms[:states], *[stacked_form([form], plan.steps) for form in forms[states:]]]
            loop = SettledLoop([body], 0, None, 0, plan.steps, every, states)
            arrays = loop.results(starts)
            parts = list(zip(plan.moving, arrays[:count], strict=True))
            parts += list(zip(sums, arrays[count:states], strict=True))
            return parts + self._of_elements(rows, arrays[states:])

    def _known(self, at: Node) -> dict[Node, Node]:
        """What stands for the values of the step of this number."""
        plan, args = self.plan, self.node.args
        known: dict[Node, Node] = {}
        stacks: dict[int, Node] = {}

        def row(column: int, number: Node, strides: tuple[int, ...]) -> Node:
            if column not in stacks:
                offset, code, shape, steps = plan.row.layout[column]
                stacks[column] = self._around(build.view(self.node, code, offset, shape, steps))
            return build.gather(stacks[column], [number], (0,), 0, ordered=strides, inside=True)

        for node in plan.kept:
            known[node] = row(plan.columns[id(node)], at, node.strides)
        for j in plan.begun:
            like = plan.states[j]
            begin = self._around(args[j], symbol_node(Placeholder(f"begin_{j}"), like.code, like.shape, like.strides))
            before = node_of(named("maximum", array_of(at) - 1, 0))
            column = plan.columns[id(_source(plan.inner.roots[j]))]
            later = row(column, before, like.strides)
            known[like] = node_of(named("where", array_of(at) == 0, array_of(begin), array_of(later)))
        for place, like in enumerate(plan.around, plan.count):
            self._around(args[place], like)
        for k, seed in enumerate(plan.seeds):
            if seed is None or k < plan.count:
                continue
            if k in self.missing:
                known[seed] = build.full(0, seed.code, seed.shape, seed.strides)
            elif k in self.flows:
                stack = self._around(node_of(self.flows[k]))
                element = array_of(build.gather(stack, [at], (0,), 0, inside=True))
                known[seed] = _laid(node_of(_kept_part(element, seed.shape)), plan.body.forms[k])
        known[plan.number] = node_of(array_of(at) + plan.first)
        return known

    def _of_elements(self, rows: Sequence[Node | None], stacks: list[Array]) -> list[tuple[int, Array]]:
        """What flows to values of which steps take elements."""
        plan = self.plan
        flows = iter(stacks[: len([row for row in rows if row is not None])])
        indices = iter(stacks[len([row for row in rows if row is not None]) :])
        found = []
        for (gather, place), row in zip(plan.elements, rows, strict=True):
            taken = [next(indices) for _ in gather.args[1:]]
            if row is None:
                continue
            base = [*self.node.args, *outside(plan.row)][place]
            found.append((place, self._of_element(gather, base, next(flows), taken)))
        return found

    def _of_element(self, gather: Node, base: Node, flow: Array, indices: list[Array]) -> Array:
        plan = self.plan
        axes, position = gather.attr[0], gather.attr[1]
        first, steps = plan.first, plan.steps
        by_number = (axes, position) == ((0,), 0) and gather.args[1] is plan.number
        if by_number and first >= 0 and first + steps <= base.shape[0]:
            turned = flow[::-1]
            if steps == base.shape[0]:
                return turned
            whole = wrap(build.full(0, base.code, base.shape))
            whole[first : first + steps] = turned
            return whole
        rank = max([index.ndim for index in indices])
        spread = [index.reshape((steps, *[1] * (rank - index.ndim), *index.shape[1:])) for index in indices]
        order = [*range(1, position + 1), 0, *range(position + 1, flow.ndim)]
        return of_gather(flow.transpose(order), gather, base, [node_of(one) for one in spread])


def _bytes(node: Node) -> int:
    return node.size * ITEMSIZES[node.code]


def _laid(node: Node | None, form: Form) -> Node:
    """A value as a loop hands it on; zeros for None."""
    if node is None or (node.kind == SCALAR or node.kind == FILL):
        return build.full(0 if node is None else node.attr, form.code, form.kept, form.strides)
    return build.copied(node, form.strides, form.code)


def _kept_part(flow: Array, kept: tuple[int, ...]) -> Array:
    """What flows to what is repeated, of what flows to the repetitions."""
    axes = tuple([axis for axis, extent in enumerate(kept) if extent != flow.shape[axis]])
    return flow.sum(axes, flow.dtype, keepdims=True) if axes else flow


__all__ = ["KEPT_BYTES", "Plan", "Prepared", "Pull", "SettledLoop", "prepared"]
