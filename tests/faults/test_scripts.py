"""What routines of the GPU queue, as scripts and one by one: a launch or an allocation fails in the middle."""

from __future__ import annotations

import ctypes
import gc
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from injection import ERRORS, Faults, error_of

sys.path.insert(0, str(Path(__file__).parents[1] / "device"))

import cuda_emulation
from cuda_emulation import EmulatedDevice

from numloom.base.dtypes import F64
from numloom.device.cuda.routines import scattering
from numloom.device.cuda.routines.scripts import Launch, Remembered, Script
from numloom.device.interface import Strided
from numloom.device.memory import Pool

pytestmark = pytest.mark.skipif(Launch is None, reason="the core is not compiled")


class FailingDevice(EmulatedDevice):
    """Kernels on fibers of the host, whose launches and allocations fail."""

    def __init__(self, folder: Path, faults: Faults) -> None:
        super().__init__(folder)
        again = False

        def raw_allocate(nbytes: int) -> int:
            nonlocal again
            if again or faults.due("allocation"):
                again = not again and faults.how != "passing"
                return 0
            block = EmulatedDevice.allocate(self, nbytes)
            self._blocks[block.ptr] = block
            return int(block.ptr)

        def launch(config: Any, function: Any, parameters: Any, extra: Any) -> int:
            return 700 if faults.due("launch") else cuda_emulation.launch_ex(config, function, parameters, extra)

        def failed(kernel: Any, params: Any, geometry: Any, code: int) -> None:
            assert code == 700
            raise error_of("launch")

        self.pool = Pool("emulated", raw_allocate, lambda at, nbytes: self._blocks.pop(at), 0, 1)
        self.allocate = self.pool.allocate
        self.launch_ex = type(cuda_emulation.launch_ex)(launch)
        address = ctypes.cast(self.launch_ex, ctypes.c_void_p).value
        self.launch = Launch(address, 0, False, lambda kernel, shared: None, failed)


def on(device: Any, host: Any) -> Strided:
    """A dense host array on the device."""
    steps = tuple(stride // host.itemsize for stride in host.strides)
    return Strided(device.upload(host), 0, host.shape, steps, host.dtype)


def scattered(device: Any, routine: Any) -> None:
    """Numbers added at places."""
    rng = np.random.default_rng(5)
    target, at, value = rng.random(70), rng.integers(-70, 70, 200), rng.random(200)
    expected = target.copy()
    np.add.at(expected, at, value)
    given = on(device, target)
    options = {"axes": (0,), "position": 0, "op": "add", "loop": (F64, F64, F64), "location": 1}
    routine(device, given, on(device, value), on(device, at), **options)
    found = device.download(given.buffer, 0, target.nbytes).view("f8")
    np.testing.assert_allclose(found, expected, rtol=1e-12)


CASES: dict[str, tuple[Callable[[], Any], Callable[[Any, Any], None]]] = {
    "scatter": (lambda: Remembered(scattering.scatter, "location"), scattered),
    "scatter, written down never": (lambda: scattering.scatter, scattered),
}


@pytest.mark.parametrize("case", CASES)
def test_faults_in_routines(case: str, tmp_path_factory: Any) -> None:
    faults = Faults()
    folder = tmp_path_factory.getbasetemp() / "kernels-of-routines"  # Shared by the cases.
    folder.mkdir(exist_ok=True)
    device = FailingDevice(folder, faults)
    make, run = CASES[case]
    routine = make()
    for _ in range(4):
        run(device, routine)
    if type(routine) is Remembered:
        assert any(type(script) is Script for script in routine.known.entries.values())
    gc.collect()
    used = device.pool.used
    faults.arm()
    run(device, routine)
    kinds = faults.met
    assert {"allocation", "launch"} <= set(kinds)
    for at, kind in enumerate(kinds, 1):
        for how in ("once", "on", "passing"):
            faults.arm(at, how)
            if kind == "allocation" and how == "passing":
                run(device, routine)
            else:
                with pytest.raises(ERRORS[kind], match="on purpose" if kind == "launch" else "out of memory"):
                    run(device, routine)
            faults.disarm()
            gc.collect()
            assert device.pool.used == used
            run(device, routine)
            gc.collect()
            assert device.pool.used == used
