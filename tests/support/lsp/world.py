"""A folder with the scripted language server."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from opencode_tui.config.settings.settings import LspSettings
from opencode_tui.engine.lsp.change import EditReport, FileChange
from opencode_tui.engine.lsp.known_servers import ServerTable
from opencode_tui.engine.lsp.language_servers import LanguageServers, ServerOptions
from opencode_tui.engine.project.programs import ProjectPrograms, start_program
from tests.support.world.machine import PYTHON

SERVER = Path(__file__).with_name("scripted_server.py")


def command(log: Path, *modes: str) -> list[str]:
    """Return the command of a scripted server."""
    return [PYTHON, "-S", str(SERVER), str(log), *modes]


def settings(log: Path, *modes: str) -> dict[str, Any]:
    """Return the settings that use the scripted server, for files `*.bug`."""
    return {"lsp": {"scripted": {"command": command(log, *modes), "extensions": [".bug"]}}}


@dataclass
class Bench:
    """The language servers of a folder with one scripted server for `*.bug`."""

    folder: Path
    environ: dict[str, str]
    modes: tuple[str, ...] = ("pull",)
    options: ServerOptions | None = None
    before: Sequence[str] = ()
    """A program that starts the server as its arguments say."""
    program: Sequence[str] = ()
    """The command of another server, instead of the scripted one."""
    extension: str = ".bug"

    def __post_init__(self) -> None:
        self.log = self.folder.parent / "server.log"
        self.notices = self.folder.parent / "server.log.files"
        self.clock = 0.0
        self.heard: list[Path] = []
        self.updates = 0
        argv = [*self.before, *(self.program or command(self.log, *self.modes))]
        entry = LspSettings.model_validate({"command": argv, "extensions": [self.extension]})
        self.servers = LanguageServers(
            make_table=lambda: ServerTable(
                {"scripted": entry},
                ProjectPrograms(
                    environ=self.environ,
                    directory=self.folder,
                    worktree=self.folder,
                    is_trusted=True,  # the real one runs code of the project
                    is_sandboxed=lambda: False,
                ),
            ),
            make_environ=lambda _: self.environ,
            start_confined=start_program,
            publish_updated=self._updated,
            publish_diagnostics=lambda _, path: self.heard.append(path),
            options=self.options,
            clock_s=lambda: self.clock,
        )

    def _updated(self) -> None:
        self.updates += 1

    def write(self, name: str, text: str) -> Path:
        path = self.folder / name
        path.write_text(text)
        return path

    def let_start(self) -> None:
        """Let a server of the mode `held` start."""
        self.log.with_name(f"{self.log.name}.go").touch()

    async def read(self, name: str) -> None:
        """Read a file, and wait until its server has worked on it."""
        self.servers.after_read(self.folder / name)
        await self.idle()

    async def idle(self) -> None:
        """Wait until nothing works in the background."""
        import asyncio

        while tasks := [*self.servers._tasks, *(task for one in self.servers.running() for task in one._tasks)]:
            await asyncio.wait(tasks)

    async def edit(self, name: str, text: str, *, limit_s: float = 60, session_id: str = "ses_1") -> EditReport:
        """Change a file; a loaded machine may take long."""
        path = self.folder / name
        before = path.read_text() if path.exists() else None
        path.write_text(text)
        return await self.servers.after_edit([FileChange(path, before, text)], session_id, limit_s=limit_s)

    def messages(self, method: str) -> int:
        """Return how many messages of a method the servers got."""
        return sum(line.split(" ")[1] == method for line in self.log.read_text().splitlines())

    def pids(self) -> list[int]:
        """Return the processes of all servers that were ever started."""
        return list(dict.fromkeys(int(line.split(" ")[0]) for line in self.log.read_text().splitlines()))
