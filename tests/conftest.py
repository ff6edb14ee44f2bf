"""Options and profiles of the test-suite; read before numloom is imported."""

from __future__ import annotations

import gc
import os
import sys
import tempfile
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


def pytest_configure(config: pytest.Config) -> None:
    # Tests look at what lasts; what a first launch may take instead has tests of its own (device/test_cuda_compile.py).
    os.environ.setdefault("NUMLOOM_CUDA_COMPILE", "wait")
    # Nothing of ours, and none of these clients but those of everyday/, may bring arrays to the host by the way.
    os.environ.setdefault("NUMLOOM_HOST_COPY", "raise")
    # Before numloom is imported, so that what it chooses at import follows too.
    device = config.getoption("--device")
    if device == "reference":
        os.environ["NUMLOOM_DEVICE"] = "cpu"
        os.environ["NUMLOOM_EXECUTOR"] = "reference"
    elif device == "beside":
        os.environ["NUMLOOM_DEVICE"] = "cpu"
    elif device != "auto":
        os.environ["NUMLOOM_DEVICE"] = device
    os.environ["NUMLOOM_PLACEMENT"] = config.getoption("--placement")
    from numloom.device import registry

    if device == "beside":
        from apart import stand_in

        config.stash[STAND_IN] = stand_in()
        config.stash[STAND_IN].__enter__()

    if device == "cuda":
        missing = registry.missing("cuda")
        if missing is not None:
            raise pytest.UsageError(f"--device cuda: {missing}")
    if config.getoption("--nvrtc"):
        from nvrtc import SessionTexts

        # Workers share a folder, in which a name stands for a text that one of them has taken.
        given = getattr(config, "workerinput", {}).get("nvrtc_claims")
        claims = Path(given or config.stash.setdefault(CLAIMS, tempfile.TemporaryDirectory()).name)
        config.pluginmanager.register(SessionTexts(config.getoption("--nvrtc"), claims))


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


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    from numloom.device import registry

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
