"""Fixed kernel texts: the same for every hash seed and order of work; what another tree writes otherwise is named."""

from __future__ import annotations

import io
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from benchmarks.texts.__main__ import main
from benchmarks.texts.compare import alike, any_change, compare, print_outcomes, table_of_side
from benchmarks.texts.program import HOST
from benchmarks.texts.programs import FAMILIES, programs
from benchmarks.texts.side import (
    ROOT,
    Found,
    Incomparable,
    Side,
    Unknown,
    committed,
    copy_sources,
    git,
    run_either,
    run_side,
)
from rich.console import Console

from numloom.emit.values import header

FEW = ("windows", "generated")


@pytest.fixture(scope="module")
def here() -> Side:
    """All texts of the sources that are tested."""
    return run_side(ROOT)


@pytest.fixture
def copy(tmp_path: Path) -> Path:
    """A tree with the same sources, and no benchmarks."""
    copy_sources(ROOT, tmp_path)
    return tmp_path


def printed(outcomes: list, show: int = 5) -> str:
    console = Console(width=150, file=io.StringIO(), record=True)
    print_outcomes(console, outcomes, "here and there", show)
    return console.export_text()


def test_names_are_unique() -> None:
    titles = [program.title for program in programs()]
    assert len(set(titles)) == len(titles) >= 300
    assert [program.family for program in programs(("rows",))] == ["rows"] * len(list(programs(("rows",))))
    with pytest.raises(ValueError, match="'row' is no family; these are: operations, "):
        list(programs(("row",)))


@pytest.mark.slow
def test_every_program_has_texts(here: Side) -> None:
    assert {key[0] for key in here.programs} == set(FAMILIES)
    refused = {key: found.refused for key, found in here.programs.items() if found.refused}
    assert not refused
    # Writing at indices is a routine of the host.
    assert [key for key, found in here.programs.items() if not found.texts] == [("updates", "at indices", HOST)]
    # Rows whose passes need different headers on the host: the order of a set would show there.
    both = header("positions"), header("moments_lanes")
    texts = [text for key, found in here.programs.items() if key[2] == HOST for text in found.texts]
    assert sum(all(each in text for each in both) for text in texts) >= 5


@pytest.mark.slow
def test_texts_are_the_same_for_every_hash_seed(here: Side, monkeypatch: pytest.MonkeyPatch) -> None:
    # Kernels are kept on disk by their texts. With 4 and 7 (below), sets of a few strings are in different orders.
    monkeypatch.setenv("PYTHONHASHSEED", "4")
    assert run_side(ROOT).programs == here.programs


@pytest.mark.slow
def test_texts_do_not_depend_on_what_was_recorded_before(here: Side) -> None:
    for family in ("random rows", "rows"):
        alone = run_side(ROOT, (family,))
        assert alone.programs == {key: found for key, found in here.programs.items() if key[0] == family}


@pytest.mark.slow
def test_a_copy_of_the_sources_writes_the_same_texts(here: Side, copy: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONHASHSEED", "7")
    outcomes = compare(here, run_either(copy, ()))
    assert len(outcomes) == len(here.programs) and not any_change(outcomes)
    assert "programs: all texts are the same" in printed(outcomes)


@pytest.mark.slow
def test_changed_programs_are_named(here: Side, copy: Path) -> None:
    file = copy / "src" / "numloom" / "emit" / "include" / "exp.hpp"
    file.write_text(file.read_text() + "typedef int another_line;\n")
    outcomes = compare(here, run_side(copy))
    changed = {each.key: each for each in outcomes if each.what == "changed"}
    assert {("operations", "exp of bfloat16 and float32", target) for target in ("gpu", "host")} <= set(changed)
    assert ("operations", "floor of float32 and float64", "gpu") not in changed
    assert set(changed) == {key for key, found in here.programs.items() if header("exp") in found.document()}
    assert all(each.count("-") >= 1 and each.count("+") == 0 for each in changed.values())
    text = printed(outcomes, 1)
    assert "-typedef int another_line;" in text and "by the same lines: " in text
    assert f"programs: {len(changed):,} changed" in text


def test_a_side_without_texts_is_refused(copy: Path) -> None:
    with pytest.raises(Incomparable, match="it has no src/numloom"):
        run_side(copy / "src")
    shutil.move(copy / "src" / "numloom" / "plan" / "plan.py", copy / "src" / "numloom" / "plan" / "planner.py")
    with pytest.raises(Incomparable, match=r"numloom\.plan\.plan.*; and it has no benchmarks/texts of its own"):
        run_either(copy, FEW)


@pytest.mark.slow
def test_a_tree_that_is_too_different_is_run_by_its_own_programs(copy: Path) -> None:
    plan = copy / "src" / "numloom" / "plan" / "plan.py"
    plan.write_text(plan.read_text().replace("make_plan", "make_a_plan"))
    for file in (copy / "src" / "numloom" / "engine").glob("*.py"):
        file.write_text(file.read_text().replace("make_plan", "make_a_plan"))
    shutil.copytree(ROOT / "benchmarks", copy / "benchmarks", ignore=shutil.ignore_patterns("__pycache__", "history"))
    own = copy / "benchmarks" / "texts" / "inside.py"
    own.write_text(own.read_text().replace("make_plan", "make_a_plan"))
    there = run_either(copy, FEW)
    assert "by its own script, since today's cannot run there: ImportError" in there.note
    assert not any_change(compare(run_side(ROOT, FEW), there))


def test_outcomes() -> None:
    a, b, c, d, e = ((name, name, HOST) for name in "abcde")
    one, other, none = Found(("x\ny",)), Found(("x\nz", "w")), Found(refused="TypeError: no")
    here, there = Side({a: one, b: one, c: none, d: none}, 1), Side({a: one, b: other, c: one, d: none, e: one}, 1)
    outcomes = compare(here, there)
    assert [each.what for each in outcomes] == ["same", "changed", "only there", "refused", "only there"]
    assert [each.reason for each in outcomes[2:]] == ["TypeError: no", "TypeError: no", "no such program"]
    assert outcomes[1].changes == ("-z", "-// kernel 2", "-w", "+y") and len(alike(outcomes)) == 1
    assert any_change(outcomes) and not any_change([outcomes[0], outcomes[3]])
    text = printed(outcomes)
    assert (
        "5 programs: 1 changed, 2 only there, 1 refused" in text and "only there: e/e (host): no such program" in text
    )
    assert here.digest([a]) == there.digest([a]) and here.digest([b]) != there.digest([b])
    assert table_of_side(here).row_count == 5


def test_what_git_does_not_know_is_said(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("git") is None:
        pytest.skip("needs git")
    with (
        pytest.raises(Unknown, match=r"--against 'HEAD': .* is no git repository \(expected a clone"),
        committed("HEAD", tmp_path),
    ):
        pass
    run = [["init", "-q"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "one"]]
    for arguments in run:
        subprocess.run(["git", "-C", str(tmp_path), *arguments], check=True)
    message = r"--against '-nowhere': this repository has no such commit \(expected a hash"
    with pytest.raises(Unknown, match=message), committed("-nowhere", tmp_path):
        pass
    with committed("HEAD", tmp_path) as tree, pytest.raises(Incomparable, match="no src/numloom"):
        run_either(tree, FEW)
    assert main(["--only", "nothing"]) == 2
    assert "benchmarks.texts: 'nothing' is no family; these are" in capsys.readouterr().err


def test_the_command_compares_with_a_commit(capsys: pytest.CaptureFixture[str]) -> None:
    if shutil.which("git") is None or git(ROOT, "rev-parse", "--verify", "HEAD") is None:
        pytest.skip("needs a git clone")
    assert main(["--against", "HEAD", "--only", "generated"]) == 0
    assert "texts here and of HEAD" in capsys.readouterr().out
    assert main(["--against", "nowhere", "--only", "generated"]) == 2
    assert "--against 'nowhere': this repository has no such commit (expected" in capsys.readouterr().err


def test_the_command_prints_digests() -> None:
    command = [sys.executable, "-m", "benchmarks.texts", "--only", ",".join(FEW)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=100)
    assert done.returncode == 0 and "windows" in done.stdout and "digest" in done.stdout, done.stderr
