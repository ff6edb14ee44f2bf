"""From kernel text to a function's address: memory, then the disk cache, then the compiler.

Kernels that need not be there at once are compiled by one background thread, several in one run of
the compiler, which takes little more than half the time.
"""

from __future__ import annotations

import atexit
import ctypes
import errno
import threading
import warnings
import weakref
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

from numloom.base import later
from numloom.base.config import config
from numloom.base.errors import CompileError, DeviceError, MissingDependencyError, untraced
from numloom.base.forking import BUILDING, anew, held
from numloom.base.lasting import Lasting, WeakValues
from numloom.base.progress import COMPILING, Line, look
from numloom.base.threads import begin
from numloom.device.cache import DiskCache, key_of, shared, text_of
from numloom.device.cpu.compiler import MEND, Compiler, find, require
from numloom.device.cpu.libraries import address_of, load
from numloom.device.cpu.process import end

if TYPE_CHECKING:
    from numloom.device.cpu.faults import Faults

_FAULTS, _RUNTIME = "numloom.device.cpu.faults", "numloom.device.cpu.simt.build"
"""What users' loops need."""
MARK = "nl_guard.run("
"""In the texts of users' loops."""
BATCH = 8
KEPT = 1024
"""Kernels that stay loaded though nobody has them."""
REFERENCE = b"in "


class CpuKernel:
    """A kernel of the host.

    Attributes
    ----------
    ready : bool
        Whether `address` is there.
    address, finish_address : int
        Of ``entry`` and ``entry_finish`` (0 where there is none).
    library : ctypes.CDLL or None
        What they are in, which is closed some time after its last kernel is gone.
    error : Exception or None
        Why it is not ready.
    """

    __slots__ = ("__weakref__", "address", "entry", "error", "finish_address", "library", "queued", "ready", "text")

    def __init__(self, text: str, entry: str) -> None:
        self.text = text
        self.entry = entry
        self.ready = False
        self.queued = False
        self.address = 0
        self.finish_address = 0
        self.library: ctypes.CDLL | None = None
        self.error: Exception | None = None

    @property
    def refused(self) -> bool:
        """Whether it will never be ready; what the system did not let us do now is tried again."""
        return isinstance(self.error, CompileError)

    def bind(self, library: ctypes.CDLL, compiler: Compiler) -> None:
        """Take the addresses from a library that has the entry."""
        if self.entry:
            self.address = address_of(library, self.entry)
            self.finish_address = address_of(library, self.entry + "_finish")
            if not self.address:
                raise CompileError(compiler.name, self.text, f"the text defines no extern C function {self.entry!r}")
        self.library = library
        self.ready = True

    def __repr__(self) -> str:
        state = "ready" if self.ready else "failed" if self.error else "not compiled yet"
        return f"<CpuKernel {self.entry}: {state}>"


class Builder:
    """Kernels by text.

    Parameters
    ----------
    cache : DiskCache, optional
        By default the one that the settings name.

    Attributes
    ----------
    compiles : int
        Runs of the compiler so far.
    error_address : int
        Of the device's error word.
    """

    def __init__(self, cache: DiskCache | None = None) -> None:
        self.compiles = 0
        self._given_cache = cache
        # Those that are compiled or refused are kept; others live as long as somebody waits for them.
        self._kernels: Lasting[tuple[str, str], CpuKernel] = Lasting(KEPT)
        self._staying: set[CpuKernel] = set()  # of many functions, whose addresses are asked for by name
        # By key in the disk cache; each is held by its kernels.
        self._libraries: WeakValues[str, ctypes.CDLL] = WeakValues()
        self._compiler: Compiler | None = None
        self._searched = False
        self._stopping = False
        self.error_address = 0
        self._faults: Faults | None = None
        self._restart()
        _builders.add(self)
        anew(self._restart)

    def _restart(self) -> None:
        """Locks and thread as new, as a child process has none of its parent's; what was waiting waits again."""
        self._changed: threading.Condition = held(threading.Condition(), BUILDING)
        self._thread: threading.Thread | None = None
        self._waiting = [kernel for kernel in self._kernels.values() if kernel.queued]
        if self._compiler is not None:
            self._compiler.let_go()

    # ------------------------------------------------------------ the compiler

    @property
    def cache(self) -> DiskCache:
        """The disk cache in use."""
        return self._given_cache or shared()

    @property
    def compiler(self) -> Compiler | None:
        """The compiler, looked for once; None where there is none."""
        if not self._searched:
            self._compiler = find(self.cache.remembered)
            self._searched = True
        return self._compiler

    def _known_compiler(self) -> Compiler | None:
        """The compiler if it is known without running it."""
        if not self._searched:
            try:
                self._compiler = find(self._recall)
            except LookupError:
                return None
            self._searched = True
        return self._compiler

    def _recall(self, key: str, make: Callable[[], str], sound: Callable[[str], bool]) -> str:
        payload = self.cache.get(key, "text")
        text = None if payload is None else text_of(payload)
        if text is None or not sound(text):
            raise LookupError
        return text

    # ------------------------------------------------------------ kernels

    def kernel(self, text: str, entry: str, *, wait: bool) -> CpuKernel:
        """The kernel of this text; `entry` is its function, ``""`` for a library of many.

        With ``wait=False`` it may not be `ready` yet, or ever, where there is no compiler.

        Raises
        ------
        CompileError
            With ``wait=True``, if the compiler refuses the text.
        DeviceError
            With ``wait=True``, if the system does not let it be compiled and loaded now (no room on a disk, say).
        MissingDependencyError
            With ``wait=True``, if there is no compiler or the settings forbid compiling.
        """
        kernel = self._kernels.get((text, entry))
        if kernel is not None and (kernel.ready or (kernel.queued and not wait and self._thread is not None)):
            return kernel
        if kernel is None:
            made = CpuKernel(text, entry)
            kernel = self._kernels.setdefault((text, entry), made)
        mode = config.cpu_compile
        if wait:
            if mode == "never":
                raise MissingDependencyError(
                    "compiling for the CPU is switched off", "set config.cpu_compile to 'background' or 'wait'"
                )
            self._build_now(kernel)
            if kernel.error is not None:
                raise untraced(kernel.error)
        elif not kernel.refused and mode != "never":
            if mode == "wait":
                if self.compiler is not None:
                    self._build_now(kernel)
            else:
                self._build_later(kernel)
        return kernel

    def _build_now(self, kernel: CpuKernel) -> None:
        with self._changed:
            if kernel in self._waiting:
                self._waiting.remove(kernel)
                kernel.queued = False
            if kernel.queued:
                with Line(COMPILING, gather=True):
                    while kernel.queued:  # being compiled by the thread
                        self._changed.wait(0.05)
                        look()
            if kernel.ready or kernel.refused:
                return
        with Line(COMPILING, gather=True):
            require(self.compiler)
            self._build([kernel])

    def _build_later(self, kernel: CpuKernel) -> None:
        compiler = self._known_compiler()
        if compiler is None and self._searched:
            return
        if compiler is not None and not kernel.queued and self._from_disk(kernel, compiler):
            return
        with self._changed:
            if not kernel.queued:
                kernel.queued = True
                self._waiting.append(kernel)
            if self._thread is None:
                thread = threading.Thread(target=self._work, name="numloom-compile", daemon=True)
                try:
                    begin(thread)
                except RuntimeError:  # The system lets us have no thread now.
                    self._waiting.remove(kernel)
                    kernel.queued = False
                    return
                self._thread = thread
            self._changed.notify_all()

    def drain(self, timeout: float | None = None) -> bool:
        """Wait until nothing is queued; False if that takes longer than `timeout` seconds."""
        with self._changed:
            return self._changed.wait_for(lambda: not any(kernel.queued for kernel in self._kernels.values()), timeout)

    def queued(self) -> list[CpuKernel]:
        """What waits to be compiled, or is being compiled."""
        with self._changed:
            return [kernel for kernel in self._kernels.values() if kernel.queued and not kernel.ready]

    def forget(self) -> None:
        """Drop what is queued and not begun; who asks for one of these kernels again queues it again."""
        with self._changed:
            for kernel in self._waiting:
                kernel.queued = False
            self._waiting.clear()
            self._changed.notify_all()

    # ------------------------------------------------------------ building

    def _work(self) -> None:
        """The background thread."""
        while not self._stopping:
            with self._changed:
                while not self._waiting:
                    self._changed.wait()
                    if self._stopping:
                        return
                batch = _batch(self._waiting)
                self._waiting = [kernel for kernel in self._waiting if kernel not in batch]
            try:
                if self.compiler is not None:
                    self._build(batch)
            except Exception as error:  # a full disk, say: whoever waits must not wait for ever
                for kernel in batch:
                    kernel.error = None if kernel.ready else untraced(error)
            with self._changed:
                for kernel in batch:
                    kernel.queued = False
                self._changed.notify_all()
            for kernel in batch:
                if kernel.error is not None and not self._stopping:
                    warnings.warn(f"slower loops do the work of a kernel: {kernel.error}", RuntimeWarning, stacklevel=1)

    def _build(self, kernels: list[CpuKernel]) -> None:
        """Make kernels ready, or note why not."""
        compiler = require(self.compiler)
        for kernel in kernels:
            kernel.error = None
        kernels = [kernel for kernel in kernels if not self._from_disk(kernel, compiler)]
        if not kernels:
            return
        texts = [kernel.text for kernel in kernels]
        key = key_of("\0".join(texts), compiler.identity)
        try:
            self.compiles += 1
            content = compiler.compile(*texts)
            library = self._load(key, content, kernels[0])
            for kernel in kernels:
                self._bind(kernel, library, compiler)
        except (CompileError, OSError) as error:
            if self._stopping:
                return
            if len(kernels) == 1:
                kernels[0].error = trouble(error) if isinstance(error, OSError) else untraced(error)
                if kernels[0].refused:
                    self._keep(kernels[0])
            else:  # find out which it is
                for kernel in kernels:
                    if not kernel.ready:
                        self._build([kernel])
            return
        cache, origin = self.cache, compiler.identity
        cache.put(key, content, origin)
        if len(kernels) > 1:
            for kernel in kernels:
                cache.put(key_of(kernel.text, origin), REFERENCE + key.encode(), origin)

    def _load(self, key: str, content: bytes, kernel: CpuKernel) -> ctypes.CDLL:
        """Load a library; it stays if its kernel does."""
        library = self._libraries[key] = load(content, stays=not kernel.entry)
        return library

    def _bind(self, kernel: CpuKernel, library: ctypes.CDLL, compiler: Compiler) -> None:
        """Give a kernel its addresses; the loops of users' texts are guarded."""
        if MARK in kernel.text:
            self.faults.arm(library)
        with self._changed:
            if not kernel.ready:  # Another thread may have been sooner: launches are bound to its library, then.
                kernel.bind(library, compiler)
        self._keep(kernel)

    def _keep(self, kernel: CpuKernel) -> None:
        self._kernels.keep((kernel.text, kernel.entry), kernel)
        if not kernel.entry:
            self._staying.add(kernel)

    def crowded(self) -> bool:
        """Whether so many kernels are loaded that plans had better be forgotten, which have some."""
        return self._kernels.crowded()

    @property
    def faults(self) -> Faults:
        """What catches faults of users' loops, compiled at the first use."""
        if self._faults is None:
            library = self.kernel(later.load(_RUNTIME).runtime_text(), "", wait=True).library
            assert library is not None
            self._faults = later.load(_FAULTS).Faults(library, self.error_address)
        return self._faults

    def fault(self) -> DeviceError:
        """The first fault in a user's loop since the last look, as an error."""
        guarded = [kernel for kernel in self._kernels.values() if kernel.ready and MARK in kernel.text]
        return self.faults.taken(guarded, require(self.compiler))

    def _from_disk(self, kernel: CpuKernel, compiler: Compiler) -> bool:
        """Make a kernel ready from the disk cache, if it is there."""
        cache, origin = self.cache, compiler.identity
        key = key_of(kernel.text, origin)
        content = cache.get(key, origin)
        if content is not None and content.startswith(REFERENCE):
            key = content[len(REFERENCE) :].decode(errors="replace")
            library = self._libraries.get(key)
            content = b"" if library is not None else cache.get(key, origin)
        else:
            library = self._libraries.get(key)
        if content is None:
            return False
        try:
            if library is None:
                library = self._load(key, content, kernel)
            self._bind(kernel, library, compiler)
        except (OSError, CompileError):
            return False
        return True

    def stop(self) -> None:
        """End the thread and the compiler that it runs."""
        self._stopping = True
        if self._compiler is not None:
            self._compiler.stop()
        with self._changed:
            self._changed.notify_all()
        if self._thread is not None:
            self._thread.join(2.0)


class _ShortOfMemoryError(DeviceError, MemoryError):
    """A kernel that cannot be compiled or loaded now, since memory is short."""


def trouble(error: OSError) -> DeviceError:
    """What is raised where the system did not let a kernel be compiled or loaded."""
    short = error.errno == errno.ENOMEM or later.is_short_of_memory(str(error))  # The loader gives no number.
    raised = (_ShortOfMemoryError if short else DeviceError)(
        f"a kernel could not be compiled or loaded: {error}: {MEND}; its next use tries again"
    )
    raised.__cause__ = untraced(error)
    return raised


def _batch(waiting: list[CpuKernel]) -> list[CpuKernel]:
    """The next kernels to compile together: entries must differ, libraries go alone."""
    if not waiting[0].entry:
        return waiting[:1]
    batch: dict[str, CpuKernel] = {}
    for kernel in waiting:
        if kernel.entry:
            batch.setdefault(kernel.entry, kernel)
    return list(batch.values())[:BATCH]


_builders: weakref.WeakSet[Any] = weakref.WeakSet()


def unfinished() -> list[tuple[str, str]]:
    """Texts and entries of the kernels that are queued and not compiled yet, of all builders."""
    found = [kernel for builder in list(_builders) for kernel in builder.queued()]
    return list(dict.fromkeys((kernel.text, kernel.entry) for kernel in found))


def _at_exit() -> None:
    end()
    for builder in list(_builders):
        builder.stop()


atexit.register(_at_exit)
