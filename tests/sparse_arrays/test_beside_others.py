"""Our matrices given to SciPy's functions, SciPy's operators with ours, and scikit-learn's estimators."""

from __future__ import annotations

import importlib
import importlib.util
import operator
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg

import numloom as nl

_spec = importlib.util.spec_from_file_location("sparse_programs", Path(__file__).with_name("programs.py"))
programs = sys.modules.get("sparse_programs") or importlib.util.module_from_spec(_spec)
if "sparse_programs" not in sys.modules:
    sys.modules["sparse_programs"] = programs
    _spec.loader.exec_module(programs)
same, pair = programs.same, programs.pair

pytestmark = [pytest.mark.usefixtures("way"), pytest.mark.filterwarnings("ignore::Warning")]
THEIRS = scipy.sparse.linalg
SQUARE = scipy.sparse.csr_array(
    scipy.sparse.random_array((12, 12), density=0.3, rng=4) + 4 * scipy.sparse.eye_array(12)
)


def numbers(x: Any) -> Any:
    if isinstance(x, tuple):
        return [numbers(each) for each in x]
    return programs.as_numpy(x)


OPERATORS = [operator.add, operator.sub, operator.matmul, operator.mul, operator.eq, operator.ne, operator.lt]


@pytest.mark.parametrize("format", [*programs.FORMATS, "bsr", "lil"])
@pytest.mark.parametrize("kind", ["array", "matrix"])
@pytest.mark.parametrize("function", OPERATORS)
def test_operators_with_scipys(function: Any, format: str, kind: str) -> None:
    a, b = pair((6, 6), "f8", format, kind)
    d = getattr(scipy.sparse, f"csr_{kind}")(SQUARE[:6, :6])
    expected = function(b, d).toarray()
    for found in (function(a, d), function(d, a)):
        assert nl.sparse.issparse(found)
    np.testing.assert_allclose(numbers(function(a, d)), expected)
    np.testing.assert_allclose(numbers(function(d, a)), function(d, b).toarray())


@pytest.mark.parametrize("format", [*programs.FORMATS, "bsr", "lil", "dok"])
def test_scipys_constructors_and_joins_take_ours(format: str) -> None:
    a, b = pair((4, 6), "f8", format)
    for name in ("csr", "csc", "coo", "dia", "bsr", "lil", "dok"):
        made = getattr(scipy.sparse, f"{name}_array")(a)
        assert type(made).__module__.startswith("scipy")
        np.testing.assert_array_equal(made.toarray(), b.toarray())
    before = np.array(a.toarray().get())
    made = scipy.sparse.csr_array(a)
    made.data[:] = 0
    np.testing.assert_array_equal(a.toarray().get(), before)
    for join in (
        lambda x: scipy.sparse.vstack([x, b]), lambda x: scipy.sparse.kron(x, b), lambda x: scipy.sparse.tril(x),
        lambda x: scipy.sparse.hstack([x, x]), lambda x: scipy.sparse.block_diag([x, b]),
    ):  # fmt: skip
        np.testing.assert_array_equal(join(a).toarray(), join(b).toarray())


FUNCTIONS = {
    "spsolve": lambda a: THEIRS.spsolve(a, np.arange(12.0)),
    "spsolve, sparse": lambda a: THEIRS.spsolve(a.tocsc(), a.tocsc()[:, :2]),
    "splu": lambda a: THEIRS.splu(a.tocsc()).solve(np.arange(12.0)),
    "factorized": lambda a: THEIRS.factorized(a.tocsc())(np.arange(12.0)),
    "inv": lambda a: THEIRS.inv(a.tocsc()),
    "expm": lambda a: THEIRS.expm(a.tocsc() * 0.1),
    "expm_multiply": lambda a: THEIRS.expm_multiply(a * 0.1, np.arange(12.0)),
    "norm": lambda a: THEIRS.norm(a),
    "matrix_power": lambda a: THEIRS.matrix_power(a, 3),
    "cg": lambda a: THEIRS.cg(a @ a.T, np.ones(12), rtol=1e-10),
    "gmres": lambda a: THEIRS.gmres(a, np.ones(12), rtol=1e-12),
    "lsqr": lambda a: THEIRS.lsqr(a, np.ones(12))[0],
    "lsmr": lambda a: THEIRS.lsmr(a, np.ones(12))[0],
    "eigsh": lambda a: THEIRS.eigsh(a + a.T, 3, v0=np.ones(12), return_eigenvectors=False),
    "svds": lambda a: THEIRS.svds(a, 3, v0=np.ones(12), return_singular_vectors=False),
    "connected_components": lambda a: scipy.sparse.csgraph.connected_components(a),
    "dijkstra": lambda a: scipy.sparse.csgraph.dijkstra(abs(a)),
    "laplacian": lambda a: scipy.sparse.csgraph.laplacian(a + a.T),
    "minimum_spanning_tree": lambda a: scipy.sparse.csgraph.minimum_spanning_tree(abs(a)),
}


@pytest.mark.parametrize("name", FUNCTIONS)
def test_scipys_functions_take_ours(name: str) -> None:
    function, a = FUNCTIONS[name], nl.sparse.csr_array(SQUARE)
    for found, expected in zip(_parts(function(a)), _parts(function(SQUARE)), strict=True):
        np.testing.assert_allclose(found, expected, 1e-6, 1e-9)


def _parts(x: Any) -> list[Any]:
    found = numbers(x)
    return found if isinstance(found, list) else [found]


GRAPHS = {
    "connected_components": (), "shortest_path": (), "breadth_first_order": (0,), "depth_first_order": (0,),
    "minimum_spanning_tree": (), "reverse_cuthill_mckee": (), "laplacian": (), "dijkstra": (), "bellman_ford": (),
    "johnson": (), "floyd_warshall": (), "structural_rank": (), "maximum_bipartite_matching": (),
    "breadth_first_tree": (0,), "depth_first_tree": (0,), "csgraph_to_dense": (),
}  # fmt: skip


@pytest.mark.parametrize("name", GRAPHS)
def test_graphs(name: str) -> None:
    graph = abs(SQUARE)
    found = getattr(nl.sparse.csgraph, name)(nl.sparse.csr_array(graph), *GRAPHS[name])
    expected = getattr(scipy.sparse.csgraph, name)(graph, *GRAPHS[name])
    first = found[1] if isinstance(found, tuple) else found
    assert isinstance(first, (nl.ndarray, int, np.integer)) or nl.sparse.issparse(first)
    for ours, theirs in zip(_parts(found), _parts(expected), strict=True):
        np.testing.assert_allclose(ours, theirs)


ESTIMATORS = {
    "LogisticRegression": "sklearn.linear_model", "Ridge": "sklearn.linear_model", "KMeans": "sklearn.cluster",
    "MultinomialNB": "sklearn.naive_bayes", "TruncatedSVD": "sklearn.decomposition", "SVC": "sklearn.svm",
    "MaxAbsScaler": "sklearn.preprocessing", "Normalizer": "sklearn.preprocessing",
    "TfidfTransformer": "sklearn.feature_extraction.text", "KNeighborsClassifier": "sklearn.neighbors",
    "RandomForestClassifier": "sklearn.ensemble", "LinearSVC": "sklearn.svm", "DecisionTreeClassifier": "sklearn.tree",
}  # fmt: skip
SEEDED = {"KMeans": {"n_init": 1, "n_clusters": 2}, "RandomForestClassifier": {"n_estimators": 4}}


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators(name: str) -> None:
    pytest.importorskip("sklearn")
    kind = getattr(importlib.import_module(ESTIMATORS[name]), name)
    options = dict(SEEDED.get(name, {}))
    if "random_state" in kind().get_params():
        options["random_state"] = 0
    data, labels = abs(SQUARE), np.arange(12) % 2
    ours = nl.sparse.csr_array(data)
    found, expected = kind(**options).fit(ours, labels), kind(**options).fit(data, labels)
    use = "predict" if hasattr(kind, "predict") else "transform"
    for x, y in zip(_parts(getattr(found, use)(ours)), _parts(getattr(expected, use)(data)), strict=True):
        np.testing.assert_allclose(x, y, 1e-7, 1e-9)
    same(ours, data)


def test_samples_are_split() -> None:
    selection = pytest.importorskip("sklearn.model_selection")
    a = nl.sparse.csr_array(SQUARE)
    found = selection.train_test_split(a, np.arange(12), random_state=0)
    expected = selection.train_test_split(SQUARE, np.arange(12), random_state=0)
    for x, y in zip(found, expected, strict=True):
        np.testing.assert_allclose(numbers(x), numbers(y))


@pytest.mark.parametrize("first", ["import numloom", "import scipy.sparse.linalg, scipy.sparse.csgraph"])
def test_in_whatever_order_they_are_imported(first: str) -> None:
    text = (
        f"{first}\nimport numpy as np, numloom as nl, scipy.sparse.linalg as sl\nnl.config.host_copy = 'allow'\n"
        "a = nl.sparse.eye_array(3, format='csc') * 2\n"
        "assert sl.spsolve(a, np.ones(3)).tolist() == [0.5] * 3 and sl.inv(a).nnz == 3\n"
        "import scipy.sparse as s\nassert s.coo_array(a).nnz == 3"
    )
    done = subprocess.run([sys.executable, "-W", "error", "-c", text], capture_output=True, text=True)
    assert not done.returncode, done.stderr
