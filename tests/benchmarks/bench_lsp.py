"""Real language servers: errors of an edit, the cost of a killed server, and what is left after the end.

Run: LSP_PROGRAMS=FOLDER[:FOLDER…] python -m tests.benchmarks.bench_lsp (folders with ty, basedpyright-langserver, clangd, tsc 7,
typescript-language-server; absent ones are left out). TypeScript 5 runs in each tier of the sandbox that works here, too. Goals:
the error of an edit within 1.5 s, none without one, an old one never new; an edit after kill -9 within 0.1 s;
no process left; at most 1.5 GB of memory.
"""

import asyncio
import os
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
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
_PROJECTS = {
    "ty": ("a.py", 'old: int = "x"\n', 'bad: int = "no"\n'),
    "basedpyright": ("a.py", 'old: int = "x"\n', 'bad: int = "no"\n'),
    "typescript": ("a.ts", 'const old: number = "x";\n', 'const bad: number = "no";\n'),
    "typescript-go": ("a.ts", 'const old: number = "x";\n', 'const bad: number = "no";\n'),
    "clangd": ("a.cpp", 'int old = "x";\n', 'int bad = "no";\n'),
}


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
            environ=environ, directory=folder, worktree=folder, is_trusted=True, is_sandboxed=tier != "none"
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

    servers = LanguageServers(
        make_table=lambda: table,
        make_environ=lambda _: environ,
        start_confined=start,
        publish_updated=lambda: None,
        publish_diagnostics=lambda _server, _path: None,
    )

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
