"""The client inside the process: for one folder, and for all folders of one engine."""

from collections.abc import AsyncGenerator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from pathlib import Path

from opencode_tui.bus import Subscription
from opencode_tui.client.calls import Carry
from opencode_tui.client.local_facets import LocalFacets
from opencode_tui.engine.engine import Engine, open_engine
from opencode_tui.engine.instance import ConfinedRun, Instance
from opencode_tui.engine.permission.policy import AskPerson, Policy
from opencode_tui.schema.error import BusyError, ConfigError
from opencode_tui.schema.event.event import GlobalDisposed
from opencode_tui.schema.session.history import MessageWithParts

_KILLED = 137
"""The exit code of a check that reached a limit, as of a killed program."""


class LocalClient(LocalFacets):
    """The client of one folder, in the process."""

    def __init__(
        self, engine: Engine, instance: Instance, policy: Policy | None = None, *, carry: Carry | None = None
    ) -> None:
        self._engine = engine
        self._policy = policy or AskPerson()
        self._carry = carry
        self.directory = instance.directory
        self.use(instance)

    @property
    def is_current(self) -> bool:
        """Return whether the folder was not closed since."""
        return self._engine.is_open(self._instance)

    @property
    def ends_runs(self) -> bool:
        """Return whether the end of this process ends the runs."""
        return True

    @property
    def terminals(self) -> int:
        """Return how many other terminals use this engine."""
        return 0

    @property
    def can_detach(self) -> bool:
        """Return whether the engine of this process can continue without a terminal."""
        return False

    def detach(self) -> None:
        """Do nothing."""

    def events(self) -> Subscription:
        """Return a reader of the folder's events from now on."""
        return self._engine.bus.subscribe(str(self.directory))

    async def run_confined(
        self, argv: Sequence[str], folder: Path, feed: Callable[[bytes], None], *, is_read_only: bool, timeout_ms: int
    ) -> ConfinedRun:
        """Run a program inside the sandbox, as the agent's commands run; `feed` gets its output, on a thread.

        Raises ConfigError where no sandbox works, OSError when the program cannot be started.
        """
        instance = await self._engine.instance(self.directory)
        return await instance.run_confined(argv, folder, feed, is_read_only=is_read_only, timeout_ms=timeout_ms)

    async def run_check(
        self, command: str, session_id: str, feed: Callable[[bytes], None], *, timeout_ms: int
    ) -> int | None:
        """Run a shell command in this folder as the agent of a session would; return its exit code, None after the time limit.

        Where no sandbox works it runs without one. Raises OSError when it cannot be started.
        """
        instance = await self._engine.instance(self.directory)
        ended = await instance.run_confined(
            ["sh", "-c", command],
            self.directory,
            feed,
            is_read_only=False,
            timeout_ms=timeout_ms,
            session_id=session_id,
            is_required=False,
        )
        if not ended.limit:
            return ended.exit_code
        feed(f"\n{ended.limit}\n".encode())
        return _KILLED

    async def stored_messages(self, session_id: str) -> Iterator[MessageWithParts]:
        """Return all messages of a session, oldest first, read from the disk while the caller continues: blocking, not on the loop.

        For a command that writes a session of any length; it may read on after the client is closed.
        """
        return await self._engine.store.stored(session_id)

    async def assign_session(self, session_id: str, directory: Path) -> None:
        """Make a session and its agents' sessions belong to another folder of the project, for when this one is removed."""
        sessions = (await self._engine.instance(self.directory)).session.sessions
        for info in await sessions.family(await sessions.get(session_id)):
            await self._engine.store.update(info.id, lambda found: found.changed(directory=str(directory)), touch=False)

    async def reopen(self) -> None:
        """Open the folder again."""

        async def open_again() -> Instance:
            await self._engine.dispose(self.directory)
            return await self._engine.instance(self.directory)

        self.use(await (open_again if self._carry is None else self._carry(open_again))())

    def use(self, instance: Instance) -> None:
        """Use this instance of the folder from now on."""
        self._instance = instance
        self.bind(
            self._engine,
            instance,
            policy=self._policy,
            carry=self._carry,
            at=lambda other: LocalClient(self._engine, other, self._policy),
        )


class LocalClients:
    """The clients of all folders, in the process; a folder is opened once. `own` is the client of a screen in the process."""

    def __init__(
        self, engine: Engine, directory: Path, policy: Policy | None = None, *, own: LocalClient | None = None
    ) -> None:
        self._own = own
        self._engine = engine
        self._directory = str(directory)
        self._policy = policy
        self._clients: dict[str, LocalClient] = {}
        self._outdated: set[Path] = set()

    async def at(self, directory: str | None = None) -> LocalClient:
        """Return the client of a folder. Raises ConfigError."""
        asked = directory or self._directory
        client = self._clients.get(asked)
        if client is not None and client.directory in self._outdated:
            await self._close_outdated(client.directory)
            client = self._clients.get(asked)
        if client is None or not client.is_current:
            if not Path(asked).is_absolute():
                raise ConfigError(f"the directory {asked!r} is not an absolute path; pass an absolute one")
            client = self._clients[asked] = LocalClient(self._engine, await self._open(asked), self._policy)
        return client

    async def dispose(self, directory: str | None = None) -> None:
        """Close a folder."""
        folder = (await self.at(directory)).directory
        await self._engine.dispose(folder)
        self._clients = {name: client for name, client in self._clients.items() if client.directory != folder}
        if self._own is not None and self._own.directory == folder:
            self._own.use(await self._engine.instance(folder))

    async def reload(self) -> None:
        """Close every folder in which nothing runs, the others at their first use after that."""
        opened = [*self._clients.values(), *([self._own] if self._own is not None else [])]
        self._outdated |= {client.directory for client in opened}
        for folder in tuple(self._outdated):
            await self._close_outdated(folder)

    async def _close_outdated(self, folder: Path) -> None:
        """Close a folder with former settings, unless something runs in it."""
        self._outdated.discard(folder)
        try:
            await self.dispose(str(folder))
        except BusyError:
            self._outdated.add(folder)

    async def dispose_all(self) -> None:
        """Close every folder in which nothing runs; publish GlobalDisposed when that were all."""
        busy: list[BusyError] = []
        for name in {str(client.directory): name for name, client in self._clients.items()}.values():
            try:
                await self.dispose(name)
            except BusyError as error:
                busy.append(error)
        if busy:
            raise busy[0]
        self._engine.bus.publish(GlobalDisposed(), directory="global")

    async def _open(self, directory: str) -> Instance:
        try:
            return await self._engine.instance(Path(directory))
        except (OSError, ValueError) as error:  # a name that no folder can have
            raise ConfigError(f"the directory {directory[:100]!r} cannot be opened ({error})") from error

    def events(self) -> Subscription:
        """Return a reader of all events from now on."""
        return self._engine.bus.subscribe()

    @property
    def data_folder(self) -> Path:
        """The folder of the program's data."""
        return self._engine.core.paths.data

    @property
    def is_working(self) -> bool:
        """Return whether a session runs, or a background command, in any folder."""
        return self._engine.is_working

    async def end_runs(self) -> None:
        """Interrupt all runs."""
        await self._engine.core.runs.close()


@asynccontextmanager
async def open_client(
    environ: Mapping[str, str], directory: Path, *, policy: Policy | None = None
) -> AsyncGenerator[LocalClient, None]:
    """Open the engine and the client of a folder; on leaving, everything ends in order."""
    async with open_engine(environ) as engine:
        yield LocalClient(engine, await engine.instance(directory), policy)


@asynccontextmanager
async def open_clients(environ: Mapping[str, str], directory: Path) -> AsyncGenerator[LocalClients, None]:
    """Open the engine and the clients of all folders, `directory` the default one; on leaving, everything ends in order."""
    async with open_engine(environ) as engine:
        yield LocalClients(engine, directory)
