"""Small changes of sources: which there are, which are chosen, and what is told of them (``tools/mutants.py``)."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tools"))

import mutants  # noqa: E402
import mutations  # noqa: E402
from mutants import CAUGHT, EQUAL_ONE, HANGS, NOT_COMPILED, SURVIVED, Copy  # noqa: E402
from mutations import KINDS, Mutant, applied, choose, mutants_of  # noqa: E402

PYTHON = '''"""Says a + b < c and d == 1."""

from x import a - b if 0 else 0

ROOM = 1 << (6 + 1)
__slots__ = ("f4", a + b)


def key_of(self, shape: Tuple[F32 < 1], n=0) -> F32 == 1:
    """Says a + b < c and d == 1."""
    # a + b < c
    if n < 3 and self.code == F32:  # a + b
        raise ValueError(f"{n + 1} < 2")
    with lock:
        evaluate([self.node])
    self.found[n - 1] = sorted(shape)
    call(first, second)
    if not n:
        return True
    return self.code, shape
'''.replace("from x import a - b if 0 else 0", "from x import F32")

CYTHON = '''"""Says a + b < c."""
from numloom.graph cimport F32

cdef class Thing:
    cdef int look(self, int n) except -1:
        """a + b < c"""
        if n < 3 and not self.known:  # n + 1 < 2
            raise ValueError("a + b < c")
        self.numbers[n + 1] = <int>n
        wait(self)
        return True
'''

CPP = """// a + b < c
template <class T> T smaller(T a, T b) { return a < b; }
/* if (a < b) */
inline bool f(double* p, i64 n) {
    if (n < 3 && !p) puts("a + b < c");
    p[n + 1] = (f64)n;
    __syncthreads();
    return true;
}
"""


def changes(path: str, source: str) -> set[tuple[str, str]]:
    return {(mutant.kind, mutant.after) for mutant in mutants_of(path, source)}


def test_changes_of_python() -> None:
    assert changes("src/numloom/plan/x.py", PYTHON) == {
        ("bound", "if n <= 3 and self.code == F32:  # a + b"),
        ("logic", "if n < 3 or self.code == F32:  # a + b"),
        ("comparison", "if n < 3 and self.code != F32:  # a + b"),
        ("dtype", "if n < 3 and self.code == F64:  # a + b"),
        ("barrier", "if True:"),
        ("barrier", "pass"),
        ("bound", "self.found[n] = sorted(shape)"),
        ("sign", "self.found[n + 1] = sorted(shape)"),
        ("order", "self.found[n - 1] = list(shape)"),
        ("unwritten", "pass"),
        ("order", "call(second, first)"),
        ("logic", "if bool(n):"),
        ("constant", "return False"),
        ("key", "return None, shape"),
        ("key", "return self.code, None"),
    }


def test_changes_of_cython() -> None:
    assert changes("src/numloom/plan/x.pyx", CYTHON) == {
        ("bound", "if n <= 3 and not self.known:  # n + 1 < 2"),
        ("logic", "if n < 3 or not self.known:  # n + 1 < 2"),
        ("logic", "if n < 3 and self.known:  # n + 1 < 2"),
        ("sign", "self.numbers[n - 1] = <int>n"),
        ("bound", "self.numbers[n] = <int>n"),
        ("unwritten", "pass"),
        ("barrier", "pass"),
        ("constant", "return False"),
    }


def test_changes_of_cpp() -> None:
    assert changes("src/numloom/emit/include/x.hpp", CPP) == {
        ("bound", 'if (n <= 3 && !p) puts("a + b < c");'),
        ("logic", 'if (n < 3 || !p) puts("a + b < c");'),
        ("logic", 'if (n < 3 && p) puts("a + b < c");'),
        ("sign", "p[n - 1] = (f64)n;"),
        ("bound", "p[n] = (f64)n;"),
        ("dtype", "p[n + 1] = (f32)n;"),
        ("unwritten", ";"),
        ("barrier", ";"),
        ("constant", "return false;"),
    }


def test_changes_of_texts() -> None:
    """C++ in strings is changed where kernels are emitted, and only there."""
    source = 'def f(k):\n    """if (a < b) x;"""\n    return f"if (a < n{k}) {{ b; }}\\n__syncthreads();\\n", "a < b"\n'
    assert changes("src/numloom/emit/x.py", source) == {
        ("bound", 'return f"if (a <= n{k}) {{ b; }}\\n__syncthreads();\\n", "a < b"'),
        ("barrier", 'return f"if (a < n{k}) {{ b; }}\\n;\\n", "a < b"'),
    }
    assert changes("src/numloom/plan/x.py", source) == set()
    refused = 'def f(k):\n    raise ValueError("a < b; c")\n'
    assert changes("src/numloom/emit/x.py", refused) == set()


def test_pairs_that_are_compared_and_keys_forget_a_part() -> None:
    source = "def same(a, b):\n    return (a.x, a.y) == (b.x, b.y) and known[a, b.x]\n"
    keys = {after for kind, after in changes("src/numloom/plan/x.py", source) if kind == "key"}
    assert keys == {
        "return (None, a.y) == (None, b.y) and known[a, b.x]",
        "return (a.x, None) == (b.x, None) and known[a, b.x]",
        "return (a.x, a.y) == (b.x, b.y) and known[None, b.x]",
        "return (a.x, a.y) == (b.x, b.y) and known[a, None]",
    }


@pytest.mark.parametrize("room", mutations.ROOMS)
def test_our_sources_stay_python_and_keep_what_is_told(room: str) -> None:
    """One file of each room: each change compiles, changes one line, and no docstring."""
    paths = sorted((ROOT / "src" / "numloom" / room).glob("*.py"), key=lambda path: path.stat().st_size)
    path = paths[len(paths) // 3]
    name, source = str(path.relative_to(ROOT)), path.read_text()
    before = ast.get_docstring(ast.parse(source))
    found = mutants_of(name, source)
    assert found
    assert len({mutant.id for mutant in found}) == len(found)
    for mutant in found[:150]:
        text = applied(source, mutant)
        different = [pair for pair in zip(source.split("\n"), text.split("\n"), strict=True) if pair[0] != pair[1]]
        assert [(one.strip(), other.strip()) for one, other in different] == [(mutant.before, mutant.after)]
        assert ast.get_docstring(ast.parse(text)) == before


def test_which_are_chosen_follows_from_seed_and_lines() -> None:
    sources = {f"src/numloom/{room}/x.py": PYTHON for room in ("plan", "emit", "graph")}
    found = [mutant for path, source in sources.items() for mutant in mutants_of(path, source)]
    chosen = choose(found, 12, 1)
    assert chosen == choose(list(reversed(found)), 12, 1)
    assert chosen != choose(found, 12, 2)
    assert [mutant.room for mutant in chosen] == ["plan", "emit", "graph"] * 4
    kinds = [mutant.kind for mutant in chosen if mutant.room == "plan"]
    assert kinds == [kind for kind in KINDS if kind in set(kinds)]
    # Where lines move, the same changes are chosen.
    moved = [
        mutant for path, source in sources.items() for mutant in mutants_of(path, source.replace("ROOM", "\nROOM"))
    ]
    assert [mutant.key for mutant in choose(moved, 12, 1)] == [mutant.key for mutant in chosen]
    assert choose(found, 1000, 1) != []
    assert choose([], 5, 1) == []


def test_equal_lines_have_names_of_their_own() -> None:
    found = mutants_of("src/numloom/plan/x.py", "def f(a):\n    g(a < 1)\n    g(a < 1)\n")
    assert [(mutant.line, mutant.copy) for mutant in found] == [(2, 0), (3, 1)]
    assert len({mutant.id for mutant in found}) == 2


def mutant_at(line: int, path: str = "src/numloom/plan/x.py") -> Mutant:
    return Mutant(path, line, "a < 1", "a <= 1", "bound", line, "a <= 1")


def test_the_table_counts_by_room_and_shows_what_survived() -> None:
    verdicts = (CAUGHT, CAUGHT, HANGS, SURVIVED, NOT_COMPILED, EQUAL_ONE)
    results = [mutants.result_of(mutant_at(line), verdict) for line, verdict in enumerate(verdicts)]
    results.append(mutants.result_of(mutant_at(9, "src/numloom/emit/y.hpp"), CAUGHT))
    text = mutants.table(results)
    assert "| plan | 4 | 3 (75%) | 1 | 1 | 1 | 1 |" in text
    assert "| emit | 1 | 1 (100%) | 0 | 0 | 0 | 0 |" in text
    assert "| all | 5 | 4 (80%) | 1 | 1 | 1 | 1 |" in text
    assert "survived: src/numloom/plan/x.py:3 (bound)\n  - a < 1\n  + a <= 1" in text


def test_reasons_why_changes_are_none() -> None:
    text = (
        "# words\nsrc/x.py\n  - a < 1\n  + a <= 1\n  = never 1\n  - b\n  + c\n  = why\nsrc/y.py\n  - a\n  + b\n  = z\n"
    )
    assert mutants.read_equal(text) == {
        ("src/x.py", "a < 1", "a <= 1"): "never 1",
        ("src/x.py", "b", "c"): "why",
        ("src/y.py", "a", "b"): "z",
    }


def test_what_is_said_to_be_equal_is_there() -> None:
    """A line that is no more takes its reason along."""
    for (path, before, after), reason in mutants.read_equal(mutants.EQUAL.read_text()).items():
        found = mutants_of(path, (ROOT / path).read_text())
        assert reason, (path, before)
        assert any((mutant.before, mutant.after) == (before, after) for mutant in found), (path, before, after)


def test_lines_of_a_diff() -> None:
    text = (
        "--- a/src/x.py\n+++ b/src/x.py\n@@ -1,2 +1,3 @@ def\n+a\n@@ -9 +12 @@\n+b\n--- a/y\n+++ b/y\n@@ -3,2 +2,0 @@\n"
    )
    assert mutants.read_diff(text) == {"src/x.py": {1, 2, 3, 12}, "y": set()}


@pytest.mark.parametrize(
    ("code", "printed", "expected"),
    [
        (0, "3 passed", (SURVIVED, "")),
        (5, "", (SURVIVED, "")),
        (1, "F\nFAILED tests/a.py::test_b[1] - assert", (CAUGHT, "tests/a.py::test_b[1]")),
        (
            1,
            "FAILED tests/a.py::test_b[a part-{'k': (2,)}] - a - b",
            (CAUGHT, "tests/a.py::test_b[a part-{'k': (2,)}]"),
        ),
        (1, "FAILED tests/a.py::test_b[a part]", (CAUGHT, "tests/a.py::test_b[a part]")),
        (2, "ERROR tests/a.py - ImportError", (CAUGHT, "tests/a.py")),
        (-11, "", (CAUGHT, "exit -11")),
    ],
)
def test_how_a_session_ended(code: int, printed: str, expected: tuple[str, str]) -> None:
    assert mutants.read_session(code, printed) == expected


def test_tests_that_stand_near() -> None:
    path = "src/numloom/plan/sizes.py"
    line = next(n for n, text in enumerate((ROOT / path).read_text().split("\n"), 1) if text.startswith("    "))
    near = mutants.tests_near(ROOT, Mutant(path, line, "", "", "sign", 0, ""))
    assert near[0] == "tests/plan/test_sizes.py"
    assert len(near) <= mutants.NEAR
    assert mutants.around("class A:\n    def f(self):\n        x = 1\n", 3) == "f"
    beside = "def outer(\n    a,\n) -> None:  # all\n    def inner():\n        pass\n\n    if a:\n        x = 1\n"
    assert mutants.around(beside, 8) == "outer" and mutants.around(beside, 5) == "inner"


def test_which_tests_try_a_change() -> None:
    """Those near it, those that name its function, random programs; without haste all of its room."""
    mutant = Mutant("src/numloom/engine/x.py", 1, "", "", "sign", 0, "")
    quick = mutants.stages(mutant, ["tests/engine/test_x.py"], True, "_settled")
    assert [stage.name for stage in quick] == ["near", "named", "general"]
    assert quick[1].options == ("-k", "settled")
    assert quick[1].tests == ("tests/engine", *mutants.BESIDE["engine"], "tests/api")
    assert [stage.name for stage in mutants.stages(mutant, [], False, "")] == ["general", "engine"]
    for function in ("", "at", "__init__"):  # which nobody names
        assert "named" not in [stage.name for stage in mutants.stages(mutant, [], True, function)]


def test_loops_are_left_out_where_their_headers_change(tmp_path: Path) -> None:
    """What is known of tests is known of either way."""
    root, (loops, _) = tmp_path / "root", mutants.LOOPS
    for folder in (root, tmp_path / "tree"):
        (folder / loops).parent.mkdir(parents=True)
        (folder / loops).write_text("loops")
    copy = Copy(tmp_path / "tree", 60.0, root=root)
    copy.known["a"] = False
    copy.keep_loops(False)
    assert not (copy.tree / loops).exists() and copy.known == {} and (root / loops).exists()
    copy.keep_loops(True)
    assert (copy.tree / loops).read_text() == "loops" and copy.known == {"a": False}


def test_what_is_built_anew(tmp_path: Path) -> None:
    folder = tmp_path / "src" / "numloom" / "engine"
    folder.mkdir(parents=True)
    empty = ("alone.py", "alone.pxd", "used.py", "used.pxd", "_ready.pyx", "ready.hpp", "plain.py")
    texts = {
        **dict.fromkeys(empty, ""),
        "_fast.pyx": "from numloom.engine.used cimport x",
        "_ready.pxd": 'cdef extern from "ready.hpp":',
        "more.hpp": '#include "ready.hpp"',
        "_more.pyx": 'cdef extern from "more.hpp":',
        "_user.pyx": "from numloom.engine._ready cimport y",
    }
    for name, text in texts.items():
        (folder / name).write_text(text)
        if name.endswith((".py", ".pyx")) and name != "plain.py":
            (folder / name).with_name(Path(name).stem + mutants.SUFFIX).touch()

    def built(name: str) -> list[str]:
        return [Path(path).name for path in mutants.needs_building(tmp_path, f"src/numloom/engine/{name}")]

    assert built("alone.py") == built("plain.py") == []
    assert built("used.py") == ["used.py"]
    assert built("_fast.pyx") == ["_fast.pyx"]
    assert built("ready.hpp") == ["_more.pyx", "_ready.pyx", "_user.pyx"]


def small_tree(root: Path) -> Path:
    """A package of a module, with tests that do not look at everything, one of which fails."""
    (root / "src" / "numloom" / "plan").mkdir(parents=True)
    (root / "tests" / "plan").mkdir(parents=True)
    (root / "src" / "numloom" / "plan" / "small.py").write_text(
        "def small(n):\n    return n < 3\n\n\ndef count(n):\n    while n < 1:\n        n += 1\n    return True\n"
    )
    (root / "tests" / "conftest.py").write_text(
        "def pytest_addoption(parser):\n    parser.addoption('--part')\n"
        "    parser.addoption('--telling', action='store_true')\n"
    )
    (root / "tests" / "plan" / "test_small.py").write_text(
        "import sys\nsys.path.insert(0, 'src/numloom/plan')\nimport small\n\n\n"
        "def test_red():\n    assert False\n\n\n"
        "def test_small():\n    assert small.small(2)\n    assert not small.small(5)\n    small.count(0)\n"
    )
    subprocess.run(["git", "init", "-q", str(root)], check=True)
    return root


@pytest.mark.slow
def test_changes_are_tried_in_a_copy(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(mutants, "stages_of", lambda room: [])
    root = small_tree(tmp_path / "root")
    path = "src/numloom/plan/small.py"
    source = (root / path).read_text()
    copy = Copy(tmp_path / "0" / "tree", 60.0, root=root)
    mutants.copy_tree(root, copy.tree)
    found = {mutant.after: mutant for mutant in mutants_of(path, source)}
    # A test that fails unchanged catches nothing.
    assert copy.attempt(found["return n <= 3"], {}).verdict == SURVIVED
    assert copy.known == {"tests/plan/test_small.py::test_red": False}
    turned = Mutant(path, 2, "return n < 3", "return n > 3", "comparison", 0, "    return n > 3")
    caught = copy.attempt(turned, {})
    assert (caught.verdict, caught.by) == (CAUGHT, "tests/plan/test_small.py::test_small")
    broken = Mutant(path, 2, "return n < 3", "return n <", "comparison", 0, "    return n <")
    assert copy.attempt(broken, {}).verdict == NOT_COMPILED
    copy.limit = 5.0
    hangs = copy.attempt(found["n -= 1"], {})
    assert (hangs.verdict, hangs.room, hangs.by) == (HANGS, "plan", "no end after 5 s")
    assert (copy.tree / path).read_text() == source == (root / path).read_text()


def test_results_are_kept(tmp_path: Path) -> None:
    file = tmp_path / "results.jsonl"
    assert mutants.read_results(file) == {}
    for verdict in (SURVIVED, CAUGHT):
        mutants.keep(file, mutants.result_of(mutant_at(1), verdict))
    mutants.keep(file, mutants.result_of(mutant_at(2), HANGS, "no end", 3.14159))
    read = mutants.read_results(file)
    assert [result.verdict for result in read.values()] == [CAUGHT, HANGS]
    assert [result.seconds for result in read.values()] == [0.0, 3.1]
