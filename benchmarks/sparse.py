"""Sparse work beside CuPy's, or SciPy's where there is no GPU: ``python -m benchmarks.sparse``.

Each line is one call, host and device together: many calls and then one synchronisation, medians of several turns, the
libraries turn by turn in one run. The ratio is the other library's time over ours.
"""

from __future__ import annotations

import argparse
import inspect
import json
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import scipy.sparse
import scipy.sparse.linalg

import numloom
from benchmarks.user_kernels import call_time

Statement = Callable[[], Any]
FULL = {"rows": 1_000_000, "a_row": 32, "columns": 16, "product_rows": 100_000, "grid": 1024}
SMALL = {"rows": 20_000, "a_row": 32, "columns": 16, "product_rows": 2_000, "grid": 64}


def random_rows(rows: int, a_row: int, dtype: str, seed: int = 0) -> scipy.sparse.csr_array:
    """A square matrix with so many numbers in each row, at sorted random places that are all different."""
    rng = np.random.default_rng(seed)
    width = rows // a_row  # one place in each of as many stretches as a row has numbers
    col = rng.integers(0, width, (rows, a_row)) + np.arange(a_row) * width
    data = rng.standard_normal(rows * a_row).astype(dtype)
    indptr = np.arange(rows + 1, dtype=np.int32) * a_row
    return scipy.sparse.csr_array((data, col.ravel().astype(np.int32), indptr), shape=(rows, rows))


def band(rows: int, a_row: int, dtype: str, seed: int = 0) -> scipy.sparse.csr_array:
    """A square matrix with so many numbers in each row, all within a thousand places of the diagonal."""
    rng = np.random.default_rng(seed)
    width = min(2000, rows)
    col = (np.arange(rows)[:, None] + rng.choice(width, a_row, replace=False) - width // 2) % rows
    col.sort(1)
    indptr = np.arange(rows + 1, dtype=np.int32) * a_row
    data = rng.standard_normal(rows * a_row).astype(dtype)
    return scipy.sparse.csr_array((data, col.ravel().astype(np.int32), indptr), shape=(rows, rows))


def graph(rows: int, dtype: str, seed: int = 0) -> scipy.sparse.csr_array:
    """Rows whose lengths follow a power law, as those of a web: some 18 numbers a row, 200,000 in the longest."""
    rng = np.random.default_rng(seed)
    lengths = np.minimum(rng.pareto(1.2, rows) * 4 + 1, rows // 5).astype(np.int64)
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    col = rng.integers(0, rows, indptr[-1], dtype=np.int32)
    return scipy.sparse.csr_array((rng.standard_normal(indptr[-1]).astype(dtype), col, indptr), shape=(rows, rows))


def poisson(n: int) -> scipy.sparse.csr_array:
    """Poisson's equation on a grid of n × n points."""
    line = scipy.sparse.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1])
    return scipy.sparse.csr_array(scipy.sparse.kronsum(line, line))


def inputs(sizes: dict[str, int]) -> dict[str, Any]:
    """Matrices and vectors on the host, made once for all libraries."""
    rng = np.random.default_rng(1)
    rows = sizes["rows"]
    made: dict[str, Any] = {"grid": poisson(sizes["grid"]), "charge": rng.standard_normal(sizes["grid"] ** 2)}
    for dtype in ("f4", "f8"):
        made[dtype] = random_rows(rows, sizes["a_row"], dtype)
        made[f"band {dtype}"] = band(rows, sizes["a_row"], dtype)
        made[f"x {dtype}"] = rng.standard_normal(rows).astype(dtype)
        made[f"X {dtype}"] = rng.standard_normal((rows, sizes["columns"])).astype(dtype)
    made["graph"] = graph(rows, "f8")
    made["left"] = random_rows(sizes["product_rows"], 8, "f8", 2)
    count = rows * sizes["a_row"] // 4
    made["row"], made["col"] = rng.integers(0, rows, count), rng.integers(0, 1 + rows // 100, count)
    made["data"] = rng.standard_normal(count)
    return made


def cases(library: Any, made: dict[str, Any]) -> dict[str, Statement]:
    """The statements with one library's arrays."""
    sparse, array = library.sparse, library.array
    rows = made["f4"].shape[0]
    found: dict[str, Statement] = {}
    for dtype in ("f4", "f8"):
        a, x, columns = library.matrix(made[dtype]), array(made[f"x {dtype}"]), array(made[f"X {dtype}"])
        found[f"SpMV {dtype}"] = lambda a=a, x=x: a @ x
        found[f"SpMM {dtype}"] = lambda a=a, x=columns: a @ x
        near = library.matrix(made[f"band {dtype}"])
        found[f"SpMV of a band {dtype}"] = lambda a=near, x=x: a @ x
    linked = library.matrix(made["graph"])
    found["SpMV of a graph"] = lambda x=x: linked @ x
    wide, left = library.matrix(made["f8"]), library.matrix(made["left"])
    found["the transpose times a vector"] = lambda x=x: wide.T @ x
    found["SpGEMM"] = lambda: left @ left
    found["CSR to CSC"] = lambda: wide.tocsc()
    data, row, col = array(made["data"]), array(made["row"]), array(made["col"])
    found["COO with duplicates to CSR"] = lambda: sparse.coo_matrix((data, (row, col)), shape=(rows, rows)).tocsr()
    found["half of the rows, a slice"] = lambda: wide[rows // 4 : 3 * rows // 4]
    chosen = array(np.random.default_rng(4).permutation(rows)[: rows // 10])
    found["a tenth of the rows, an array"] = lambda: wide[chosen]
    grid, charge = library.matrix(made["grid"]), array(made["charge"])
    found["SpMV of the grid"] = lambda: grid @ charge
    found["CG to 1e-6 on the grid"] = lambda: library.cg(grid, charge)
    return found


def libraries() -> dict[str, Any]:
    """numloom, and CuPy where it is, else SciPy."""
    ours = numloom.sparse
    found = {
        "numloom": SimpleNamespace(
            sparse=ours, array=numloom.asarray, matrix=ours.csr_matrix, synchronize=numloom.synchronize,
            start=lambda result: numloom.evaluate(*(x for x in _arrays(result) if x is not None)),
            cg=lambda a, b: ours.linalg.cg(a, b, rtol=1e-6),
        )
    }  # fmt: skip
    try:
        import cupy
        import cupyx.scipy.sparse
        import cupyx.scipy.sparse.linalg
    except ImportError:
        found["scipy"] = SimpleNamespace(
            sparse=scipy.sparse, array=np.asarray, matrix=scipy.sparse.csr_matrix, synchronize=lambda: None,
            start=lambda result: None, cg=lambda a, b: scipy.sparse.linalg.cg(a, b, rtol=1e-6),
        )  # fmt: skip
    else:
        theirs = cupyx.scipy.sparse
        found["cupy"] = SimpleNamespace(
            sparse=theirs, array=cupy.asarray, matrix=lambda s: theirs.csr_matrix(scipy.sparse.csr_matrix(s)),
            synchronize=cupy.cuda.Device().synchronize, start=lambda result: None,
            cg=lambda a, b: theirs.linalg.cg(a, b, **{_tolerance(theirs.linalg.cg): 1e-6}),
        )  # fmt: skip
    return found


def _tolerance(solver: Callable[..., Any]) -> str:
    """What a solver calls its relative tolerance: CuPy 14 followed SciPy's new name."""
    return "rtol" if "rtol" in inspect.signature(solver).parameters else "tol"


def _arrays(result: Any) -> list[Any]:
    """The arrays of ours that a result is made of."""
    if isinstance(result, tuple):
        return [result[0]]
    return [result.data, result.indices, result.indptr] if numloom.sparse.issparse(result) else [result]


def operands(name: str, made: dict[str, Any]) -> tuple[Any, Any]:
    """The matrix and the vector of a line's product."""
    if name == "SpMV of the grid":
        return made["grid"], made["charge"]
    if name == "SpMV of a graph":
        return made["graph"], made["x f8"]
    dtype = name.split()[-1]
    return made[f"band {dtype}" if "band" in name else dtype], made[f"x {dtype}"]


def memory_share(seconds: float, matrix: Any, x: Any, bandwidth: float) -> float:
    """The share of the memory's bandwidth that a product with a vector reaches, each byte counted once."""
    moved = matrix.data.nbytes + matrix.indices.nbytes + matrix.indptr.nbytes + 2 * x.nbytes
    return float(moved / seconds / bandwidth)


def main() -> None:
    """Time the libraries turn by turn and print medians and ratios."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--sizes", choices=("small", "full"), default="full")
    parser.add_argument("--turns", type=int, default=5)
    parser.add_argument("--only", default="", help="words of the lines to run, with commas between them")
    parser.add_argument("--bandwidth", type=float, default=4.3e12, help="bytes a second of the memory (an H200's)")
    parser.add_argument("--json", type=Path)
    given = parser.parse_args()
    started = time.perf_counter()
    made = inputs(SMALL if given.sizes == "small" else FULL)
    sides = libraries()
    statements = {side: cases(library, made) for side, library in sides.items()}
    words = [word for word in given.only.split(",") if word]
    print(f"inputs are made: {time.perf_counter() - started:.0f} s", flush=True)
    results = []
    for name in statements["numloom"]:
        if words and not any(word in name for word in words):
            continue
        times: dict[str, list[float]] = {side: [] for side in sides}
        first = {}
        for side, library in sides.items():  # compiles, loads libraries
            begin = time.perf_counter()
            library.start(statements[side][name]())
            library.synchronize()
            first[side] = time.perf_counter() - begin
            print(f"{name}: first call of {side}: {first[side]:.2f} s", flush=True)
        for _ in range(given.turns):
            for side, library in sides.items():
                times[side].append(call_time(statements[side][name], library.start, library.synchronize))
        medians = {side: statistics.median(found) for side, found in times.items()}
        ours, other = medians.values()
        line = f"{name}: " + ", ".join(f"{side} {time:,.1f} µs" for side, time in medians.items())
        line += f", ratio {other / ours:.2f}"
        share = None
        if name.startswith("SpMV"):
            share = memory_share(ours / 1e6, *operands(name, made), given.bandwidth)
            line += f", {share:.0%} of the memory's bandwidth"
        print(line, flush=True)
        results.append({"name": name, "times": medians, "ratio": other / ours, "bandwidth": share})
    if given.json:
        given.json.write_text(json.dumps(results, indent=1) + "\n", encoding="utf-8")


if __name__ == "__main__":
    main()
