"""Cores by affinity and by the quotas of control groups, of both versions."""

from __future__ import annotations

import os

import pytest

from numloom.device.cpu import cores


@pytest.fixture
def groups(tmp_path, monkeypatch):
    """A tree of groups from a dict of files; what `available` says of it, with 16 cores by affinity."""
    monkeypatch.setattr(os, "sched_getaffinity", lambda process: set(range(16)), raising=False)

    def found(own: str, files: dict[str, str]) -> int:
        for name, text in files.items():
            path = tmp_path / "cgroup" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        (tmp_path / "own").write_text(own)
        return cores.available(str(tmp_path / "cgroup"), str(tmp_path / "own"))

    return found


def test_without_groups_affinity_counts(tmp_path, monkeypatch, groups):
    assert groups("0::/\n", {}) == 16
    assert cores.available(str(tmp_path / "none"), str(tmp_path / "nothing")) == 16


@pytest.mark.parametrize(
    "own, files, expected",
    [
        ("0::/\n", {"cpu.max": "400000 100000\n"}, 4),
        ("0::/\n", {"cpu.max": "max 100000\n"}, 16),
        ("0::/\n", {"cpu.max": "20000 100000\n"}, 1),
        ("0::/\n", {"cpu.max": "9900000 100000\n"}, 16),
        ("0::/a/b\n", {"cpu.max": "max 100000\n", "a/cpu.max": "300000 100000\n", "a/b/cpu.max": "max 100000\n"}, 3),
        ("0::/of/the/host\n", {"cpu.max": "250000 50000\n"}, 5),
        ("0::/a\n", {"a/cpu.max": "150000 100000\n"}, 2),
        ("4:cpu,cpuacct:/a\n", {"cpu,cpuacct/a/cpu.cfs_quota_us": "600000\n",
                                "cpu,cpuacct/a/cpu.cfs_period_us": "100000\n"}, 6),
        ("1:cpu:/host/name\n", {"cpu/cpu.cfs_quota_us": "700000\n", "cpu/cpu.cfs_period_us": "100000\n"}, 7),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": "-1\n", "cpu/cpu.cfs_period_us": "100000\n"}, 16),
        ("3:cpuset:/\nnonsense\n", {"cpuset/cpu.max": "100000 100000\n"}, 16),
    ],
)  # fmt: skip
def test_the_least_quota_of_all_groups_counts(groups, own, files, expected):
    assert groups(own, files) == expected
