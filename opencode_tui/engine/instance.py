"""The instance of one folder: its project, settings, agents, tools, permissions and sessions."""

import asyncio
import logging
import os
import shlex
from collections.abc import Callable, Collection, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from msgspec import Struct

from opencode_tui.config.load import LoadedConfig, load_config
from opencode_tui.engine.command.commands import Commands, collect_commands
from opencode_tui.engine.lazy import Lazy
from opencode_tui.engine.plugin.discovery import PluginSource, find_plugins
from opencode_tui.engine.plugin.plugins import Plugins
from opencode_tui.engine.project.discover import Project, discover
from opencode_tui.engine.project.opening import open_records
from opencode_tui.engine.services.core import Core
from opencode_tui.engine.services.sessions import SessionServices
from opencode_tui.engine.session.references import expand_prompt
from opencode_tui.engine.skill.skills import Skills, discover_skills, search_of
from opencode_tui.engine.snapshot.worktree_paths import find_store
from opencode_tui.schema.api.request import PromptPart
from opencode_tui.schema.error import ConfigError, OpencodeError

if TYPE_CHECKING:
    from opencode_tui.config.well_known import AcceptedStore
    from opencode_tui.engine.services.folder import FolderServices
    from opencode_tui.engine.session.revert.revert import SessionRevert
    from opencode_tui.engine.session.trash import SessionTrash

logger = logging.getLogger(__name__)


_NO_SESSION = "ses_debug_sandbox"
"""The session whose temp folder commands without a session use."""


class ConfinedRun(Struct, frozen=True):
    """The end of a confined program: its exit code, None where it was ended, and the protected files that it changed, with how.

    `limit` says which limit it reached, as `stopped at 8 GB of memory`; empty for none. `messages` are lines about its preparation.
    """

    tier: str
    exit_code: int | None
    changes: tuple[tuple[str, str], ...]
    limit: str = ""
    messages: tuple[str, ...] = ()


class Instance(Struct, frozen=True):
    """The services of one folder, opened by `open_instance`."""

    directory: Path
    warnings: list[str]
    session: SessionServices

    @property
    def folder(self) -> "FolderServices":
        """The services that do not depend on sessions."""
        return self.session.folder

    async def expand(self, text: str) -> list[PromptPart]:
        """Return the parts of a prompt's text: the text, and the referenced files and agents."""
        if "@" not in text:
            return expand_prompt(text, self.folder.references)  # looks nothing up
        return await asyncio.to_thread(expand_prompt, text, self.folder.references)

    async def run_confined(
        self,
        argv: Sequence[str],
        folder: Path,
        feed: Callable[[bytes], None],
        *,
        is_read_only: bool,
        timeout_ms: int,
        session_id: str = _NO_SESSION,
        is_required: bool = True,
    ) -> ConfinedRun:
        """Run a program inside the sandbox, as the agent's commands run; `feed` gets its output, on a thread.

        It has the temp folder of a session. Where no sandbox works it runs without one unless that `is_required`: then it raises
        ConfigError. Raises OSError when the program cannot be started.
        """
        from opencode_tui.engine.tool.process.process import Command, ShellProcess  # for this alone

        sandbox, secrets = self.folder.programs.sandbox.get(), self.folder.programs.secrets.get()
        environ = secrets.without_keys(self.folder.core.environ)
        confined = await sandbox.confine(
            argv, session_id=session_id, folder=folder, environ=environ, read_only=is_read_only
        )
        if confined is None and is_required:
            raise ConfigError(f"no sandbox works here: {(await sandbox.status()).reason}")
        cancel, cancel_end = os.pipe()
        command = Command(
            shlex.join(argv),
            folder,
            environ,
            timeout_ms,
            argv[0] if confined else "sh",
            confined.launch if confined else None,
            is_watched=True,
            limits=self.folder.programs.limits,
        )
        running = asyncio.create_task(asyncio.to_thread(ShellProcess(command, feed, cancel=cancel).run))
        try:
            ended = await asyncio.shield(running)
        except asyncio.CancelledError:
            os.write(cancel_end, b"x")
            await asyncio.wait({running})
            raise
        finally:
            os.close(cancel)
            os.close(cancel_end)
        limit = "" if ended.limit is None else ended.limit.words
        if confined is None:
            return ConfinedRun("none", ended.exit_code, (), limit)
        changes = await sandbox.changes(confined)
        changed = tuple((str(one.path), one.kind) for one in changes)
        return ConfinedRun(confined.tier, ended.exit_code, changed, limit, confined.messages)

    async def close(self) -> None:
        """Stop background tasks, deliver the last events to the plugins, and close the providers' connections and processes."""
        await self.folder.background.close()
        await self.folder.plugins.close()
        await self.folder.providers.close()


FIRST_EMPTYING_S = 5.0
"""Seconds from the opening of a folder to the first deletion of old sessions in the trash; then once a day."""

FIRST_FETCH_S = 0.5
"""Seconds from the opening of the first folder to the request for the settings of servers."""

MCP_START_S = 3.0
"""Seconds from the opening of a folder to the start of MCP servers whose lists are not known, behind the first request."""

_PROGRAM_LOG = logging.getLogger("opencode_tui")
"""The parent of all our loggers; its handlers have a level if the command line sets one, which then wins."""


async def open_instance(core: Core, directory: Path) -> Instance:
    """Return the instance of a folder. Raises ConfigError when its settings cannot be used."""
    config, project, has_leftovers = await asyncio.to_thread(_read_folder, core, directory)
    opened = await open_records(
        project, paths=core.paths, migrations=core.migrations, trash=core.trash, projects=core.projects
    )
    warnings = [*opened.warnings]
    plugins, config = await _load_plugins(core, config, project, directory)
    skills, commands = await asyncio.to_thread(_collect_commands, core, config, directory)
    services = SessionServices.of_folder(core, project, config, plugins=plugins, skills=skills, commands=commands)
    services.build()
    folder = services.folder
    plugins.follow(core.bus, str(directory))
    if services.has_share_server:
        services.shares.get().follow(core.bus, str(directory))
    if config.settings.experimental is not None and config.settings.experimental.openTelemetry:
        warnings += await _follow_telemetry(core, folder, directory)
    folder.watch_branch()
    if new := [url for url in config.servers if url not in core.fetched]:
        core.fetched.update(new)
        folder.background.start_endless(
            partial(_fetch_settings, core, directory, new, config.named_servers), name="settings of servers"
        )
    if has_leftovers:
        await _recover(services.revert)
    if folder.programs.has_mcp:
        folder.background.start_endless(partial(_start_mcp_servers, folder), name="starting MCP servers")
    folder.background.start_endless(partial(_empty_trash, services.trash, config), name="emptying the trash")
    return Instance(directory, warnings, services)


async def _follow_telemetry(core: Core, folder: "FolderServices", directory: Path) -> list[str]:
    """Send the events of a folder to a collector; return why that is not possible."""
    from opencode_tui.engine.services.telemetry import MISSING, TelemetryFollower, is_installed  # few users have it on

    if not await asyncio.to_thread(is_installed):
        return [MISSING]
    folder.background.at_close(TelemetryFollower(core.bus, str(directory), core.environ).close)
    return []


def _read_folder(core: Core, directory: Path) -> tuple[LoadedConfig, Project, bool]:
    """Return the folder's settings, its project, and whether an undo of its files was interrupted. Blocks."""
    config = load_config(paths=core.paths, flags=core.flags, directory=directory, environ=core.environ)
    if config.settings.logLevel is not None and not any(handler.level for handler in _PROGRAM_LOG.handlers):
        _PROGRAM_LOG.setLevel(config.settings.logLevel)
    project = discover(directory, paths=core.paths, environ=core.environ)
    place = find_store(core.paths, project_id=project.id, worktree=project.worktree)
    return config, project, place.has_leftovers


async def _load_plugins(
    core: Core, config: LoadedConfig, project: Project, directory: Path
) -> tuple[Plugins, LoadedConfig]:
    """Return the plugins of the settings, and the settings changed by them; a failing plugin is skipped."""
    sources = await asyncio.to_thread(find_plugins, config, paths=core.paths, flags=core.flags, directory=directory)
    plugins = Plugins()
    if sources:
        plugins, config = await _load_sources(sources, config, project, directory)
    if config.settings.hooks:
        from opencode_tui.engine.plugin.command_hooks import command_hooks

        made = command_hooks(config.settings.hooks, folder=directory, environ=core.environ, ids=core.identifier)
        plugins.hooks.add(made)
    return plugins, config


async def _load_sources(
    sources: Sequence[PluginSource], config: LoadedConfig, project: Project, directory: Path
) -> tuple[Plugins, LoadedConfig]:
    from opencode_tui.engine.plugin.definition import PluginContext
    from opencode_tui.engine.plugin.loader import change_config, load_plugins

    context = PluginContext(directory=directory, worktree=project.worktree, project_id=project.id)
    plugins = await load_plugins(sources, context)
    return plugins, await change_config(plugins.hooks, config)


def _collect_commands(core: Core, config: LoadedConfig, directory: Path) -> tuple[Skills, Commands]:
    use_claude = not core.flags.is_claude_code_disabled
    skills = discover_skills(search_of(config, home=core.paths.home, directory=directory, use_claude=use_claude))
    return skills, collect_commands(config, skills)


async def _fetch_settings(core: Core, directory: Path, urls: Sequence[str], named: Collection[str]) -> None:
    """Fetch the settings of accepted servers again, and those of servers that the administrator named.

    The next opening uses them. A failure is reported, the old ones stay.
    """
    from opencode_tui.config.well_known import AcceptedStore, fetch  # few users have accepted any

    await asyncio.sleep(FIRST_FETCH_S)
    store = AcceptedStore(paths=core.paths)
    for url in urls:
        try:
            provided = await fetch(url)
            known = await asyncio.to_thread(store.find, url)
            if url in named:
                if not await asyncio.to_thread(store.follow, url, provided.settings):
                    continue
            elif known is None or not await asyncio.to_thread(store.refresh, known, provided.settings):
                continue
            message, variant = await asyncio.to_thread(_describe_change, store, url, named), "info"
        except OpencodeError as error:
            message, variant = f"{error}; the settings fetched before are used", "warning"
        from opencode_tui.schema.event.screen_event import ScreenToastShown  # only for a change or a failure

        core.bus.publish(
            ScreenToastShown.model_validate({"message": message, "variant": variant}), directory=str(directory)
        )


def _describe_change(store: "AcceptedStore", url: str, named: Collection[str]) -> str:
    from opencode_tui.config.well_known import describe_review

    known = store.find(url)
    if url not in named and known is not None and store.needs_review(known):
        return f"the settings of {url} {describe_review(url)}"
    return f"the settings of {url} have changed; they are used the next time you open this folder"


async def _empty_trash(trash: "Lazy[SessionTrash]", config: LoadedConfig) -> None:
    await asyncio.sleep(FIRST_EMPTYING_S)
    days = config.settings.trash.days
    if days is not False:
        await trash.get().empty_daily(int(days))


async def _start_mcp_servers(folder: "FolderServices") -> None:
    await asyncio.sleep(MCP_START_S)
    await (await asyncio.to_thread(folder.programs.mcp.get)).start_unknown()


async def _recover(revert: "Lazy[SessionRevert]") -> None:
    """Complete the undos that killed processes started in the folder's files; log failures."""
    try:
        await revert.get().recover_all()
    except OpencodeError as error:
        logger.warning("an interrupted undo is not completed yet, the next undo tries again: %s", error)
