"""How many cores this process may use: by affinity, and by the quotas of its control groups (containers)."""

from __future__ import annotations

import os
from collections.abc import Iterator

ROOT, OWN = "/sys/fs/cgroup", "/proc/self/cgroup"


def available(root: str = ROOT, own: str = OWN) -> int:
    """Cores that this process may use, one at least.

    Parameters
    ----------
    root : str
        Where control groups are mounted, of version 2 or 1.
    own : str
        The file that names the groups of this process.

    Notes
    -----
    A quota counts in all groups above, too. In a container the names may be those of the host, which are not there;
    then the files at the root are the container's.

    Examples
    --------
    >>> available() >= 1
    True
    """
    cores = float(len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1)
    for folder in _groups(root, own):
        cores = min(cores, _quota(folder))
    return max(1, round(cores))


def _groups(root: str, own: str) -> Iterator[str]:
    """The folders of the groups that may limit this process."""
    try:
        with open(own, encoding="utf-8") as file:
            lines = [line.rstrip("\n").split(":", 2) for line in file]
    except OSError:
        lines = []
    places = [(root, "/")]
    for _, controllers, path in (line for line in lines if len(line) == 3):
        if not controllers:
            places.append((root, path))
        elif "cpu" in controllers.split(","):
            places += [(os.path.join(root, name), path) for name in (controllers, "cpu", "cpu,cpuacct")]
    for mount, path in dict.fromkeys(places):
        names = [name for name in path.split("/") if name]
        for count in range(len(names), -1, -1):
            yield os.path.join(mount, *names[:count])


def _quota(folder: str) -> float:
    """The cores that a group allows; infinitely many where it says nothing."""
    try:
        words = _words(folder, "cpu.max")
        if not words:
            words = _words(folder, "cpu.cfs_quota_us") + _words(folder, "cpu.cfs_period_us")
        quota, period = (int(word) for word in words)
    except ValueError:  # No limit ("max"), or no such file.
        return float("inf")
    return quota / period if quota > 0 and period > 0 else float("inf")


def _words(folder: str, name: str) -> list[str]:
    try:
        with open(os.path.join(folder, name), encoding="ascii") as file:
            return file.read().split()
    except OSError:
        return []


__all__ = ["available"]
