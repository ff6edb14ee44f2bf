"""Loops of one example, for all of them: one loop whose state has the axis of examples in front.

In a `while_loop` some examples go on when others have ended. Those keep their state; where a step could fail for them
(at an index out of range) they compute meanwhile what an example does that goes on.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from numloom.api.elementwise import where
from numloom.array.ndarray import node_of
from numloom.array.storage import arranged
from numloom.base.dtypes import BOOL, ITEMSIZES
from numloom.compiled.batching_values import Batch, Shape, block, repeated
from numloom.compiled.gradient_values import Array, array_of
from numloom.compiled.loops import Form, Loop, TracedBody, stacked_form
from numloom.graph import build
from numloom.graph.node import Node
from numloom.graph.tree import Placeholder, symbol_node

_TRUTH = Form(BOOL, (), (), ())


def loop(batch: Batch, node: Node) -> Node:
    """The loop of all examples, packed; what it gives is kept in `Batch.loops`."""
    row: Any = node.op_def
    layouts = [(code, (batch.count, *shape), (_bytes(shape, strides, code), *strides))
               for _, code, shape, strides in row.layout]  # fmt: skip
    if not batch.count:
        batch.loops[id(node)] = [build.full(0, *layout) for layout in layouts]
        return build.full(0, node.code, batch.shape(node))
    make = _counted_loop if row.condition is None else _while_loop
    whole, differs = make(batch, row, node.args)
    states = [_operand(batch, arg, one) for arg, one in zip(node.args, differs[: row.states], strict=False)]
    packed = whole(*states, *whole.invariant)
    results = []
    for place, (at, code, shape, strides) in enumerate(whole.layout):
        value = build.view(packed, code, at, shape, strides)
        if not differs[place]:
            value = repeated(value, batch.count)
        elif place >= row.states:  # Steps come first in what they stack.
            value = node_of(array_of(value).transpose((1, 0, *range(2, len(shape)))))
        _, whole_shape, whole_strides = layouts[place]
        results.append(arranged(value, whole_shape, whole_strides, code))
    batch.loops[id(node)] = results
    return packed


def _bytes(shape: Shape, strides: Shape, code: int) -> int:
    """Bytes from one example's result to the next."""
    ends = [max(extent, 1) * step for extent, step in zip(shape, strides, strict=True)]
    return max([ITEMSIZES[code], *ends])


def _operand(batch: Batch, arg: Node, differs: bool) -> Node:
    """What a loop reads: of all examples, or what is the same in all."""
    return batch.dense(arg) if differs else arg


def _symbols(batch: Batch, likes: Sequence[Node], differs: Sequence[bool]) -> list[Node]:
    """What stands in a body for values of all examples; for those that are the same in all what stood there."""
    return [
        symbol_node(Placeholder(like.attr.name), like.code, (batch.count, *like.shape), (block(like), *like.strides))
        if one
        else like
        for like, one in zip(likes, differs, strict=True)
    ]


def _rewritten(batch: Batch, body: TracedBody, likes: Sequence[Node], given: Sequence[Node]) -> Batch:
    """A body's trees over values of all examples in the places of its symbols."""
    known = {like: one for like, one in zip(likes, given, strict=True) if one is not like}
    return batch.rewrite(body.roots, known, batch.count)


def _form(batch: Batch, form: Form, differs: bool) -> Form:
    """The form of a value of all examples."""
    if not differs:
        return form
    kept = (batch.count, *form.kept)
    return Form(
        form.code, (batch.count, *form.shape), kept, (_bytes(form.kept, form.strides, form.code), *form.strides)
    )


def _root(batch: Batch, node: Node, form: Form) -> Node:
    """An end of a body, laid out by its form."""
    return arranged(batch.of(node), *_layout(_form(batch, form, True)))


def _layout(form: Form) -> tuple[Shape, Shape, int]:
    return form.kept, form.strides, form.code


def _counted_loop(batch: Batch, row: Any, args: Sequence[Node]) -> tuple[Loop, list[bool]]:
    """A loop whose number of steps is known, and which of its results differ from example to example."""
    states = row.states
    around = [row.around(body, args) for body in row.bodies]
    differs = [batch.is_known(arg) for arg in args[:states]]
    while True:  # What one step makes differ, the next one reads.
        likes = [
            _symbols(batch, body.likes[1:], [*differs, *[batch.is_known(arg) for arg in beside]])
            for body, beside in zip(row.bodies, around, strict=True)
        ]
        inner = [_rewritten(batch, body, body.likes[1:], one) for body, one in zip(row.bodies, likes, strict=True)]
        pairs = list(zip(row.bodies, inner, strict=True))
        after = [any([one.is_known(body.roots[k]) for body, one in pairs]) for k in range(len(row.bodies[0].roots))]
        if all([old or not new for old, new in zip(differs, after, strict=False)]):
            break
        differs = [old or new for old, new in zip(differs, after, strict=False)]
    differs += after[states:]
    bodies = []
    for (body, one), symbols, beside in zip(pairs, likes, around, strict=True):
        forms = [_form(batch, form, whole) for form, whole in zip(body.forms, differs, strict=True)]
        roots = [_root(one, root, form) if whole else root
                 for root, form, whole in zip(body.roots, body.forms, differs, strict=True)]  # fmt: skip
        invariant = [_operand(batch, arg, batch.is_known(arg)) for arg in beside]
        bodies.append(TracedBody.of_trees(roots, [body.likes[0], *symbols], forms, invariant))
    last = [_form(batch, form, whole) for form, whole in zip(row.forms, differs[:states], strict=False)]
    others = [body.forms[states:] for body in bodies]
    stacked = [stacked_form(column, row.steps) for column in zip(*others, strict=True)]
    return type(row)(bodies, row.again, None, row.first, row.steps, [*last, *stacked], states), differs


def _while_loop(batch: Batch, row: Any, args: Sequence[Node]) -> tuple[Loop, list[bool]]:
    """A loop that goes on as long as one example does."""
    states, body, condition = row.states, row.bodies[0], row.condition
    around, beside = row.around(body, args), list(args[len(args) - len(condition.invariant) :])
    known, told = ([batch.is_known(arg) for arg in part] for part in (around, beside))
    differs = [batch.is_known(arg) for arg in args[:states]]
    while True:
        symbols = _symbols(batch, body.likes, [*differs, *known])
        deciding = [*symbols[:states], *_symbols(batch, condition.likes[states:], told)]
        decides = _rewritten(batch, condition, condition.likes, deciding)
        several = decides.is_known(condition.roots[0])
        inner = _rewritten(batch, body, body.likes, symbols)
        after = [old or several or inner.is_known(root) for old, root in zip(differs, body.roots, strict=True)]
        if after == differs:
            break
        differs = after
    forms = [_form(batch, form, whole) for form, whole in zip(body.forms, differs, strict=True)]
    outside = [_operand(batch, arg, one) for arg, one in zip(around, known, strict=True)]
    asked = [_operand(batch, arg, one) for arg, one in zip(beside, told, strict=True)]
    if not several:
        roots = [_root(inner, root, form) if whole else root
                 for root, form, whole in zip(body.roots, body.forms, differs, strict=True)]  # fmt: skip
        traced = TracedBody.of_trees(roots, symbols, forms, outside)
        asks = TracedBody.of_trees([_same(condition.roots[0])], deciding, [_TRUTH], asked)
    else:
        goes_on = array_of(decides.of(condition.roots[0]))
        if body.program.may_fail:
            given = [_of_active(one, goes_on) if one is not like else one
                     for one, like in zip(symbols, body.likes, strict=True)]  # fmt: skip
            inner = _rewritten(batch, body, body.likes, given)
        roots = []
        for root, old, form in zip(body.roots, symbols, body.forms, strict=False):
            new = array_of(inner.of(root))
            kept = where(_spread(goes_on, new.ndim), new, array_of(old))
            roots.append(arranged(node_of(kept), *_layout(_form(batch, form, True))))
        # The condition's own symbols stand behind those of the step.
        traced = TracedBody.of_trees(roots, [*symbols, *deciding[states:]], forms, [*outside, *asked])
        asks = TracedBody.of_trees([_same(node_of(goes_on.any()))], deciding, [_TRUTH], asked)
    whole = Loop([traced], 0, asks, 0, 0, [_form(batch, one, d) for one, d in zip(row.forms, differs, strict=True)],
                 states)  # fmt: skip
    return whole, differs


def _same(node: Node) -> Node:
    """A truth value as a value of its own."""
    return build.copied(node, (), BOOL)


def _spread(goes_on: Array, rank: int) -> Array:
    """Whether examples go on, with axes for those of a value."""
    return goes_on.reshape((goes_on.shape[0], *(1,) * (rank - 1)))


def _of_active(node: Node, goes_on: Array) -> Node:
    """Values of all examples, in the places of those that have ended that of the first one that goes on."""
    array = array_of(node)
    found = where(_spread(goes_on, array.ndim), array, array[goes_on.argmax()])
    return arranged(node_of(found), node.shape, node.strides, node.code)


__all__ = ["loop"]
