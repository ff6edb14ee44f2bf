"""A user's CUDA sources to a shared object of the host: preprocessed, searched for kernels, compiled, linked."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from hashlib import sha256
from pathlib import Path

from numloom.base.errors import CompileError
from numloom.device import temporary
from numloom.device.cache import DiskCache, key_of
from numloom.device.cpu.compiler import Compiler, accepted
from numloom.device.cpu.simt.declared import kernels, regions, renamed
from numloom.device.cpu.simt.elf import TLS, ElfFile, is_whole
from numloom.device.headers import Headers, scan

FOLDER = str(Path(__file__).parent)
INCLUDE = os.path.join(FOLDER, "include")
NAMES = "name expression "

# The host's kernels do without these; a user's source may need them (or has no need of them).
_NOT_FOR_USERS = {
    "-nostdlib", "-shared", "-fopenmp-simd", "-std=c++17", "-O3", "-fno-stack-protector",
    "-fno-asynchronous-unwind-tables",
}  # fmt: skip
# Left out where the compiler refuses them: no variable of a template is shared between modules, no function asks at
# each access whether a shared array must be initialised, and a frame of any size meets the guard page.
_WANTED = ("-fno-gnu-unique", "-fno-extern-tls-init", "-fstack-clash-protection")
_PROBE = 'extern "C" int numloom_probe() { return 1; }\n'
_LINE_TABLE = ("-g1", "-gdwarf-4")
# Fortified copies are inline functions of a header: a mistake would be told of its line.
_WATCHED = ("-O1", "-U_FORTIFY_SOURCE", "-fsanitize=thread", "-DNUMLOOM_CHECK")
_LINK = ("-Wl,-Bsymbolic", "-Wl,--no-undefined", "-lm")
_WRAPPED = ("malloc", "free", "memcpy", "memmove", "memset")
_STANDARDS = ("c++03", "c++11", "c++14")  # the headers need 17, of which those are parts
_FOR_HEADERS = re.compile(r"-[DU](?:_|NDEBUG\b)")
"""Macros that headers ask for, and that are defined before all of them."""
_ASKING = {"assert.h", "cassert"}
"""Headers that mean something else each time, by what is defined then."""
_COMPLAINT = re.compile(r"^([^\n:]+):(\d+)(?::\d+)?:\s*(?:fatal )?error:", re.MULTILINE)
_GPU_ONLY = (
    ("<<<", "kernels that launch kernels (<<<...>>>) run on a GPU only: launch from Python instead"),
    ("wmma", "tensor core operations (nvcuda::wmma) run on a GPU only"),
    ("texture<", "texture references run on a GPU only (and on old CUDA): pass an array"),
)


@dataclass(frozen=True)
class Request:
    """What is to be compiled.

    Attributes
    ----------
    sources : mapping of str to str
        Text by file name.
    options : tuple of str
        ``-D``, ``-U``, ``-I`` and ``-std``; others are for GPUs.
    names : tuple of str
        Name expressions.
    check : bool
        Whether memory accesses are watched.
    """

    sources: Mapping[str, str]
    options: tuple[str, ...]
    names: tuple[str, ...]
    check: bool


@cache
def _own_text() -> str:
    """Digest of everything of ours that goes into a module."""
    digest = sha256()
    for path in sorted(Path(FOLDER).rglob("*")):
        if path.is_file() and "__pycache__" not in path.parts:
            digest.update(path.relative_to(FOLDER).as_posix().encode() + b"\0" + path.read_bytes())
    return digest.hexdigest()


@cache
def runtime_text() -> str:
    """The runtime as one text, for the builder of kernels."""
    text = Path(FOLDER, "runtime.hpp").read_text(encoding="utf-8")
    for part in (
        f"{INCLUDE}/numloom_abi.hpp",
        f"{FOLDER}/switching.hpp",
        f"{FOLDER}/checks.hpp",
        f"{FOLDER}/guard.hpp",
    ):
        inner = Path(part).read_text(encoding="utf-8").replace("#pragma once\n", "")
        text = text.replace(f'#include "{os.path.basename(part)}"\n', inner)
    return text


def headers_of(request: Request) -> Headers:
    """The user's own headers."""
    return scan(request.sources, [option[2:] for option in request.options if option.startswith("-I")])


def build(request: Request, headers: Headers, compiler: Compiler, cache: DiskCache) -> bytes:
    """The shared object, from the disk cache or made now.

    Raises
    ------
    CompileError
        If the compiler refuses a source; it shows the user's own line.
    """
    parts = [list(request.sources.items()), request.options, request.names, request.check, headers.files]
    origin = f"cuda on {compiler.identity} {_own_text()}"
    key = key_of(json.dumps(parts), origin)
    content = cache.get(key, origin) if headers.whole else None
    if content is None or not is_whole(content):
        content = _build(request, compiler, cache)
        if headers.whole:
            cache.put(key, content, origin)
    return content


def _build(request: Request, compiler: Compiler, cache: DiskCache) -> bytes:
    with temporary.folder() as folder:
        return _Builder(request, compiler, cache, folder).shared_object()


class _Builder:
    """One run through compiler and linker, in a folder of its own."""

    def __init__(self, request: Request, compiler: Compiler, cache: DiskCache, folder: str) -> None:
        self.request = request
        self.compiler = compiler
        self.folder = folder
        command = compiler.command
        if "ziglang" in command:
            command = (*command[: command.index("ziglang")], "ziglang", "c++")
        self.command = command
        flags = [flag for flag in compiler.flags if flag not in _NOT_FOR_USERS]
        flags += cache.remembered(
            key_of("\0".join(_WANTED), compiler.identity), lambda: " ".join(accepted(compiler, _WANTED, _PROBE))
        ).split()
        self.flags = [*flags, *_LINE_TABLE, *(_WATCHED if request.check else ("-O3",))]
        standard = [option for option in request.options if option.startswith("-std=")][-1:] or ["-std=c++17"]
        if standard[0].removeprefix("-std=") in _STANDARDS:
            standard = ["-std=c++17"]
        self.standard = standard[0].replace("=c++", "=gnu++")
        early = [option for option in request.options if option.startswith("-I") or _FOR_HEADERS.match(option)]
        # Some compilers define NDEBUG by themselves when they optimize.
        self.search = ["-UNDEBUG", f"-I{INCLUDE}", *early]
        self.before = _before(request)

    def shared_object(self) -> bytes:
        shares = _shares(self.request.sources, self.request.names)
        objects = []
        for number, (name, text) in enumerate(self.request.sources.items()):
            objects.append(self._compile(number, name, text, shares[name]))
        dynamic = sorted(set().union(*[_unresolved(Path(path).read_bytes()) for path in objects]))
        target = os.path.join(self.folder, "module.so")
        host = os.path.join(self.folder, "host.cpp")
        labels = "".join(f".globl {name}\\n.hidden {name}\\n.type {name},%object\\n{name}:\\n" for name in dynamic)
        define = f'#define NUMLOOM_DYNAMIC "{labels}"\n' if dynamic else ""
        Path(host).write_text(define + Path(FOLDER, "host.hpp").read_text(encoding="utf-8"), encoding="utf-8")
        flags = [flag for flag in self.flags if flag not in ("-fsanitize=thread", *_LINE_TABLE)]
        wrap = [f"-Wl,--wrap={name}" for name in _WRAPPED] if self.request.check else []
        parts = [*flags, "-std=c++17", f"-I{INCLUDE}", "-shared", host, *objects, "-o", target, *_LINK, *wrap]
        try:
            self._run([*self.compiler.command, *parts], "", "")
        except CompileError:
            # zig makes its C++ library, for a minute, when it links C++: only where something of it is needed.
            if self.command == self.compiler.command:
                raise
            self._run([*self.command, *parts], "", "")
        return Path(target).read_bytes()

    def _compile(self, number: int, name: str, text: str, names: Sequence[str]) -> str:
        """The object file of one source."""
        source = os.path.join(self.folder, f"{number}.cu")
        whole = os.path.join(self.folder, f"{number}.ii")
        target = os.path.join(self.folder, f"{number}.o")
        quoted = name.replace("\\", "\\\\").replace('"', '\\"').replace("\n", " ")
        Path(source).write_text(f'{self.before}#line 1 "{quoted}"\n{text}\n', encoding="utf-8")
        beside = ["-iquote", os.path.dirname(os.path.abspath(name))]
        command = [*self.command, *self.flags, self.standard, *self.search, *beside]
        self._run([*command, "-x", "c++", "-E", source, "-o", whole], name, text)
        preprocessed = Path(whole).read_text(encoding="utf-8", errors="replace")
        parts = regions(preprocessed, INCLUDE)
        found = kernels("".join(part for part, users in parts if users))
        preprocessed, clashes = renamed(parts, list(found))
        entries = []
        for kernel, path in found.items():
            path = path.rpartition("::")[0] + "::" + clashes.get(kernel, kernel)
            entries.append(f'# 1 "kernel {kernel}"\nnumloom::entry("{kernel}", &{path}),\n')
        for expression in names:
            shown = json.dumps(expression)
            entries.append(f"# 1 {json.dumps(NAMES + expression)}\nnumloom::entry({shown}, {expression}),\n")
        preprocessed += (
            f'\n# 1 "kernels"\nextern "C" __attribute__((visibility("default"), used)) '
            f"const numloom::Entry numloom_entries_{number}[] = {{\n{''.join(entries)}\n{{}}}};\n"
        )
        Path(whole).write_text(preprocessed, encoding="utf-8")
        self._run([*self.command, *self.flags, self.standard, "-c", whole, "-o", target], name, text)
        return target

    def _run(self, command: list[str], name: str, text: str) -> None:
        try:
            self.compiler._run(command, text, self.folder)
        except CompileError as error:
            raise self._refusal(name, text, error.log) from None

    def _refusal(self, name: str, text: str, log: str) -> CompileError:
        """The complaint beside the line of the file that it is about."""
        log = log.replace(self.folder + os.sep, "")
        who = self.compiler.name
        place = _COMPLAINT.search(log)
        if place is None:
            return CompileError(who, "", log)
        file, line = place[1], int(place[2])
        if file.startswith(NAMES):
            return CompileError(who, "", f"the name expression {file[len(NAMES) :]!r} does not fit the source:\n{log}")
        if file in self.request.sources:
            text = self.request.sources[file]
            lines = text.splitlines()
            shown = lines[line - 1] if 0 < line <= len(lines) else ""
            for mark, why in _GPU_ONLY:
                if mark in shown:
                    log = f"{file}:{line}: error: {why}\n{log}"
                    break
        elif os.path.isfile(file):
            # In a template of a header (ours, say) the user's line comes later in the log.
            names = "|".join(map(re.escape, self.request.sources))
            inside = "(?:required from|note: in instantiation)"
            own = re.search(rf"^({names}):(\d+):\d+:\s+{inside}", log, re.MULTILINE)
            if own is not None:
                why = log[place.end() :].partition("\n")[0].strip()
                text = self.request.sources[own[1]]
                log = f"{own[1]}:{own[2]}: error: {why}\n{log}"
                file = own[1]
            else:
                text = Path(file).read_text(encoding="utf-8", errors="replace")
        else:
            return CompileError(who, "", log)
        return CompileError(who if file == "kernel.cu" else f"{who} ({file})", text, log)


def _before(request: Request) -> str:
    """What stands before each source: our headers, then the user's macros, which may have names that are used there."""
    wanted = headers_of(request).others - _ASKING
    named = sorted(name for name in wanted if os.path.isfile(os.path.join(INCLUDE, name)))
    lines = [f'#include "{name}"' for name in ("numloom_cuda.hpp", *named)]
    for option in request.options:
        name, equals, value = option[2:].partition("=")
        if _FOR_HEADERS.match(option):
            continue
        if option.startswith("-D"):
            lines += [f"#define {name} {value if equals else 1}", ""]  # A backslash at the end of one takes a line.
        elif option.startswith("-U"):
            lines.append(f"#undef {name}")
    return "\n".join(lines) + "\n"


def _unresolved(content: bytes) -> set[str]:
    """Thread-local names that an object file expects from elsewhere: arrays declared as ``extern __shared__``."""
    symbols = ElfFile(content).symbols
    return {symbol.name for symbol in symbols if symbol.kind == TLS and not symbol.defined} - {"numloom_here"}


def _shares(sources: Mapping[str, str], names: Sequence[str]) -> dict[str, list[str]]:
    """The name expressions of each source: a name belongs to the first that defines it, or else speaks of it."""
    shares: dict[str, list[str]] = {name: [] for name in sources}
    for expression in names:
        last = re.escape(expression.partition("<")[0].strip().lstrip("&").rpartition("::")[2])
        for pattern in (rf"__global__[^;{{}}]*\b{last}\s*\(", rf"\b{last}\b", ""):
            owner = next((name for name, text in sources.items() if re.search(pattern, text)), None)
            if owner is not None:
                shares[owner].append(expression)
                break
    return shares
