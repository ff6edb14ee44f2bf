"""Meet kernel after kernel, and tell what the process has of the system: ``growing.py kernels|programs COUNT ROOM``.

Each line is a number of kernels or programs, then memory maps, kilobytes of memory, open files, threads (grown.py
judges them). With ``child`` for the kind a forked child meets so many, and then one of its parent's again.
"""

from __future__ import annotations

import os
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent.parent))

import numpy

import numloom as np

TOLD = 8
"""Lines."""
STEPS = ("x + y", "x * 3", "np.sqrt(x * x)", "x - y", "np.maximum(x, y)", "-x", "x * y", "abs(x)")


def kernel(number: int) -> bool:
    """Whether a kernel is right that has a number written into its text."""
    call = np.ElementwiseKernel("T x", "T y", f"y = x * {number} + 1", "grown")
    return bool(call(np.arange(5.0)).get().tolist() == [k * number + 1 for k in range(5)])


def program(number: int) -> bool:
    """Whether steps are right that are the digits of a number, over enough elements to have a plan."""
    values = {"x": numpy.linspace(1, 2, 5000), "y": numpy.linspace(2, 3, 5000)}
    found = []
    for library in (np, numpy):
        x, y = (library.asarray(values[name]) for name in "xy")
        rest = number + 8**4
        while rest:
            x = eval(STEPS[rest % 8], {"np": library, "x": x, "y": y})
            rest //= 8
        found.append(numpy.asarray(x))
    return bool((found[0] == found[1]).all())


def child(count: int) -> None:
    """Have a child forget kernels and meet its parent's again, and then the parent."""
    double = np.ElementwiseKernel("T x", "T y", "y = x * 2.625", "grown_before")
    x = np.arange(5.0)
    expected = double(x).get().tolist()

    def again() -> bool:
        return all([kernel(number) for number in range(count)]) and bool(double(x).get().tolist() == expected)

    forked = os.fork()
    if not forked:
        status = 1
        try:
            status = 0 if again() else 2
        finally:
            os._exit(status)
    assert os.waitpid(forked, 0)[1] == 0
    assert again()


def tell(number: int) -> None:
    """One line."""
    maps = Path("/proc/self/maps").read_text().count("\n")
    memory = int(Path("/proc/self/statm").read_text().split()[1]) * 4
    print(number, maps, memory, len(os.listdir("/proc/self/fd")), threading.active_count(), flush=True)


def main(kind: str, count: int, room: int) -> None:
    """Meet so many, where so many libraries are kept."""
    from levels import take_light
    from numloom.device.cpu import builder

    if "NUMLOOM_TEST_USUAL" not in os.environ:
        take_light()
    builder.KEPT = room  # type: ignore[misc]
    np.config.cpu_compile = "wait"
    np.config.unplanned = 0
    if kind == "child":
        return child(count)
    for number in range(1, count + 1):
        assert (kernel if kind == "kernels" else program)(number), f"{kind} {number}: wrong"
        if number % max(count // TOLD, 1) == 0:
            tell(number)
    return None


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
