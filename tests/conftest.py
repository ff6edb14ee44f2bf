"""Options and profiles of the test-suite; read before numloom is imported."""

from __future__ import annotations

import os

import pytest
from hypothesis import HealthCheck, settings

DEVICES = ("auto", "cpu", "cuda", "reference")

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
        help="what runs the tests: cpu, cuda, reference (values one by one through NumPy), or auto",
    )


def pytest_configure(config: pytest.Config) -> None:
    # Before numloom is imported, so that what it chooses at import follows too.
    device = config.getoption("--device")
    if device == "reference":
        os.environ["NUMLOOM_DEVICE"] = "cpu"
        os.environ["NUMLOOM_EXECUTOR"] = "reference"
    elif device != "auto":
        os.environ["NUMLOOM_DEVICE"] = device
    from numloom.device import registry

    if device == "cuda":
        missing = registry.missing("cuda")
        if missing is not None:
            raise pytest.UsageError(f"--device cuda: {missing}")


def pytest_report_header(config: pytest.Config) -> str:
    from numloom.device import registry

    name = config.getoption("--device")
    return f"numloom: --device {name}, arrays live on {registry.current().name}"


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    from numloom.device import registry

    if registry.current().name != "cuda":
        skip = pytest.mark.skip(reason="needs a GPU: run with --device cuda")
        for item in items:
            if item.get_closest_marker("cuda"):
                item.add_marker(skip)


@pytest.fixture(scope="session")
def device(pytestconfig: pytest.Config) -> str:
    """What the suite runs on: "cpu", "cuda" or "reference"."""
    from numloom.device import registry

    return "reference" if pytestconfig.getoption("--device") == "reference" else registry.current().name
