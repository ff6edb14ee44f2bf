"""Whether complex values are holomorphic functions of others, as far as a tree shows it."""

from __future__ import annotations

from numloom.base.dtypes import KINDS
from numloom.compiled.gradient_values import is_smooth
from numloom.graph.node import OP, ROUTINE, Node, name_of

_OTHERS = ("conjugate", "sign", "absolute")
"""Operations that give complex numbers of complex ones, or may, and have no complex derivative."""
_FACTORS = ("cholesky", "eigh", "qr", "svd", "eig")
"""Factorisations whose results have lengths, phases or order that are no function of the matrix in this sense."""


def obstacle(root: Node, target: Node) -> str:
    """What lies between two complex values that has no complex derivative; nothing where all has one.

    A value that is real in between is one: parts and lengths of complex numbers have none.
    """
    leads = {id(target)}
    seen: set[int] = set()
    stack = [(root, False)]
    while stack:
        node, ready = stack.pop()
        if not ready:
            if id(node) not in seen and node is not target and is_smooth(node.code):
                seen.add(id(node))
                stack.append((node, True))
                stack += [(arg, False) for arg in node.args]
            continue
        if not any([id(arg) in leads for arg in node.args]):
            continue
        leads.add(id(node))
        name = name_of(node)
        if KINDS[node.code] != "c" or (node.kind == OP and name in _OTHERS):
            return name
        if node.kind == ROUTINE and name in _FACTORS:
            return name
    return ""


__all__ = ["obstacle"]
