"""NetworkX: a matrix of ours is an adjacency matrix, as NumPy's is; its rows were taken for edges."""

from __future__ import annotations

import sys

from numloom.interop.pandas import change


def register() -> None:
    """Tell the function by which graphs are made of data."""
    change(sys.modules["networkx.convert"], "to_networkx_graph")


__all__ = ["register"]
