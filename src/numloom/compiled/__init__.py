"""Trees, symbols, compiled functions and shared variables (`docs/compiled.md`)."""

from numloom.array.sealing import seal_classes
from numloom.compiled import slices  # noqa: F401  # What brackets ask.
from numloom.compiled.compile import Compiled, compile
from numloom.compiled.control import fori_loop, ifelse, scan, while_loop
from numloom.compiled.custom_gradients import custom_gradient
from numloom.compiled.function import Function, In, Out, function
from numloom.compiled.gradient_rules import NoGradientError
from numloom.compiled.gradients import UnusedError, grad, jvp, stop_gradient, value_and_grad, vjp
from numloom.compiled.jacobians import hessian, jacobian
from numloom.compiled.shared import shared
from numloom.compiled.source import Source, source
from numloom.compiled.stable import stable
from numloom.compiled.symbols import matrix, scalar, symbol, symbolic, tensor3, tensor4, vector
from numloom.compiled.tree import Tree, rewrite, substitute, tree
from numloom.compiled.vmap import vmap
from numloom.graph.tree import CutError, TreeError

seal_classes()  # Of what was imported only now.

__all__ = [
    "Compiled",
    "CutError",
    "Function",
    "In",
    "NoGradientError",
    "Out",
    "Source",
    "Tree",
    "TreeError",
    "UnusedError",
    "compile",
    "custom_gradient",
    "fori_loop",
    "function",
    "grad",
    "hessian",
    "ifelse",
    "jacobian",
    "jvp",
    "matrix",
    "rewrite",
    "scalar",
    "scan",
    "shared",
    "source",
    "stable",
    "stop_gradient",
    "substitute",
    "symbol",
    "symbolic",
    "tensor3",
    "tensor4",
    "tree",
    "value_and_grad",
    "vector",
    "vjp",
    "vmap",
    "while_loop",
]
