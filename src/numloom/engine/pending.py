"""How much recorded work a look would wait for, counted without running it."""

from __future__ import annotations

from numloom.graph.node import REDUCE, Node, live_nodes


def pending_work(node: Node, most: int) -> tuple[int, int]:
    """Operations that a look at a value would run, and elements that these compute or combine.

    A look runs whatever live arrays wait for. Counting ends once there are more elements than `most`.

    Parameters
    ----------
    node : Node
        The value.
    most : int
        Elements after which counting ends.

    Returns
    -------
    operations, elements : int
    """
    roots = {id(one): one for one in (node, *live_nodes()) if _waits(one)}
    pending, seen = list(roots.values()), set(roots)
    operations = elements = 0
    while pending and elements <= most:
        one = pending.pop()
        operations += 1
        elements += sum(arg.size for arg in one.args) if one.kind == REDUCE else one.size
        for arg in one.args:
            if _waits(arg) and id(arg) not in seen:
                seen.add(id(arg))
                pending.append(arg)
    return operations, elements


def _waits(node: Node) -> bool:
    return node.buffer is None and bool(node.args)


__all__ = ["pending_work"]
