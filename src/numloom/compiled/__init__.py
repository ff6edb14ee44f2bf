"""Trees, symbols, compiled functions and shared variables (`docs/compiled.md`)."""

from numloom.compiled.function import Function, In, Out, function
from numloom.compiled.shared import shared
from numloom.compiled.source import Source, source
from numloom.compiled.symbols import matrix, scalar, symbol, symbolic, tensor3, tensor4, vector
from numloom.compiled.tree import Tree, rewrite, substitute, tree
from numloom.graph.tree import TreeError

__all__ = [
    "Function",
    "In",
    "Out",
    "Source",
    "Tree",
    "TreeError",
    "function",
    "matrix",
    "rewrite",
    "scalar",
    "shared",
    "source",
    "substitute",
    "symbol",
    "symbolic",
    "tensor3",
    "tensor4",
    "tree",
    "vector",
]
