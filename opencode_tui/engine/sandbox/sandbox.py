"""The sandbox of one folder: builds the policy of each command, and compares protected files before and after it.

Source: docs/internals/sandbox.md#policy.
"""

import asyncio
import logging
import os
import socket
import threading
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager
from functools import partial
from itertools import groupby
from pathlib import Path
from secrets import token_hex
from typing import TYPE_CHECKING, Literal

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.cancellation import run_to_completion
from opencode_tui.config.settings.settings import SandboxSettings
from opencode_tui.engine.project.discover import Project
from opencode_tui.engine.project.repository import find_repository
from opencode_tui.engine.sandbox import folders
from opencode_tui.engine.sandbox.cache_copies import bring
from opencode_tui.engine.sandbox.caches import TOOLS, Caches, find_caches
from opencode_tui.engine.sandbox.changes import (
    BEFORE_S,
    FOLDER_LIMIT,
    Change,
    ProjectFiles,
    ProtectedState,
    compare,
    undo,
)
from opencode_tui.engine.sandbox.environment import Secrets
from opencode_tui.engine.sandbox.git_settings import same_but_tracking
from opencode_tui.engine.sandbox.launch import Launch, plan_launch
from opencode_tui.engine.sandbox.own_program import OwnProgram, find_installation, protect
from opencode_tui.engine.sandbox.policy import RELAY_PORT, Policy
from opencode_tui.engine.sandbox.proxy import HostList, HostProxy
from opencode_tui.engine.sandbox.running import RunningCommands
from opencode_tui.engine.sandbox.secret_files import tool_secrets
from opencode_tui.engine.sandbox.spellings import close_spellings
from opencode_tui.engine.sandbox.temp import (
    cache_folder,
    cache_name,
    delete_abandoned,
    delete_temp,
    link_in_temp,
    temp_folder,
)
from opencode_tui.engine.sandbox.tier import Tier, choose
from opencode_tui.engine.sandbox.tiers import landlock
from opencode_tui.schema.error import BusyError
from opencode_tui.storage.files import AtomicWriter, FileSystem
from opencode_tui.storage.paths import Paths, ensure
from opencode_tui.storage.safe_folder import own_folder
from opencode_tui.storage.same_name import NAMES, canonical
from opencode_tui.storage.task_folders import is_task_worktree, task_origin

if TYPE_CHECKING:
    from opencode_tui.engine.project.programs import Program
    from opencode_tui.engine.sandbox.proxy import HostAccess

logger = logging.getLogger(__name__)

Mode = Literal["auto", "off", "read-only"]

_SPELLING = (
    "the disk of this project ignores the case of names: other spellings of protected and hidden files count as these files, and "
    "what they lead to is compared after each command"
)

_TOOLCHAIN_KEEP_S = 60.0
_START_S = 5.0
"""How long `alone` waits for a command that has not started yet."""
_MOST_NAMED = 3
_SHARED_MEMORY = Path(os.path.realpath("/dev/shm"))
_MANY_FOLDERS = (
    f"the project has more than {FOLDER_LIMIT:,} folders, so files like .env and protected files are not found in all of them; "
    "delete what was generated, or name what to hide in experimental.sandbox.hidden, as `**/.env`"
)
_MANY_FILES = (
    "the project has more protected files than can be compared, so changes are not found; delete the generated ones"
)


class SandboxStatus(Struct, frozen=True):
    """How commands are confined; `reason` is one line that says why they are not, empty where they are."""

    tier: Tier
    reason: str
    mode: Mode
    shares_proc: bool = False
    is_flat: bool = False
    exposed: str = ""
    """Why commands can change this program, in one line; empty where they cannot."""
    spelling: str = ""
    """What it means here that the disk ignores the case of names, in one line; empty where it does not."""


class Confined(Struct, frozen=True):
    """A confined command that can be started; `before` are the protected files before it, `access` its way to single hosts.

    `messages` are lines about its preparation.
    """

    launch: Launch
    tier: Tier
    policy: Policy
    before: ProtectedState
    access: "HostAccess | None" = None
    messages: tuple[str, ...] = ()


class KnownPaths(Struct, frozen=True):
    """Folders that commands may read although they are among private ones, and protected files whose names do not show it."""

    readable: Sequence[Path] = ()
    protected: Sequence[Path] = ()


class _Toolchains(Struct, frozen=True):
    """What is readable and writable besides the project, for an environment and a while."""

    environ: Mapping[str, str]
    until: float
    read: tuple[Path, ...]
    caches: Caches
    secrets: tuple[Path, ...]
    """What of that holds secrets."""
    confined: Mapping[str, str]
    """The environment of confined commands."""


class _GitAccess(Struct, frozen=True):
    """What commands may read of a git folder outside the project, what they may write, and what of that is read-only."""

    read: tuple[Path, ...] = ()
    write: tuple[Path, ...] = ()
    read_only: tuple[Path, ...] = ()

    def may_write(self, path: Path) -> bool:
        """Return whether a path is outside of what is only read; other tasks change that meanwhile, and remove their folders."""
        return any(path.is_relative_to(one) for one in self.write) or not any(
            path.is_relative_to(one) for one in self.read
        )


class Sandbox:
    """Confines the commands of one folder."""

    def __init__(
        self,
        *,
        settings: SandboxSettings | None,
        project: Project,
        paths: Paths,
        environ: Mapping[str, str],
        secrets: Secrets,
        known: KnownPaths | None = None,
        granted_hosts: Callable[[], Awaitable[Sequence[str]]] | None = None,
    ) -> None:
        """`environ` is that of this program; `granted_hosts` returns the hosts that the user always allows here."""
        self._known = known or KnownPaths()
        self._granted_hosts = granted_hosts
        self._proxy: HostProxy | None = None
        self._proxy_address: Path | int = 0
        self._proxy_start = asyncio.Lock()
        self._environ = environ
        self._settings = settings or SandboxSettings()
        self._project = project
        self._paths = paths
        self._secrets = secrets
        self._home = canonical(paths.home)
        own = map(canonical, (paths.data, paths.config, paths.state, paths.cache))
        self._around = folders.Surroundings(self._home, tuple(own), project.worktree)
        self._private = [path for path in self._around.private() if path.is_relative_to(project.worktree)]
        self._name = cache_name(project.worktree)
        self._caches = cache_folder(paths, project.worktree)
        self._guard = threading.Lock()
        self._copying = threading.Lock()
        self._status: SandboxStatus | None = None
        self._files: ProjectFiles | None = None
        self._remembered: tuple[str, ...] = ()
        self._git: tuple[Path, ...] = ()
        self._toolchains: _Toolchains | None = None
        self._own_known: tuple[object, float, OwnProgram] | None = None
        self._cleaner = threading.Thread(target=delete_abandoned, args=(paths,), name="old-temp", daemon=True)
        self._undoable: dict[Path, tuple[Change, ProtectedState]] = {}
        self._running = self._outside = 0
        self._commands = RunningCommands()
        self._none_outside = asyncio.Event()
        self._left_out: dict[str, bool] = {}
        """Lines for the user about what has no effect, and whether they are new."""

    async def status(self) -> SandboxStatus:
        """Return how commands are confined; the first call tries it out."""
        return self._status or await asyncio.to_thread(self.find_status)

    def find_status(self) -> SandboxStatus:
        """Return how commands are confined. Blocks at first, for a trial."""
        if self._status is None:
            self._status = self._find_status()
        return self._status

    @property
    def is_shared(self) -> bool:
        """Whether a confined command of this folder runs now."""
        return self._running > 0

    @asynccontextmanager
    async def shared(self) -> AsyncGenerator[None]:
        """Count a confined command as running, for the context, entered when no command runs `outside`."""
        while self._outside:
            await self._none_outside.wait()
        self._running += 1
        try:
            yield
        finally:
            self._running -= 1

    @contextmanager
    def outside(self) -> Generator[None]:
        """Let no confined command start, for the context: it could exchange the files that a command outside names."""
        self._outside += 1
        self._none_outside.clear()
        try:
            yield
        finally:
            self._outside -= 1
            if not self._outside:
                self._none_outside.set()

    @asynccontextmanager
    async def alone(self) -> AsyncGenerator[None]:
        """Let no confined command do anything, for the context: none starts, and those that run are stopped until its end.

        Raises BusyError where one cannot be stopped.
        """
        with self.outside():
            try:
                # One that is not known yet is just starting, or recording what it changed.
                pause = partial(self._commands.pause, lambda: self._running, limit_s=_START_S)
                if not await run_to_completion(asyncio.to_thread(pause)):
                    raise BusyError("a command cannot be stopped for the moment; end it, then try again")
                yield
            finally:
                await run_to_completion(asyncio.to_thread(self._commands.resume))

    async def confine(
        self, argv: Sequence[str], *, session_id: str, folder: Path, environ: Mapping[str, str], read_only: bool
    ) -> Confined | None:
        """Return how a command starts confined, None where nothing confines commands (`status` says why).

        With `read_only` it cannot write in the project. Raises OSError when the sandbox cannot be prepared.
        """
        status = await self.status()
        if status.tier == "none":
            return None
        is_read_only = read_only or status.mode == "read-only"
        messages = await self._bring_caches(argv, environ)
        access = await self._access(status.tier)
        confined = await asyncio.to_thread(
            self._confine, status.tier, argv, session_id, folder, environ, is_read_only, access
        )
        messages += await asyncio.to_thread(self.new_messages)
        return replace(confined, messages=messages) if messages else confined

    async def confine_helper(self, program: "Program") -> Launch | None:
        """Return how a program starts that helps with the project; None where nothing confines commands.

        It reads what a command reads, and writes only caches of tools, its temp folder and its `writable` folders. It has no
        network, whatever the settings are for commands, and its standard streams are its own. Raises OSError when the sandbox
        cannot be prepared.
        """
        status = await self.status()
        if status.tier == "none":
            return None
        await self._bring_caches(program.argv, program.environ)
        return await asyncio.to_thread(self._confine_helper, status.tier, program)

    async def changes(self, confined: Confined) -> list[Change]:
        """Return the protected files that differ from those before the command, which has ended, and that it could write."""
        if confined.access is not None:
            confined.access.close()
        return await asyncio.to_thread(self._compare, confined)

    async def remove(self, paths: Sequence[Path], *, keeps_copies: bool = False) -> dict[Path, str]:
        """Take changes that `changes` returned back: delete new files, restore others. Returns what failed, with the reasons.

        With `keeps_copies`, and where the change may be the user's, what would be lost is kept as `NAME.not-approved`.
        """
        chosen = [self._undoable.pop(path) for path in paths if path in self._undoable]
        left: dict[Path, str] = {}
        for key, group in groupby(chosen, lambda one: (one[0].is_mixed, id(one[1]))):
            found = list(group)
            changes = [change for change, _ in found]
            left |= await asyncio.to_thread(undo, changes, found[0][1], keeps_copies=keeps_copies or key[0])
        return left

    async def allows(self, host: str) -> bool:
        """Return whether confined commands may reach a host; without a way to limit them to hosts, they may not."""
        return HostList(await self._hosts()).allows(host) and not await self.no_hosts()

    def hides(self, path: str) -> bool:
        """Return whether the settings hide an absolute path from commands, there or not; Landlock cannot keep it from them."""
        named = self._settings.hidden or ()
        return folders.hides(named, self._home, self._project.worktree, self._project.origins, path)

    async def reaches(self, host: str) -> bool:
        """Return whether confined commands reach a host, with an empty one any."""
        return self._settings.network == "on" or (bool(host) and await self.allows(host))

    async def no_hosts(self) -> str:
        """Return why commands cannot be limited to single hosts here, in one line; empty where they can."""
        tier = (await self.status()).tier
        if tier == "landlock":
            return landlock.no_hosts()
        return "no sandbox works here" if tier == "none" else ""

    async def close(self) -> None:
        """End the connections of commands."""
        if self._proxy is not None:
            await self._proxy.close()
        if isinstance(self._proxy_address, Path):
            await asyncio.to_thread(delete_temp, self._paths, self._proxy_address.parent.name)

    async def _hosts(self) -> list[str]:
        settings = self._settings
        if settings.network == "on":
            return []
        hosts = list(settings.hosts or ()) if settings.network != "off" else []
        return [*hosts, *(await self._granted_hosts() if self._granted_hosts is not None else ())]

    async def _access(self, tier: Tier) -> "HostAccess | None":
        """Return a new access to the hosts that commands may reach, None without any. Raises OSError where that is not possible."""
        hosts = await self._hosts()
        if not hosts:
            return None
        if reason := await self.no_hosts():
            if self._settings.network == "hosts":
                raise OSError(f"experimental.sandbox.network is hosts, but {reason}, or set it to off")
            return None
        async with self._proxy_start:
            if self._proxy is None:
                self._proxy = await self._start_proxy(tier)
        if isinstance(self._proxy_address, Path):
            os.utime(self._proxy_address.parent)
        return self._proxy.access(hosts)

    async def _start_proxy(self, tier: Tier) -> "HostProxy":
        """Return the proxy, listening at a Unix socket or at a port of localhost."""
        if tier == "bubblewrap":
            bound = socket.socket(socket.AF_UNIX)
            self._proxy_address = ensure(temp_folder(self._paths, f"proxy-{token_hex(3)}")) / "socket"
            folder = os.open(self._proxy_address.parent, os.O_PATH)
            try:
                bound.bind(f"/proc/self/fd/{folder}/{self._proxy_address.name}")  # the path may be too long
            finally:
                os.close(folder)
            self._proxy_address.chmod(0o600)
        else:
            bound = socket.socket()
            bound.bind(("127.0.0.1", 0))
            self._proxy_address = bound.getsockname()[1]
        proxy = HostProxy()
        proxy.listen(bound)
        return proxy

    def _find_status(self) -> SandboxStatus:
        mode: Mode = self._settings.mode or "auto"
        if mode == "off":
            return SandboxStatus("none", "experimental.sandbox.mode is off", mode)
        found = choose(self._settings.tier or "auto", self._environ, self._paths.cache, self._project.worktree)
        if found.works and found.tier == "landlock" and (self._private or self._own_below(self._named("writable"))):
            reason = (
                "the project or a writable folder contains your home or other private folders, which Landlock cannot leave out; "
                "install bubblewrap"
            )
            return SandboxStatus("none", reason, mode)
        if not found.works:
            return SandboxStatus("none", found.reason, mode)
        project = () if mode == "read-only" else (self._project.worktree,)
        own = self._own_program(found.tier, (*project, *self._named("writable").values()), self._environ)
        spelling = _SPELLING if NAMES.is_ignoring(self._project.worktree) else ""
        return SandboxStatus(found.tier, found.reason, mode, found.shares_proc, found.is_flat, own.exposed, spelling)

    async def _bring_caches(self, argv: Sequence[str], environ: Mapping[str, str]) -> tuple[str, ...]:
        """Bring what is new in the user's caches of the tools that a command may start; returns lines about what is left out."""
        is_canceled = threading.Event()
        try:
            return await asyncio.to_thread(self._copy_caches, argv, environ, is_canceled.is_set)
        except asyncio.CancelledError:
            is_canceled.set()
            raise

    def _copy_caches(
        self, argv: Sequence[str], environ: Mapping[str, str], is_canceled: Callable[[], bool]
    ) -> tuple[str, ...]:
        with self._guard:
            caches = self._find_toolchains(environ).caches
        needed = caches.needed(argv, self._project.worktree)
        if not needed:
            return ()
        lines: list[str] = []
        with self._copying:
            for cache in needed:
                try:
                    lines += bring(cache, self._caches, TOOLS, is_stopped=is_canceled)
                except OSError as error:  # the command runs without what could not be brought
                    logger.warning("nothing is brought from %s: %s", cache.source, error)
        return tuple(lines)

    def _confine(
        self,
        tier: Tier,
        argv: Sequence[str],
        session_id: str,
        folder: Path,
        environ: Mapping[str, str],
        is_read_only: bool,
        access: "HostAccess | None",
    ) -> Confined:
        with self._guard:
            if not self._cleaner.ident:
                self._cleaner.start()
            files = self._project_files()
            files.refresh(limit_s=BEFORE_S)
            if (fault := self._find_gap(files)) and not self._names_what_to_hide():
                raise OSError(fault)
            self._remember(files)
            policy = self._policy(session_id, environ, files, is_read_only=is_read_only)
            if access is not None:
                port = self._proxy_address if isinstance(self._proxy_address, int) else RELAY_PORT
                variables = {**policy.environ, **access.variables(port)}
                policy = replace(policy, network="hosts", proxy=self._proxy_address, environ=variables)
            elif policy.network == "none" and (offline := self._find_toolchains(environ).caches.offline):
                policy = replace(policy, environ={**policy.environ, **offline})
            before = files.record()
        launch = plan_launch(tier, policy, argv, folder)
        if launch.mounts is not None:
            launch.mounts.accepts = partial(_is_harmless, before)
        return Confined(replace(launch, running=self._commands), tier, policy, before, access)

    def _confine_helper(self, tier: Tier, program: "Program") -> Launch:
        with self._guard:
            files = self._project_files()
            files.refresh(limit_s=BEFORE_S)
            policy = self._policy(self._name, program.environ, files, is_read_only=True)
        named = {*self._named("writable").values()}
        hidden = policy.hidden
        if tier == "landlock":
            # its rules are for the files of now: the program would not see those that are written later
            hidden = tuple(path for path in hidden if not path.is_relative_to(self._project.worktree))
        policy = replace(
            policy,
            read=(*policy.read, *named, *folders.program_folders(program.argv[0], self._around)),
            write=(*(path for path in policy.write if path not in named), *program.writable),
            hidden=hidden,
            network="none",
            environ={**policy.environ, "CARGO_TARGET_DIR": str(self._caches / TOOLS / "target")},
        )
        return plan_launch(tier, policy, program.argv, program.folder, is_held=False)

    def _policy(
        self, session_id: str, environ: Mapping[str, str], files: ProjectFiles, *, is_read_only: bool
    ) -> Policy:
        settings, tools = self._settings, self._find_toolchains(environ)
        git = self._git_access()
        project = (self._project.worktree, *git.write)
        readable, writable = self._named("readable"), self._named("writable")
        private = [path for path in (*self._private, *self._own_below(readable | writable)) if path.exists()]
        reachable = (*tools.read, *readable.values(), *writable.values())
        private += [path for path in self._find_origin() if any(path.is_relative_to(one) for one in reachable)]
        named = (*readable.values(), *writable.values())
        private += [path for path in tools.secrets if not any(one.is_relative_to(path) for one in named)]
        temp = temp_folder(self._paths, session_id)
        with own_folder(ensure(temp.parent), temp.name, []):  # also gets back the rights that a command removed
            pass
        os.utime(temp)
        names = [environ.get("HOME", ""), environ.get("VIRTUAL_ENV", ""), *environ.get("PATH", "").split(os.pathsep)]
        link_in_temp(temp, [*names, *map(str, (*readable, *writable))])
        write = (*(() if is_read_only else project), *tools.caches.write, *writable.values())
        own = self._own_program("none" if self._status is None else self._status.tier, write, environ)
        read = (
            *tools.read,
            *readable.values(),
            *self._existing_readable(),
            *git.read,
            *(project if is_read_only else ()),
        )
        protected = () if is_read_only else (*filter(git.may_write, files.protected()), *git.read_only)
        hidden = (*files.secret(), *self._named("hidden").values(), *private)
        closed = close_spellings(NAMES, hidden=hidden, read_only=(*own.read_only, *protected), read=read, write=write)
        self._say_open(closed.still_open, (*hidden, *own.read_only))
        return Policy(
            read=closed.read,
            write=write,
            read_only=(*protected, *own.read_only),
            hidden=(*hidden, *closed.hidden),
            temp=temp,
            network="full" if settings.network == "on" else "none",
            environ=tools.confined,
            links=tuple(path for path, real in (*readable.items(), *writable.items()) if real != path),
            shares_proc=self._status is not None and self._status.shares_proc,
            has_shared_memory=not any(one.is_relative_to(_SHARED_MEMORY) for one in (self._home, *self._around.own)),
            is_flat=self._status is not None and self._status.is_flat,
        )

    def _say_open(self, still_open: Sequence[Path], serious: Sequence[Path]) -> None:
        """Keep a line for the user about what commands can reach by another spelling of its name."""
        named = [path for path in still_open if path in serious]
        if named and self._status is not None and self._status.tier == "bubblewrap":
            shown = ", ".join(os.path.relpath(path, self._project.worktree) for path in named[:_MOST_NAMED])
            more = f" and {len(named) - _MOST_NAMED} more" if named[_MOST_NAMED:] else ""
            self._left_out.setdefault(
                f"This disk ignores the case of names, and not all spellings can be closed of {shown}{more}: a command can "
                "reach them by another one. Keep the project on a disk that tells them apart.",
                True,
            )

    def _own_program(self, tier: Tier, write: Sequence[Path], environ: Mapping[str, str]) -> OwnProgram:
        """Return what of this program commands must not change although it lies in what they may write. Blocks for some lookups."""
        project = self._project.worktree
        named = self._named("writable").values()
        broad = [*named, *([project] if self._home.is_relative_to(project) else ())]
        key = (tier, tuple(write), tuple(broad), environ.get("PATH", ""))
        if self._own_known is None or self._own_known[0] != key or time.monotonic() >= self._own_known[1]:
            found = protect(find_installation(), tier, write, project=project, broad=broad, environ=environ)
            self._own_known = key, time.monotonic() + _TOOLCHAIN_KEEP_S, found
        return self._own_known[2]

    def _git_access(self) -> "_GitAccess":
        """Return how the git folder outside the project may be used.

        The task of a batch can commit, but not change branches, the stash, packs or the index of the repository that it came from.
        """
        repository = self._project.repository
        if not self._git or repository is None or not is_task_worktree(self._paths, self._project.worktree):
            return _GitAccess(write=self._git)
        own, objects = repository.git_dir, repository.common_dir / "objects"
        fixed = (own / "commondir", own / "gitdir", objects / "info", objects / "pack")
        return _GitAccess(self._git, (own, objects), tuple(path for path in fixed if path.exists()))

    def _find_origin(self) -> tuple[Path, ...]:
        """Return the folders of the repository that a batch task's clone was made from: it has what the task must not see."""
        worktree, own = self._project.worktree, self._project.repository
        if own is None or own.common_dir != worktree / ".git":
            return ()
        origin = task_origin(self._paths, worktree, is_secret=True)
        repository = None if origin is None else find_repository(Path(origin))
        return () if repository is None else (repository.main_worktree, repository.common_dir, repository.worktree)

    def _named(self, setting: Literal["readable", "writable", "hidden"]) -> dict[Path, Path]:
        """Return the existing paths of a setting with their real paths."""
        written: list[str] = getattr(self._settings, setting) or []
        origins = self._project.origins if setting == "hidden" else ()
        found = folders.find_named(written, self._home, self._project.worktree, origins)
        if setting == "hidden":
            stored = (Path(os.path.realpath(path)) for path in found)
            return dict(zip(found, (NAMES.stored(path, self._project.worktree) for path in stored), strict=True))
        writable = {} if setting == "writable" else self._named("writable")
        if setting == "writable":
            writable = {path: self._around.follow(path).real for path in found}
        named: dict[Path, Path] = {}
        for path in found:
            lead = self._around.follow(path, [real for one, real in writable.items() if one != path])
            if not lead.is_led_out:
                named[path] = lead.real
                continue
            line = (
                f"{path} of experimental.sandbox.{setting} has no effect: it leads to {lead.real}, and a command may have "
                "led it there. Name that folder itself if you mean it."
            )
            self._left_out.setdefault(line, True)
        return named

    def new_messages(self) -> tuple[str, ...]:
        """Return the lines about what the settings or the size of the project leave without effect, each once. Blocks."""
        with self._guard:
            if fault := self._find_gap(self._project_files()):
                self._left_out.setdefault(f"{fault[0].upper()}{fault[1:]}.", True)
            lines = tuple(line for line, is_new in self._left_out.items() if is_new)
            self._left_out.update(dict.fromkeys(lines, False))
        return lines

    def _own_below(self, named: Mapping[Path, Path]) -> list[Path]:
        """Return our folders that paths of a setting contain."""
        return [one for one in self._around.own if any(one.is_relative_to(path) for path in named.values())]

    def _existing_readable(self) -> list[Path]:
        """Return the real paths of the folders that exist by now, outside the project, without those that contain private ones."""
        real = [self._around.find(path) for path in self._known.readable]
        private = [self._home, *self._around.private()]
        return [
            path
            for path in real
            if path is not None
            and not path.is_relative_to(self._project.worktree)
            and not any(one.is_relative_to(path) for one in private)
        ]

    def _project_files(self) -> ProjectFiles:
        if self._files is None:
            self._git = folders.git_folder(self._project.repository, self._project.worktree)
            self._files = ProjectFiles(
                self._project.worktree,
                git_folder=next(iter(self._git), None),
                more=self._known.protected,
                remembered=self._read_remembered(),
            )
        return self._files

    @staticmethod
    def _find_gap(files: ProjectFiles) -> str:
        """Return what of the project was not examined, and the remedy, in one line; empty where all was."""
        return _MANY_FOLDERS if not files.is_complete else "" if files.is_recorded else _MANY_FILES

    def _names_what_to_hide(self) -> bool:
        """Return whether the settings hide files wherever they are: then the user knows that not all are found."""
        return any(name.startswith("**/") for name in self._settings.hidden or ())

    @property
    def _memory(self) -> Path:
        """The file with the folders in which something counts, where no command can write it."""
        return self._paths.data / "sandbox" / self._name

    def _read_remembered(self) -> tuple[str, ...]:
        """Return what an earlier process stored. Raises OSError where that cannot be read: no command may run without it."""
        try:
            names = self._memory.read_bytes().split(b"\0")
        except FileNotFoundError:  # no command has run here yet
            return ()
        self._remembered = tuple(os.path.normpath(self._project.worktree / os.fsdecode(name)) for name in names)
        return self._remembered

    def _remember(self, files: ProjectFiles) -> None:
        """Store the folders in which something counts: a later process finds them, however many others there are then."""
        found = tuple(files.folders_of_interest())
        if found == self._remembered:
            return
        data = b"\0".join(os.fsencode(os.path.relpath(path, self._project.worktree)) for path in found)
        ensure(self._memory.parent)
        AtomicWriter(FileSystem()).write(str(self._memory), data)
        self._remembered = found

    def _find_toolchains(self, environ: Mapping[str, str]) -> _Toolchains:
        """Return what was found for the same environment in the last minute, else search."""
        kept = self._toolchains
        is_current = kept is not None and kept.environ == environ and time.monotonic() < kept.until
        if kept is not None and is_current and (self._caches / TOOLS).is_dir():
            return kept
        caches = find_caches(environ, self._around, self._caches, self._named("writable").values())
        os.utime(self._caches)
        read = folders.toolchain_folders(environ, self._around)
        self._toolchains = _Toolchains(
            environ=dict(environ),
            until=time.monotonic() + _TOOLCHAIN_KEEP_S,
            read=(*folders.system_folders(), *read, *caches.read),
            caches=caches,
            secrets=tool_secrets(self._home, (*read, *caches.write)),
            confined=self._secrets.confined(environ, caches.environ),
        )
        return self._toolchains

    def _compare(self, confined: Confined) -> list[Change]:
        with self._guard:
            files = self._project_files()
            files.refresh()
            self._remember(files)
            after = files.record()
            found = compare(confined.before, after)
            git = self._git_access()
            found = [one for one in found if git.may_write(one.path)]
        hidden, read_only = confined.policy.hidden, confined.policy.read_only
        mounts = confined.launch.mounts
        # What the command could not reach or write to the end was changed by others: this program, or the user with `git push -u`.
        fixed = hidden if mounts is None else [path for path in (*hidden, *read_only) if mounts.holds(path)]
        fixed = [path for path in fixed if not NAMES.ignores_spelling(str(path.parent), path.name)]
        changes = [one for one in found if not any(one.path.is_relative_to(path) for path in fixed)]
        if mounts is not None:
            changes = [_mixed(one, read_only) for one in changes if not _is_tracking(one, confined.before, after)]
        self._undoable.update({change.path: (change, confined.before) for change in changes})
        return changes


def _mixed(change: Change, read_only: Sequence[Path]) -> Change:
    """Return the change of a path that was read-only at first, marked as one that the user may have made."""
    return replace(change, is_mixed=any(change.path.is_relative_to(path) for path in read_only))


def _is_harmless(before: ProtectedState, path: str, content: bytes | None) -> bool:
    """Return whether a protected file has its former content, or is git's settings and differs only in what branches track."""
    old = before.contents.get(path)
    if old is None or content is None:
        return False
    return old == content or (os.path.basename(path) == "config" and same_but_tracking(old, content))


def _is_tracking(change: Change, before: ProtectedState, after: ProtectedState) -> bool:
    """Return whether a file has another content, which is harmless."""
    path = str(change.path)
    return before.contents.get(path) != after.contents.get(path) and _is_harmless(
        before, path, after.contents.get(path)
    )
