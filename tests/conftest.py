"""Options and profiles of the test-suite; read before numloom is imported."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
import zlib
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

# For tests/nvrtc.py, which needs the package and is imported once the device is known.
sys.path.insert(0, str(Path(__file__).parent))

CLAIMS = pytest.StashKey[tempfile.TemporaryDirectory[str]]()
STAND_IN = pytest.StashKey[Any]()
SLOW_SECONDS = 300
DEVICES = ("auto", "cpu", "cuda", "beside", "reference")

settings.register_profile("default", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile(
    "ci", deadline=None, derandomize=True, print_blob=True, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("ci" if os.environ.get("CI") else "default")


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--device",
        choices=DEVICES,
        default=os.environ.get("NUMLOOM_TEST_DEVICE", "auto"),
        help="what runs the tests: cpu, cuda, beside (a stand-in for a GPU: tests/apart.py), reference (values one by "
        "one through NumPy), or auto",
    )
    parser.addoption(
        "--placement",
        choices=("auto", "device"),
        default="device",
        help="where small work runs beside a GPU; by default there, since kernels are what most tests are about",
    )
    parser.addoption(
        "--nvrtc",
        nargs="?",
        choices=("sample", "all"),
        const="sample",
        help="at the end compile a sample of the kernel texts that the tests made with NVRTC, or all of them",
    )
    parser.addoption(
        "--retry",
        action="store_true",
        help="run a test that fails once more, alone and in a fresh process (tests/unstable.py)",
    )
    parser.addoption(
        "--part",
        type=int,
        default=1,
        metavar="N",
        help="of each test function its first parameters and every Nth of the others, the same ones each time; 0: the "
        "first alone, and none of the tests marked slow",
    )
    parser.addoption(
        "--telling",
        action="store_true",
        help="leave out parameters of a test that reach what its others reach (tests/telling.py)",
    )
    parser.addoption(
        "--light",
        action="store_true",
        help="have the host's compiler optimize most kernels little, and a sample as users get them (tests/levels.py)",
    )
    parser.addoption(
        "--kept",
        action="store_true",
        help="take kernels' libraries that an earlier run had compiled from the user's cache folder (tests/kept.py)",
    )
    parser.addoption(
        "--budget",
        action="store_true",
        help="tell what each folder of tests took, and fail where that is beyond its budget (tests/budgets.py)",
    )
    parser.addoption(
        "--launching",
        action="store_true",
        help="leave out what the host does alone, whatever --device says: plans, texts, emulated kernels, pages",
    )
    parser.addoption(
        "--share",
        default="1/1",
        metavar="K/N",
        help="the Kth of N shares of the test functions, the same ones each time",
    )


def pytest_configure(config: pytest.Config) -> None:
    device = config.getoption("--device")
    settings = {
        # Tests look at what lasts; what a first launch takes instead has its own (device/test_cuda_compile.py).
        "cuda_compile": os.environ.get("NUMLOOM_CUDA_COMPILE", "wait"),
        # Nothing of ours, and none of these clients but those of everyday/, may bring arrays to the host by the way.
        "host_copy": os.environ.get("NUMLOOM_HOST_COPY", "raise"),
        "placement": config.getoption("--placement"),
        # Memory that nobody wrote is no zero, in which a test would see nothing.
        "poison": os.environ.get("NUMLOOM_POISON", "1"),
    }
    if device != "auto":
        settings["device"] = "cpu" if device in ("reference", "beside") else device
    if device == "reference":
        settings["executor"] = "reference"
    # For what numloom chooses at import, and for processes that tests start; and once more below, since a folder's own
    # conftest.py may have imported numloom before.
    os.environ.update({f"NUMLOOM_{name.upper()}": value for name, value in settings.items()})
    import numloom as nl

    for name, value in settings.items():
        if getattr(nl.config, name) != value:
            setattr(nl.config, name, value)
    from numloom.device import registry
    from numloom.engine import kept_plans, unplanned

    kept_plans.kept = False  # The planner is tested, whichever suite ran here before; that has its own tests.
    if unplanned._unplanned is not None:  # No test waits longer for a plan since it is a process's first one.
        unplanned._unplanned.set_worth(unplanned.WORTH, unplanned.PLANNING, 0)
    if device == "beside":
        from apart import stand_in

        config.stash[STAND_IN] = stand_in()
        config.stash[STAND_IN].__enter__()

    if device == "cuda":
        missing = registry.missing("cuda")
        if missing is not None:
            raise pytest.UsageError(f"--device cuda: {missing}")
    if config.getoption("--kept"):
        from kept import prune, take_kept

        take_kept()
        if not hasattr(config, "workerinput"):
            config.add_cleanup(prune)
    if config.getoption("--light"):
        from levels import take_light

        take_light()
    if config.getoption("--nvrtc"):
        from nvrtc import SessionTexts

        # Workers share a folder, in which a name stands for a text that one of them has taken.
        given = getattr(config, "workerinput", {}).get("nvrtc_claims")
        claims = Path(given or config.stash.setdefault(CLAIMS, tempfile.TemporaryDirectory()).name)
        config.pluginmanager.register(SessionTexts(config.getoption("--nvrtc"), claims))
    if config.getoption("--retry") and not hasattr(config, "workerinput"):
        from unstable import Retries

        config.pluginmanager.register(Retries(config))
    if config.getoption("--budget"):
        import budgets

        leads = not hasattr(config, "workerinput")
        if leads:
            config.pluginmanager.register(budgets.Budgets())
        if not leads or not config.getoption("numprocesses", None):
            config.pluginmanager.register(budgets.Measured())
    # Read by now, and meant for this session, not for those that tests start. (Workers read it after who starts them.)
    if hasattr(config, "workerinput") or not config.getoption("numprocesses", None):
        os.environ.pop("PYTEST_ADDOPTS", None)


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    if CLAIMS in node.config.stash:
        node.workerinput["nvrtc_claims"] = node.config.stash[CLAIMS].name


def pytest_sessionstart(session: pytest.Session) -> None:
    from numloom.testing import parity

    # What is remembered of a call must not show in the next one.
    parity.again = int(os.environ.get("NUMLOOM_TEST_AGAIN", "5"))


def pytest_report_header(config: pytest.Config) -> str:
    from numloom.device import registry

    name = config.getoption("--device")
    return f"numloom: --device {name}, arrays live on {registry.current().name}"


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    """Workers that are done take over tests of others, so that none sits on a queue of long ones at the end.

    Each begins with tests that stand together, which mostly share kernels.
    """
    if config.getoption("dist") != "load":
        return None
    from xdist.scheduler import WorkStealingScheduling

    return WorkStealingScheduling(config, log)


def _in_part(items: list[pytest.Item], every: int) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The first parameters of each test function and every so many of the others, and what is left out.

    Which ones follows from their names alone, so that a new parameter moves no other.
    """
    kept, left, seen = [], [], set()
    for item in items:
        function = item.nodeid.partition("[")[0]
        chosen = function not in seen or (every > 0 and zlib.crc32(item.nodeid.encode()) % every == 0)
        seen.add(function)
        (kept if chosen else left).append(item)
    return kept, left


HOST_ALONE = ("base", "emit", "graph", "plan", "testing")
"""Folders of tests that launch nothing, as do the files beside them."""


def _launches(item: pytest.Item) -> bool:
    """Whether a test does work on the device."""
    folder = item.path.parent.relative_to(Path(__file__).parent).parts
    return bool(folder) and folder[0] not in HOST_ALONE and "[emulated" not in item.nodeid


def _in_share(items: list[pytest.Item], share: str) -> tuple[list[pytest.Item], list[pytest.Item]]:
    """The tests of one share and the others; all parameters of a function are in one, since they share kernels."""
    number, count = map(int, share.split("/"))
    if not 1 <= number <= count:
        raise pytest.UsageError(f"--share {share}: expected K/N with K from 1 to N, as in 1/2")
    kept, left = [], []
    for item in items:
        function = item.nodeid.partition("[")[0]
        (kept if zlib.crc32(function.encode()) % count == number - 1 else left).append(item)
    return kept, left


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    from numloom.device import registry

    if config.getoption("--launching"):
        left = [item for item in items if not _launches(item)]
        items[:] = [item for item in items if _launches(item)]
        config.hook.pytest_deselected(items=left)
    if (share := config.getoption("--share")) != "1/1":
        items[:], left = _in_share(items, share)
        config.hook.pytest_deselected(items=left)
    if config.getoption("--telling"):
        import telling

        left_out = telling.read(telling.LEFT_OUT.read_text(encoding="utf-8"))
        left = [item for item in items if not telling.tells(item.nodeid, left_out)]
        items[:] = [item for item in items if telling.tells(item.nodeid, left_out)]
        config.hook.pytest_deselected(items=left)
    if (every := config.getoption("--part")) != 1:
        items[:], left = _in_part(items, every)
        config.hook.pytest_deselected(items=left)
    if every == 0:
        left = [item for item in items if item.get_closest_marker("slow")]
        items[:] = [item for item in items if not item.get_closest_marker("slow")]
        config.hook.pytest_deselected(items=left)
    for item in items:
        if item.get_closest_marker("slow"):
            item.add_marker(pytest.mark.timeout(SLOW_SECONDS))
    if registry.current().name == "cuda":
        return
    from compilers import WHY, found

    skips = {"cuda": pytest.mark.skip(reason="needs a GPU: run with --device cuda")}
    if found() is None:
        skips["compiler"] = pytest.mark.skip(reason=WHY)
    for item in items:
        for name, skip in skips.items():
            if item.get_closest_marker(name):
                item.add_marker(skip)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Kernels of tests with the mark are compiled as users get them, and tests about compiling see it happen."""
    if item.config.getoption("--light"):
        import levels

        levels.marked = item.get_closest_marker("optimized") is not None
    if item.config.getoption("--kept"):
        import kept

        kept.watched = item.path.relative_to(Path(__file__).parent).parts[0] in kept.WATCHED


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Any:
    """Nothing is looked through while tests are found, all of which stay: it would take a quarter of the time."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.enable()


def pytest_collection_finish(session: pytest.Session) -> None:
    """What stays until the end, tests foremost, is looked at by no collection: tests of leaks make hundreds of them."""
    gc.collect()
    gc.freeze()


@pytest.fixture(scope="session")
def device(pytestconfig: pytest.Config) -> str:
    """What the suite runs on: "cpu", "cuda" or "reference"."""
    from numloom.device import registry

    return "reference" if pytestconfig.getoption("--device") == "reference" else registry.current().name


@pytest.fixture
def on_the_device() -> Any:
    """Small work, too, runs on the device: for tests that run plans of their own there, or count what it does."""
    import numloom as nl

    with nl.config(placement="device"):
        yield


@pytest.fixture(autouse=True)
def _compile_for_nobody() -> Any:
    """What a test leaves to be compiled in the background is not: the next test would wait for it."""
    yield
    from numloom.device import registry

    cpu = registry._devices.get("cpu")
    if cpu is not None:
        cpu.builder.forget()


@pytest.fixture(autouse=True)
def _apart_no_longer() -> None:
    """While devices are apart nothing is learned of calls: no test begins so because of one before it."""
    from numloom.device import registry

    if registry.apart():
        gc.collect()
        registry.current()  # Which is none before somebody asks: then the only one would count as another.
        registry.count_devices()


@pytest.fixture
def no_spare_parts() -> Any:
    """Parts of the pool's blocks are taken that other tests hold: they are not given back before a block is whole."""
    import numloom as nl

    pool, taken = nl.get_default_memory_pool(), []
    pool.free_all_blocks()
    size = pool.free_bytes()
    while size >= 256:
        total, memory = pool.total_bytes(), nl.cuda.alloc(size)
        if pool.total_bytes() == total:
            taken.append(memory)
        else:
            size //= 2
        del memory
        pool.free_all_blocks()
        size = min(size, pool.free_bytes())
    yield
    taken.clear()
