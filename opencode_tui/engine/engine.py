"""The engine of a process: storage, bus, runs, and an instance for each open folder."""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path

from opencode_tui.bus import Bus
from opencode_tui.engine.instance import Instance, open_instance
from opencode_tui.engine.services.core import Core
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.tool.truncate import remove_old_outputs
from opencode_tui.schema.error import BusyError, OpencodeError, StorageError
from opencode_tui.schema.event.event import InstanceDisposed
from opencode_tui.schema.ids import Clock, Identifier, system_clock
from opencode_tui.storage.files import FileSystem
from opencode_tui.storage.paths import find_paths
from opencode_tui.tasks import guarded_tasks

FIRST_CLEANING_S = 1.0
"""Seconds from the start to the first deletion of old full texts of tools; then once a day."""

_DAY_S = 24 * 3600


class Engine:
    """The engine of a process, opened by `open_engine`."""

    def __init__(self, core: Core) -> None:
        self.core = core
        self._instances: dict[Path, Instance] = {}
        self._opening = asyncio.Lock()

    @property
    def bus(self) -> Bus:
        """The event bus."""
        return self.core.bus

    @property
    def store(self) -> SessionStore:
        """The records of all sessions."""
        return self.core.store

    @property
    def is_working(self) -> bool:
        """Whether a session runs, or a background command, in any folder."""
        made = (instance.folder.commands_in_background.made for instance in self._instances.values())
        return bool(self.core.statuses.all()) or any(commands.running() for commands in made if commands is not None)

    async def instance(self, directory: Path) -> Instance:
        """Open or return the instance of a folder. Raises ConfigError when its settings cannot be used."""
        real = await asyncio.to_thread(Path(directory).resolve)
        async with self._opening:
            instance = self._instances.get(real)
            if instance is None:
                instance = self._instances[real] = await open_instance(self.core, real)
            return instance

    @property
    def instances(self) -> Sequence[Instance]:
        """The instances of the open folders."""
        return tuple(self._instances.values())

    def is_open(self, instance: Instance) -> bool:
        """Return whether an instance was not closed since it was opened."""
        return self._instances.get(instance.directory) is instance

    async def dispose(self, directory: Path) -> None:
        """Close a folder's instance and publish InstanceDisposed; the next use opens it again with new settings and keys.

        Raises BusyError while a session of the folder is running, or a background command.
        """
        real = await asyncio.to_thread(Path(directory).resolve)
        for session_id in self.core.statuses.all():
            if self.core.publisher.directory_of(session_id) == str(real):
                raise BusyError(f"session {session_id} is running in {real}; interrupt it first")
        opened = self._instances.get(real)
        commands = None if opened is None else opened.folder.commands_in_background.made
        if commands is not None and (running := commands.running()):
            raise BusyError(f"the background command {running[0].id} ({running[0].command}) is running; stop it first")
        async with self._opening:
            instance = self._instances.pop(real, None)
        if instance is not None:
            await instance.close()
            self.bus.publish(InstanceDisposed(directory=str(real)), directory=str(real))

    async def close(self) -> None:
        """Interrupt all runs, close their records, close the instances and flush the storage, each although another fails.

        Raises StorageError when the disk does not accept what happened last.
        """
        async with AsyncExitStack() as stack:
            stack.push_async_callback(self._close_storage)
            if (sign_ins := self.core.sign_ins.made) is not None:
                stack.push_async_callback(sign_ins.close)
            if (search := self.core.search.made) is not None:
                stack.push_async_callback(search.close)
            for instance in reversed(self._instances.values()):
                stack.push_async_callback(instance.close)
            await self.core.runs.close()

    async def _close_storage(self) -> None:
        try:
            await self.core.storage.close()
        except StorageError as error:
            raise StorageError(f"what happened last could not be stored: {error}") from error


@asynccontextmanager
async def open_engine(
    environ: Mapping[str, str],
    *,
    clock: Clock = system_clock,
    identifier: Identifier | None = None,
    files: FileSystem | None = None,
) -> AsyncGenerator[Engine, None]:
    """Open the engine for this environment and close it on exit, also after an error or Ctrl-C.

    Raises on exit what `Engine.close` raises.
    `files` are the file system calls of the storage.
    """
    failure: Exception | None = None
    async with guarded_tasks() as tasks:
        engine = Engine(
            Core(
                environ=dict(environ),
                paths=find_paths(environ),
                tasks=tasks,
                clock=clock,
                identifier=identifier or Identifier(clock),
                files=files,
            )
        )
        cleaning = tasks.start(_clean_daily(engine.core), name="daily cleaning")
        try:
            await engine.core.copies.recover()
            yield engine
        except Exception as error:  # noqa: BLE001 - raised again outside the group, which would wrap it
            failure = error
        finally:
            cleaning.cancel()
            try:
                await engine.close()
            except OpencodeError as error:
                failure = failure or error
    if failure is not None:
        raise failure


async def _clean_daily(core: Core) -> None:
    await asyncio.sleep(FIRST_CLEANING_S)
    while True:
        await asyncio.to_thread(remove_old_outputs, core.paths.tool_output, core.clock)
        await asyncio.sleep(_DAY_S)
