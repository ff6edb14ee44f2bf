"""SciPy's own tests of its sparse arrays with ours in place: ``python tools/scipy_sparse_tests.py``.

Parts of files' names may follow, and after ``--`` options of pytest. The tests are those of the installed SciPy;
nothing of them is kept here. While a file of theirs is imported, the names of `scipy.sparse` and its `linalg` and
`csgraph` are ours; after that they are SciPy's again, since ours is built on them. What the files look up later by the
module goes to ours, too. At the end it prints how many passed, by file, and why others failed.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import re
import sys
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator
from types import ModuleType
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import scipy.sparse.csgraph
import scipy.sparse.linalg

import numloom
import numloom.sparse

FILES = (
    "scipy.sparse.tests.test_base",
    "scipy.sparse.tests.test_arithmetic1d",
    "scipy.sparse.tests.test_common1d",
    "scipy.sparse.tests.test_construct",
    "scipy.sparse.tests.test_coo",
    "scipy.sparse.tests.test_csc",
    "scipy.sparse.tests.test_csr",
    "scipy.sparse.tests.test_dok",
    "scipy.sparse.tests.test_extract",
    "scipy.sparse.tests.test_indexing1d",
    "scipy.sparse.tests.test_matrix_io",
    "scipy.sparse.tests.test_minmax1d",
    "scipy.sparse.linalg._dsolve.tests.test_linsolve",
    "scipy.sparse.linalg._eigen.tests.test_svds",
    "scipy.sparse.linalg._isolve.tests.test_iterative",
    "scipy.sparse.linalg._isolve.tests.test_lsqr",
    "scipy.sparse.linalg._isolve.tests.test_lsmr",
    "scipy.sparse.linalg._isolve.tests.test_minres",
    "scipy.sparse.linalg.tests.test_expm_multiply",
    "scipy.sparse.linalg.tests.test_interface",
    "scipy.sparse.linalg.tests.test_matfuncs",
    "scipy.sparse.linalg.tests.test_norm",
    "scipy.sparse.linalg.tests.test_onenormest",
)
ASSERTIONS = (
    "assert_", "assert_allclose", "assert_almost_equal", "assert_array_almost_equal", "assert_array_equal",
    "assert_equal",
)  # fmt: skip
PAIRS: tuple[tuple[Any, Any], ...] = (
    (scipy.sparse, numloom.sparse),
    (scipy.sparse.linalg, numloom.sparse.linalg),
    (scipy.sparse.csgraph, numloom.sparse.csgraph),
)


class Instead(ModuleType):
    """A module of SciPy's with our names before its own."""

    def __init__(self, theirs: Any, ours: Any) -> None:
        super().__init__(theirs.__name__)
        self._theirs, self._ours = theirs, ours

    def __getattr__(self, name: str) -> Any:
        return getattr(self._ours if name in self._ours.__all__ else self._theirs, name)


@contextlib.contextmanager
def ours_in_place() -> Iterator[None]:
    """Names of SciPy's modules are ours, for imports by name."""
    kept = [(theirs, name, getattr(theirs, name)) for theirs, ours in PAIRS for name in ours.__all__
            if hasattr(theirs, name) and not isinstance(getattr(theirs, name), ModuleType)]  # fmt: skip
    for theirs, name, _ in kept:
        setattr(theirs, name, getattr(dict(PAIRS)[theirs], name))
    real = ModuleType("scipy")
    for theirs, _ in PAIRS:
        copy = ModuleType(theirs.__name__)
        vars(copy).update(vars(theirs))
        vars(copy).update({name: value for module, name, value in kept if module is theirs})
        setattr(real if theirs is scipy.sparse else real.sparse, theirs.__name__.split(".")[-1], copy)
    ours_of = [module for name, module in sys.modules.items() if name.startswith("numloom.sparse")]
    ours_of = [module for module in ours_of if getattr(module, "scipy", None) is scipy]
    for module in ours_of:  # Some files make matrices while they are imported.
        module.scipy = real  # type: ignore[attr-defined]
    try:
        yield
    finally:
        for theirs, name, value in kept:
            setattr(theirs, name, value)
        for module in ours_of:
            module.scipy = scipy  # type: ignore[attr-defined]


def looking(function: Callable[..., Any]) -> Callable[..., Any]:
    """An assertion of NumPy's, which asks for its own arrays by their type."""

    def check(*args: Any, **options: Any) -> Any:
        return function(*map(_numpy, args), **{key: _numpy(value) for key, value in options.items()})

    return check


def _numpy(x: Any) -> Any:
    if isinstance(x, numloom.ndarray):
        return x.get() if x.ndim else x.get()[()]
    return type(x)(map(_numpy, x)) if type(x) in (list, tuple) else x


def _dense(toarray: Callable[[Any], Any]) -> Callable[[Any], Any]:
    return lambda a: a.get() if isinstance(a, numloom.ndarray) else _numpy(toarray(a))


def prepare(name: str) -> None:
    """Import a file of tests with our names, and without the dtypes that no GPU computes with."""
    shared = sys.modules["scipy.sparse._sputils"]
    every = shared.supported_dtypes  # type: ignore[attr-defined]
    shared.supported_dtypes = [x for x in every if np.dtype(x).char not in "gG"]  # type: ignore[attr-defined]
    kept = {key: getattr(np.testing, key) for key in ASSERTIONS}
    for key, value in kept.items():
        setattr(np.testing, key, looking(value))
    with ours_in_place():
        module = importlib.import_module(name)
    for key, value in kept.items():
        setattr(np.testing, key, value)
    shared.supported_dtypes = every  # type: ignore[attr-defined]
    if hasattr(module, "toarray"):
        module.toarray = _dense(module.toarray)  # type: ignore[attr-defined]
    stands: dict[Any, Any] = {theirs: Instead(theirs, ours) for theirs, ours in PAIRS}
    top = Instead(scipy, scipy)
    for theirs, stand in stands.items():
        setattr(stands[scipy.sparse] if theirs is not scipy.sparse else top, theirs.__name__.split(".")[-1], stand)
    stands[scipy] = top
    for name in ("scipy.sparse._construct", "scipy.sparse._extract"):
        stands[sys.modules[name]] = Instead(sys.modules[name], numloom.sparse)
    for key, value in list(vars(module).items()):
        if isinstance(value, ModuleType) and value in stands:
            setattr(module, key, stands[value])


KINDS = {
    "longdouble": r"float128|complex256",
    "asks for NumPy's or SciPy's own classes": r"isinstance|type\(|must be numpy.ndarray|ndarray' object has no|flags|"
    r"may_share_memory|truth value of an array|__dict__",
    "looks inside": r"has no attribute '_|_superlu|_expm_multiply",
    "the words of an error": r"Regex pattern did not match|excinfo",
    "a warning or an error that does not come": r"DID NOT (WARN|RAISE)",
}


def kind_of(text: str) -> str:
    """Why a test failed, by the last lines of its report."""
    last = "\n".join(line for line in text.splitlines() if line.startswith((">", "E")))
    return next((kind for kind, pattern in KINDS.items() if re.search(pattern, last)), "something else")


class Counts:
    """How many tests of each file passed, failed and were left out, and why they failed."""

    def __init__(self) -> None:
        self.found: dict[str, Counter[str]] = defaultdict(Counter)
        self.kinds: Counter[str] = Counter()

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.when == "call" or (report.when == "setup" and report.outcome != "passed"):
            self.found[report.location[0].rpartition("/")[2]][report.outcome] += 1
            if report.failed:
                kind = kind_of(report.longreprtext)
                self.kinds[kind] += 1
                if kind == "something else":
                    print(f"\n{report.nodeid}: {report.longreprtext.splitlines()[-1][-120:]}")


def main() -> int:
    """Run them and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("files", nargs="*", help="parts of the names of files; all by default")
    parser.add_argument("--theirs", action="store_true", help="SciPy's own classes, to compare")
    words = sys.argv[1:]
    cut = words.index("--") if "--" in words else len(words)
    given, rest = parser.parse_args(words[:cut]), words[cut + 1 :]
    numloom.config.host_copy = "allow"
    names = [name for name in FILES if not given.files or any(part in name for part in given.files)]
    for name in names:
        importlib.import_module(name) if given.theirs else prepare(name)
    counts = Counts()
    np.set_printoptions(threshold=20)
    options = ["-q", "-p", "no:cacheprovider", "--no-header", "-rN", "-W", "ignore", "--pyargs", "-c", "/dev/null"]
    pytest.main([*options, *names, *rest], plugins=[counts])
    total: Counter[str] = Counter()
    for name, found in counts.found.items():
        total.update(found)
        print(f"{name}: {found['passed']} passed, {found['failed']} failed, {found['skipped']} left out")
    for kind, count in counts.kinds.most_common():
        print(f"failed, {kind}: {count}")
    print(f"all: {total['passed']} passed, {total['failed']} failed, {total['skipped']} left out")
    return 0


if __name__ == "__main__":
    sys.exit(main())
