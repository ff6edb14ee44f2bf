"""A plugin of pytest: a hook hears of each allocation, and lets another thread run meanwhile."""

from __future__ import annotations

import time

from numloom.device import registry


def pytest_configure() -> None:
    registry.get("cpu").pool.watch(lambda *what: time.sleep(0))
