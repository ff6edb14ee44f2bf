"""Graphs as sparse matrices, by the names of `scipy.sparse.csgraph`: SciPy's functions, which run on the host.

Matrices and arrays of ours are read where they lie if the host sees that memory, else copied and counted.

Examples
--------
>>> import numloom as np
>>> graph = np.sparse.csr_array([[0, 1, 0], [0, 0, 0], [0, 0, 0]])
>>> count, labels = np.sparse.csgraph.connected_components(graph, directed=False)
>>> count, labels.tolist()
(2, [0, 0, 1])
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import scipy.sparse.csgraph
from scipy.sparse.csgraph import NegativeCycleError

from numloom.sparse import host


def _ours(name: str) -> Callable[..., Any]:
    theirs = getattr(scipy.sparse.csgraph, name)

    def function(*args: Any, **options: Any) -> Any:
        return host.call(theirs, *args, **options)

    function.__name__ = function.__qualname__ = name
    function.__doc__ = f"As `scipy.sparse.csgraph.{name}`, which computes it; matrices and arrays are ours."
    return function


bellman_ford = _ours("bellman_ford")
breadth_first_order = _ours("breadth_first_order")
breadth_first_tree = _ours("breadth_first_tree")
connected_components = _ours("connected_components")
construct_dist_matrix = _ours("construct_dist_matrix")
csgraph_from_dense = _ours("csgraph_from_dense")
csgraph_from_masked = _ours("csgraph_from_masked")
csgraph_masked_from_dense = _ours("csgraph_masked_from_dense")
csgraph_to_dense = _ours("csgraph_to_dense")
csgraph_to_masked = _ours("csgraph_to_masked")
depth_first_order = _ours("depth_first_order")
depth_first_tree = _ours("depth_first_tree")
dijkstra = _ours("dijkstra")
floyd_warshall = _ours("floyd_warshall")
johnson = _ours("johnson")
laplacian = _ours("laplacian")
maximum_bipartite_matching = _ours("maximum_bipartite_matching")
maximum_flow = _ours("maximum_flow")
min_weight_full_bipartite_matching = _ours("min_weight_full_bipartite_matching")
minimum_spanning_tree = _ours("minimum_spanning_tree")
reconstruct_path = _ours("reconstruct_path")
reverse_cuthill_mckee = _ours("reverse_cuthill_mckee")
shortest_path = _ours("shortest_path")
structural_rank = _ours("structural_rank")
yen = _ours("yen")

__all__ = [
    "NegativeCycleError", "bellman_ford", "breadth_first_order", "breadth_first_tree", "connected_components",
    "construct_dist_matrix", "csgraph_from_dense", "csgraph_from_masked", "csgraph_masked_from_dense",
    "csgraph_to_dense", "csgraph_to_masked", "depth_first_order", "depth_first_tree", "dijkstra", "floyd_warshall",
    "johnson", "laplacian", "maximum_bipartite_matching", "maximum_flow", "min_weight_full_bipartite_matching",
    "minimum_spanning_tree", "reconstruct_path", "reverse_cuthill_mckee", "shortest_path", "structural_rank", "yen",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__
