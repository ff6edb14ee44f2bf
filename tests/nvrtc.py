"""Compiling kernel texts with NVRTC, which needs no GPU: one text in a test, or all that a session of tests made.

With ``--nvrtc`` every text that the emitter makes while tests run is noted, and compiled for sm_90 when they are
done: ``--nvrtc=sample`` (what CI gives) compiles one in `EMITTED` of the texts of tests/emit and one in `SAMPLE` of
the others (which ones follows from the texts alone), about half a minute on two cores; ``--nvrtc=all`` compiles all,
about a quarter of an hour.
A text that does not compile fails the session. One in `FOLDED` of ours that are compiled is compiled to PTX for other
architectures, too, and fails the session if NVRTC has made negative zeros for some alone (tests/folded.py); so does
each text of ours that calls CUDA's minimum or maximum, whose zeros NVRTC folds otherwise. With pytest-xdist each text
is compiled by the first worker that has it.
"""

from __future__ import annotations

import os
import re
import time
from pathlib import Path
from typing import Any

import pytest

import numloom.emit.emit as emitter
from folded import ARCHITECTURES, calls, differences, ptx_of
from numloom.base.errors import CompileError, MissingDependencyError
from numloom.device.cuda.compile import HALVES, bindings, compile_text
from numloom.emit import user_loop, user_reduce

ARCHITECTURE = "sm_90"
SAMPLE_SECONDS = 30.0
"""How long a worker compiles a sample; what is left then is counted."""
SAMPLE = 24
EMITTED = 3
"""What tests of texts make is sampled more densely."""
FOLDED = 8
"""One in so many of our texts is compiled for other architectures, which takes as long as two or three texts."""
FOLDED_AS = "compute_90"
"""Whose PTX is also that of `ARCHITECTURE`."""
USERS = "namespace nl_user"
"""What texts have that hold functions of a user's, whose bits are the user's."""


def need_nvrtc() -> None:
    """Skip the test where NVRTC is not installed."""
    try:
        bindings()
    except MissingDependencyError as error:
        pytest.skip(str(error))


known: dict[str, bytes] = {}
"""Machine code for `ARCHITECTURE` of texts that tests of this process have had compiled."""


def compile_for_gpu(text: str, architecture: str = ARCHITECTURE) -> bytes:
    """Machine code of a text, compiled as the CUDA backend does it; its log is the failure."""
    need_nvrtc()
    if architecture != ARCHITECTURE:
        return checked(text, architecture)[0]
    if text not in known:
        known[text] = checked(text, architecture)[0]
    return known[text]


def compile_for_ptx(text: str, architecture: str = ARCHITECTURE) -> str:
    """The PTX of a text."""
    need_nvrtc()
    return compile_text(text, architecture)[1]


def checked(text: str, architecture: str, own: bool = True) -> tuple[bytes, str]:
    """Machine code and PTX of a text, which holds nothing that is known to be assembled wrongly.

    Texts that are not our `own` may compare short numbers as they like: the backend compiles them otherwise.
    """
    cubin, ptx = compile_text(text, architecture)
    if found := miscompiled(ptx, own):
        raise CompileError("NVRTC", text, f"PTX assemblers miscompile: {found}")
    return cubin, ptx


def number_of(entry: str) -> int:
    """The number in a text's name, which follows from the text."""
    return int(entry.rpartition("_")[2], 16)


def folded_otherwise(text: str, ptx: str = "") -> list[str]:
    """What NVRTC has folded otherwise for one of `ARCHITECTURES` than for another, a line each; `ptx` is sm_90's."""
    able = ARCHITECTURES[1:] if "__cluster_dims__" in text else ARCHITECTURES  # the first one has no clusters
    return differences({each: ptx if ptx and each == FOLDED_AS else ptx_of(text, each) for each in able})


def miscompiled(ptx: str, own: bool = False) -> str:
    """The PTX of `emit.block.Block.narrow`: the low half of one of two 64-bit values chosen by their low halves.

    Of texts of our `own`, also short numbers that are compared in a way that assemblers get wrong.
    """
    for function in re.split(r"\.(?:func|entry) ", ptx):  # each has registers of its own
        choices = {m[1]: m for m in re.finditer(r"selp\.b64 \s*(%rd\d+), (%rd\d+), (%rd\d+), (%p\d+);", function)}
        for low in re.finditer(r"cvt\.u32\.u64 \s*%r\d+, (%rd\d+);", function):
            choice = choices.get(low[1])
            if choice and re.search(rf"setp\.(lt|le|gt|ge)\.[su]32 \s*{choice[4]},", function):
                return f"{choice[0]} {low[0]}"
    return halves[0] if own and (halves := HALVES.search(ptx)) else ""


class SessionTexts:
    """A plugin that notes the emitter's texts and compiles them when the session ends."""

    def __init__(self, how: str, claims: Path) -> None:
        try:
            bindings()
        except MissingDependencyError as error:
            raise pytest.UsageError(f"--nvrtc: {error}") from error
        self.everything = how == "all"
        self.claims = claims
        self.texts: dict[str, tuple[str, str]] = {}
        self.users: set[str] = set()
        self.made = self.compiled = self.compared = self.left = 0
        self.seconds = 0.0
        self.failures: list[str] = []
        source = emitter.KernelSource

        def noted(text: str, entry: str, *rest: Any) -> Any:
            test = os.environ.get("PYTEST_CURRENT_TEST", "collection")
            if entry not in self.texts or (test.startswith("tests/emit/") and not self.chosen(entry)):
                self.texts[entry] = text, test
            return source(text, entry, *rest)

        emitter.KernelSource = noted  # type: ignore[misc, assignment]
        kernel = user_loop.UserKernel

        def noted_user(user: Any, text: str, entry: str) -> Any:
            if not entry.startswith("misspelt"):  # which tests call what no compiler takes
                self.users.add(entry)
                self.texts.setdefault(entry, (text, os.environ.get("PYTEST_CURRENT_TEST", "collection")))
            return kernel(user, text, entry)

        user_loop.UserKernel = user_reduce.UserKernel = noted_user  # type: ignore[misc, assignment]

    def chosen(self, entry: str) -> bool:
        """Whether a text is compiled."""
        made_by = self.texts[entry][1]
        return self.everything or number_of(entry) % (EMITTED if made_by.startswith("tests/emit/") else SAMPLE) == 0

    def claim(self, name: str) -> bool:
        """Whether no other worker has taken this name."""
        try:
            (self.claims / name).touch(exist_ok=False)
        except FileExistsError:
            return False
        return True

    def compile(self) -> None:
        """Compile what is chosen and no other worker has compiled."""
        begin = time.monotonic()
        for entry, (text, test) in sorted(self.texts.items()):
            self.made += self.claim(f"{entry}.made")
            if self.chosen(entry) and self.claim(entry):
                if not self.everything and time.monotonic() - begin > SAMPLE_SECONDS:
                    self.left += 1
                    continue
                try:
                    self.check(entry, text)
                except CompileError as error:
                    self.failures.append(f"{entry}, made by {test}:\n{error}")
        self.seconds = max(self.seconds, time.monotonic() - begin)  # Workers may have told of theirs before.

    def check(self, entry: str, text: str) -> None:
        """Compile a text; one in `FOLDED` of ours for other architectures, too."""
        self.compiled += 1
        own = entry not in self.users and USERS not in text
        ptx = "" if text in known else checked(text, ARCHITECTURE, own)[1]
        if not own:
            return
        if found := calls(text):
            raise CompileError("NVRTC", text, f"CUDA's minimum or maximum, which may give either zero: {found}")
        if number_of(entry) // SAMPLE % FOLDED == 0:
            self.compared += 1
            if found := folded_otherwise(text, ptx):
                raise CompileError("NVRTC", text, "zeros that not all architectures have:\n" + "\n".join(found))

    @pytest.hookimpl(tryfirst=True)
    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        self.compile()
        if hasattr(session.config, "workeroutput"):
            session.config.workeroutput["nvrtc"] = (
                self.made, self.compiled, self.compared, self.left, self.seconds, self.failures
            )  # fmt: skip
        elif self.failures and session.exitstatus in (pytest.ExitCode.OK, pytest.ExitCode.NO_TESTS_COLLECTED):
            session.exitstatus = pytest.ExitCode.TESTS_FAILED

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: Any) -> None:
        told = getattr(node, "workeroutput", {}).get("nvrtc", (0, 0, 0, 0, 0.0, []))
        made, compiled, compared, left, seconds, failures = told
        self.made += made
        self.compiled += compiled
        self.compared += compared
        self.left += left
        self.seconds = max(self.seconds, seconds)
        self.failures += failures

    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        for failure in self.failures:
            terminalreporter.section("a kernel text does not compile for the GPU as it should", red=True)
            terminalreporter.write_line(failure)
        terminalreporter.write_line(
            f"nvrtc: {self.made} texts made, {self.compiled} compiled for {ARCHITECTURE}, {self.compared} of them for "
            f"{len(ARCHITECTURES) - 1} others, in {self.seconds:.0f} s, "
            f"{len(self.failures)} failed" + (f", {self.left} left out for want of time" if self.left else ""),
            red=bool(self.failures),
        )
