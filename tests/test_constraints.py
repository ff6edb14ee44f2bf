"""The versions that CI installs: one of each package that it asks for, which pyproject.toml allows."""

from __future__ import annotations

import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parent.parent
LOCKED = ROOT / ".ci" / "constraints.txt"
pytestmark = pytest.mark.skipif(not LOCKED.exists(), reason="not in the source tree")


def name_of(requirement: Requirement) -> str:
    return requirement.name.lower().replace("_", "-")


def test_what_ci_asks_for_has_one_version_that_is_allowed() -> None:
    lines = [line for line in LOCKED.read_text(encoding="utf-8").splitlines() if not line.startswith("#")]
    locked = [Requirement(line) for line in lines]
    versions = {name_of(each): next(iter(each.specifier)) for each in locked}
    assert len(versions) == len(locked) and list(versions) == sorted(versions)
    assert all(version.operator == "==" for version in versions.values())
    assert all(str(each.marker) == 'python_version == "3.11"' for each in locked)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    extras = project["project"]["optional-dependencies"]
    asked = [
        *project["project"]["dependencies"],
        *project["build-system"]["requires"],
        *extras["test"],
        *extras["demo"],
    ]
    for text in [*asked, "mypy==2.4.*", "ruff==0.17.*"]:
        wanted = Requirement(text)
        assert wanted.specifier.contains(versions[name_of(wanted)].version), text
