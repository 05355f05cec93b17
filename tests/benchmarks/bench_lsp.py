"""Real language servers: errors of an edit, the cost of a killed server, and what is left after the end.

Run: LSP_PROGRAMS=FOLDER[:FOLDER…] python -m tests.benchmarks.bench_lsp (folders with ty, basedpyright-langserver,
pyright-langserver, clangd, tsc 7, typescript-language-server; absent ones are left out). TypeScript 5 runs in each tier of the
sandbox that works here, too. Goals: a first edit says that it was not checked, and its error is in a later result; the error of a
later edit within 1.5 s, none without one, an old one never new; an edit after kill -9 within 0.1 s; no process left; at most 1.5 GB
of memory.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from opencode_tui.config.settings.settings import LspSettings, SandboxSettings
from opencode_tui.engine.lsp.change import FileChange
from opencode_tui.engine.lsp.known_servers import KNOWN, Found, ServerTable
from opencode_tui.engine.lsp.language_servers import LanguageServers
from opencode_tui.engine.project.discover import discover
from opencode_tui.engine.project.programs import Process, ProjectPrograms
from opencode_tui.engine.sandbox.environment import Secrets
from opencode_tui.engine.sandbox.piped import start_piped
from opencode_tui.engine.sandbox.sandbox import Sandbox
from opencode_tui.engine.sandbox.tier import Tier, candidates
from opencode_tui.storage.paths import find_paths
from tests.benchmarks.comparison import Figure, report

LINE = "\n"
COLD_S = 30.0
"""Seconds in which a server that has just been started must have found the error of the first edit."""

_PROJECTS = {
    "ty": ("a.py", 'old: int = "x"\n', 'bad: int = "no"\n'),
    "basedpyright": ("a.py", 'old: int = "x"\n', 'bad: int = "no"\n'),
    "pyright": ("a.py", 'old: int = "x"\n', 'bad: int = "no"\n'),
    "typescript": ("a.ts", 'const old: number = "x";\n', 'const bad: number = "no";\n'),
    "typescript-go": ("a.ts", 'const old: number = "x";\n', 'const bad: number = "no";\n'),
    "clangd": ("a.cpp", 'int old = "x";\n', 'int bad = "no";\n'),
}


@dataclass(frozen=True, slots=True)
class Cold:
    """A first edit before its server has answered: whether nothing said so, and the seconds until its error was reported."""

    is_silent: bool
    found_s: float


async def measure_cold(servers: LanguageServers, path: Path, bad: str) -> Cold:
    """Edit a file before its server runs, and ask for what it found as each later result does; the file is restored."""
    before = path.read_text()
    path.write_text(before + bad)
    try:
        began = time.perf_counter()
        report = await servers.after_edit([FileChange(path, before, before + bad)], "ses_1")
        found = ""
        while not found and time.perf_counter() - began < COLD_S:
            await asyncio.sleep(0.1)
            found = (await servers.postponed_errors("ses_1")).text
        is_right = found.startswith(f"{path.name}:2:") and "1 older error" in found
        return Cold("Not checked yet" not in report.message, time.perf_counter() - began if is_right else 99)
    finally:
        await servers.close()
        path.write_text(before)


async def measure(name: str, folder: Path, environ: dict[str, str], tier: Tier = "none") -> list[Figure]:
    """Return the figures of one server; none where it is absent, or the tier of the sandbox does not work."""
    file, text, bad = _PROJECTS[name]
    folder.mkdir()
    path = folder / file
    path.write_text(text)
    paths = find_paths({**environ, "HOME": str(folder.parent)})
    sandbox = Sandbox(
        settings=SandboxSettings.model_validate({"tier": tier}),
        project=discover(folder, paths=paths, environ=environ),
        paths=paths,
        environ=environ,
        secrets=Secrets(environ),
    )
    if sandbox.find_status().tier != tier:
        print(f"{tier} does not work here")
        return []
    others = {one.id: LspSettings(disabled=True) for one in KNOWN if one.id != name}
    table = ServerTable(
        others,
        ProjectPrograms(
            environ=environ, directory=folder, worktree=folder, is_trusted=True, is_sandboxed=lambda: tier != "none"
        ),
    )
    if not any(isinstance(table.find(one), Found) for one in table.servers if one.id == name):
        print(f"{name} is not installed")
        return []

    async def start(
        argv: Sequence[str], *, folder: Path, environ: Mapping[str, str], writable: Sequence[Path] = ()
    ) -> Process:
        launch = await sandbox.confine_helper(argv, folder=folder, environ=environ, writable=writable)
        assert launch is not None
        return await start_piped(launch)

    def make() -> LanguageServers:
        return LanguageServers(
            make_table=lambda: table,
            make_environ=lambda _: environ,
            start_confined=start,
            publish_updated=lambda: None,
            publish_diagnostics=lambda _server, _path: None,
        )

    cold = await measure_cold(make(), path, bad)
    servers = make()

    async def edit(after: str) -> tuple[float, str]:
        before = path.read_text()
        path.write_text(after)
        began = time.perf_counter()
        found = await servers.after_edit([FileChange(path, before, after)], "ses_1")
        return time.perf_counter() - began, found.text

    servers.after_read(path)
    async with asyncio.timeout(60):
        while not any(one.is_warm for one in servers.running()):
            await asyncio.sleep(0.05)
    await asyncio.sleep(0.5)
    [server] = servers.running()
    shown_s, shown = await edit(text + bad)
    _, clean = await edit(f"{text}{bad}\n")
    _, moved = await edit(f"\n{text}")
    for number in range(10):
        await edit(f"\n{text}{LINE * number}")
    documents = len(server.documents)
    [state] = [one for one in await servers.states() if one.status == "connected"]
    pid = server.connection.pid
    server.connection.kill()
    killed_s, _ = await edit(text)
    await servers.close()
    name = name if tier == "none" else f"{name} in {tier}"
    return [
        Figure(f"{name}: a first edit that is not said to be unchecked", cold.is_silent, 0, ""),
        Figure(f"{name}: its error is found by a later result", cold.found_s, COLD_S, "s"),
        Figure(f"{name}: error shown", shown_s if shown else 99, 1.5, "s"),
        Figure(f"{name}: edits with an error that is not new", bool(clean) + bool(moved), 0, ""),
        Figure(f"{name}: open documents after 13 edits", documents, 1, ""),
        Figure(f"{name}: edit after kill -9", killed_s, 0.1, "s"),
        Figure(f"{name}: processes left", Path(f"/proc/{pid}").exists(), 0, ""),
        Figure(f"{name}: memory", (state.memory or 0) / 1e6, 1500, "MB"),
    ]


async def main() -> int:
    """Measure all servers."""
    environ = {**os.environ, "PATH": f"{os.environ.get('LSP_PROGRAMS', '')}:{os.environ['PATH']}"}
    with tempfile.TemporaryDirectory() as folder:
        figures = [figure for name in _PROJECTS for figure in await measure(name, Path(folder) / name, environ)]
        for tier in candidates():
            figures += await measure("typescript", Path(folder) / tier, environ, tier)
    return report(figures)


if __name__ == "__main__":
    sys.exit(asyncio.run(main()))
