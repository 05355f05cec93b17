"""The only module that starts git. The repository may be hostile: no program that its settings name runs, and no link leads out.

By default git is **confined** (`git_reach.py`): it has no network, and sees the system, the work tree, the git folder and what its
caller names, so that a link that a command has put there, or puts there in the meantime, leads nowhere. It gets none of the user's
variables but those for its own work, and the user's settings without credentials.

**On the host** git runs for what the user asked for (`run_for_user`: a commit or a push with the user's hooks, keys and network),
and where nothing confines it. Before that, the git folder is looked through (`git_entries.py`): with a link, a pipe or the like in
it git does not start, and the error names the entry. In a folder that no command may write (`is_private`) neither is needed.

What git writes to its standard error is never shown: it quotes lines of files (`git_causes.py`).

Hooks, file-system monitors, pagers, external diffs, checks of signatures, transports, lazy fetches and prompts are off, and
content filters too with the variables of `without_filters`; only `run_for_user` lets them run, for a commit or a push that the
user asked for. It enters no nested repository: no changed submodule, and no folder that looks like a bare one. Git does not
inherit the `GIT_*` variables of this process, and reading takes no lock. No setting hides new files or gives a patch another
form. Git runs in its own session without a terminal for prompts, and its children end with it. Git ends with this process, even
if the thread that waits for it is left behind.

Git is never one that a confined command could have put there (`opencode_tui/programs.py`). GitPython starts the
processes on the host; the first such command imports it, on its thread, and lets it run that git alone.
"""

import asyncio
import atexit
import importlib
import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, Literal, cast

from msgspec import Struct
from msgspec.structs import replace

from opencode_tui.cancellation import run_to_completion
from opencode_tui.engine.project.git_causes import explain
from opencode_tui.engine.project.git_entries import find_awaited, find_oversized, is_only_read, look_through
from opencode_tui.engine.project.git_reach import GitReach, GitStart, find_reach, present_confinement
from opencode_tui.engine.project.repository import Repository
from opencode_tui.programs import find_program, safe_environ
from opencode_tui.schema.error import GitMissingError, GitUnavailableError
from opencode_tui.schema.system_error import cause_of

if TYPE_CHECKING:
    from git import Git

TIMEOUT_S = 30.0
"""Seconds that a command of git has; then it is killed, and its caller continues without what it would have said."""

_LOOK_S = 1.0
"""Seconds after which it is looked for a file that git waits for."""

VERSION_S = 5.0
OUTPUT_BYTES = 128 * 1024 * 1024
"""Maximum output of one command in bytes; a longer one fails."""

_HOOKS_OFF = ("-c", f"core.hooksPath={os.devnull}")
_OPTIONS = (
    "--no-pager",
    *("-c", "apply.ignoreWhitespace=no"),
    *("-c", "apply.whitespace=nowarn"),
    *("-c", "core.fsmonitor=false"),
    *("-c", "core.splitIndex=false"),  # a part of an index elsewhere would be in the user's git folder
    *("-c", "diff.suppressBlankEmpty=false"),
    *("-c", "log.showSignature=false"),  # a check starts the program of `gpg.program`
    *("-c", "protocol.allow=never"),
    *("-c", "safe.bareRepository=explicit"),
    *("-c", "status.showUntrackedFiles=normal"),  # `worktree remove` deletes what `status` does not show
    *("-c", "submodule.recurse=false"),
)
_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_USER_OPTIONS = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),  # what answers at its socket may be a command
    *("-c", "core.splitIndex=false"),
    *("-c", "submodule.recurse=false"),
)
_OPTIONS_OF = {
    "normal": (*_OPTIONS, *_HOOKS_OFF),
    "strict": (*_OPTIONS, *_HOOKS_OFF),
    "settings": _OPTIONS,
    "user": _USER_OPTIONS,
}
"""The options of each way to start git (`_Job`)."""

_USER_VARIABLES = {"GIT_TERMINAL_PROMPT": "0", "GIT_EDITOR": "true", "GIT_SEQUENCE_EDITOR": "true"}
_USER_SETTINGS = ("GIT_AUTHOR_", "GIT_COMMITTER_", "GIT_SSH", "GIT_ASKPASS", "GIT_CONFIG_")
"""The starts of the names of variables by which the user sets git up; the others say where a repository is."""
_NOT_FOR_USER = ("GPG_TTY",)
"""A program that asks for a passphrase would draw over the screen."""

_HARMLESS_VARIABLES = frozenset({
    "EMAIL", "HOME", "LANG", "LANGUAGE", "LD_LIBRARY_PATH", "LOGNAME", "PATH", "TZ", "USER", "XDG_CONFIG_HOME",
})  # fmt: skip
"""What git has of the user's variables: a command may lead it to the file in which the kernel shows them."""

_NAME_IT = "delete it, or if it is yours, name the folder that it leads to in experimental.sandbox.writable"

_VERB_OPTIONS = {
    "diff": ("--no-ext-diff", "--no-textconv", "--submodule=short", "--ignore-submodules=dirty"),
    "status": ("--ignore-submodules=dirty",),
}
"""Git would look into changed submodules with the settings of these, whose filters are not off."""

_WITHOUT_HOOKS = frozenset({
    "--version", "archive", "cat-file", "check-attr", "check-ref-format", "config", "diff", "diff-tree", "for-each-ref",
    "hash-object", "log", "ls-files", "ls-tree", "merge-base", "merge-file", "remote", "rev-list", "rev-parse", "status", "var",
})  # fmt: skip
"""The commands that run no hook: they write neither an index nor a branch."""

_WITHOUT_REPOSITORY = frozenset({"--version", "check-ref-format"})
"""The commands that read nothing but their arguments."""

_LISTING = ("config", "--null", "--name-only", "--get-regexp")
_HOOKS = r"^hook\..*\.event$"
_FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"
_VERSION = re.compile(r"git version [\w.() +-]{1,60}")
_NO_MATCH = 1
_ERROR_BYTES = 64 * 1024
_CHUNK_BYTES = 64 * 1024
_CHECK_S = 0.02
_TERM_S = 0.1
_CLOSE_S = 1.0

_answered: set[str] = set()
"""Paths of git commands that have printed their version in time; a hanging one costs `VERSION_S` instead of `TIMEOUT_S`."""

_GITPYTHON = ("GIT_PYTHON_GIT_EXECUTABLE", "GIT_PYTHON_REFRESH")
"""Which git GitPython runs, and whether its import fails where that git does not run."""

_loading = threading.Lock()

_running: "set[subprocess.Popen[bytes]]" = set()
"""Processes for whose end a thread waits. The end of this process does not wait for these threads."""


class SafeGit:
    """Runs git in one folder. Methods raise GitMissingError without a git command, GitUnavailableError with git's message."""

    def __init__(
        self,
        folder: Path,
        *,
        environ: Mapping[str, str],
        repository: Repository | None = None,
        is_private: bool = False,
    ) -> None:
        """`repository` is that of the folder, where it was found before a command could lead it elsewhere.

        With `is_private` no command may write the folder, nor what git reads in it: then git runs on the host.
        """
        self.folder = folder
        self._repository = repository
        self._is_private = is_private
        plain = {name: value for name, value in environ.items() if not name.startswith("GIT_")}
        own = {name: value for name, value in environ.items() if name.startswith(_USER_SETTINGS)}
        self._environ = plain | _VARIABLES
        self._of_user = {name: value for name, value in plain.items() if name not in _NOT_FOR_USER} | own

    async def run(
        self,
        *arguments: str,
        folder: Path | None = None,
        more: Mapping[str, str] | None = None,
        timeout_s: float = TIMEOUT_S,
        read: Sequence[Path] = (),
        write: Sequence[Path] = (),
    ) -> str:
        """Return git's output, with surrogates for names that are not UTF-8; cancellation stops git first.

        `more` are additional variables. Git reads and writes the repository of the folder, what these variables name, and the
        folders of `read` and `write`.
        """
        where = folder or self.folder
        job = _Job(arguments, where, more or {}, read=read, write=write)
        return _output(arguments, where, await self._answer(job, timeout_s))

    async def run_for_user(
        self, *arguments: str, more: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S
    ) -> "GitAnswer":
        """Return how a command ended that the user asked for: hooks, filters, transports and signatures work as in a terminal.

        Nothing can ask in it: it has no terminal and no editor. Its ways of ending are no errors, except a timeout. Raises
        GitUnavailableError where the git folder has what git must not meet.
        """
        answer = await self._answer(_Job(arguments, self.folder, more or {}, way="user"), timeout_s)
        texts = [text for one in (answer.output, answer.error) if (text := one.decode("utf-8", "replace").strip("\n"))]
        return GitAnswer("\n".join(texts), answer.code)

    async def refuse_entries(self) -> None:
        """Raise GitUnavailableError where the git folder has what git on the host must not meet."""
        await asyncio.to_thread(self._refuse_entries)

    def _refuse_entries(self) -> None:
        _refuse_entries(self.folder, find_reach(self.folder, {}, known=self._repository), is_confined=False)

    async def read_settings(self, *arguments: str, more: Mapping[str, str] | None = None) -> str:
        """Return what `config` or `rev-parse` print with the user's and the repository's settings alone; none where they fail."""
        answer = await self._answer(_Job(arguments, self.folder, more or {}, way="settings"), TIMEOUT_S)
        return "" if answer.code else answer.output.decode("utf-8", "surrogateescape")

    def run_blocking(self, *arguments: str, more: Mapping[str, str] | None = None, timeout_s: float = TIMEOUT_S) -> str:
        """Return what `run` returns, on the calling thread; blocks until the timeout at most."""
        answer = self._start(_Job(arguments, self.folder, more or {})).wait(timeout_s)
        return _output(arguments, self.folder, answer)

    def run_strictly(
        self,
        arguments: Sequence[str],
        settings: Mapping[str, str],
        more: Mapping[str, str],
        descriptors: Sequence[int],
        stop: threading.Event,
    ) -> str:
        """Return what `run_blocking` returns; an error that git prints and continues after counts, too, as GitUnavailableError.

        `settings` come before those of the user and the repository. Git inherits the descriptors; `stop` ends it within 200 ms.
        """
        options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
        job = _Job(arguments, self.folder, more, options=options, descriptors=descriptors, way="strict")
        process = self._start(job, stop)
        answer = process.wait(TIMEOUT_S, stop)
        if answer.error:
            raise GitUnavailableError(f"git {arguments[0]} in {self.folder}: {explain(answer.error, answer.code)}")
        return _output(arguments, self.folder, answer)

    async def without_filters(self, repository: Repository) -> Mapping[str, str]:
        """Return the environment variables for commands that read file contents of a work tree.

        They disable every filter in the repository's settings and override `core.worktree`.
        """
        paths = {"GIT_DIR": str(repository.git_dir), "GIT_WORK_TREE": str(repository.worktree)}
        answer = await self._answer(_Job((*_LISTING, _FILTERS), self.folder, paths), TIMEOUT_S)
        names = _listed(_LISTING, self.folder, answer)
        return with_settings(paths, {name: "false" if name.endswith(".required") else "" for name in names})

    async def _answer(self, job: "_Job", timeout_s: float) -> "_Answer":
        stop = threading.Event()

        def work() -> _Answer:
            return self._start(job, stop).wait(timeout_s, stop)

        return await run_to_completion(asyncio.to_thread(work), stop=stop)

    def _start(self, job: "_Job", stop: threading.Event | None = None) -> "_Process":
        """Return git, started: confined where it is not for the user and something confines it. To be waited for on this thread."""
        verb, *rest = job.arguments
        more = job.more
        if job.way != "user" and verb not in _WITHOUT_HOOKS:
            more = with_settings(more, self._hooks_off(job, stop))
        usual = self._of_user | _USER_VARIABLES if job.way == "user" else self._environ
        variables = safe_environ({**usual, **more}, self.folder)
        program = find_program("git", variables, self.folder)
        if program is None:
            raise _missing(job.folder)
        if program not in _answered:
            _check_that_it_answers(program, variables, stop)
            _answered.add(program)
        first = _OPTIONS_OF[job.way]
        command = [program, *first, *job.options, "-C", str(job.folder), verb, *_VERB_OPTIONS.get(verb, ()), *rest]
        name = f"git {verb} in {job.folder}"
        trees: Sequence[Path] = ()
        if not self._is_private and job.way != "strict" and verb not in _WITHOUT_REPOSITORY:
            reach = find_reach(job.folder, more, known=self._repository, read=job.read, write=job.write)
            if job.way != "user":
                variables = {one: value for one, value in variables.items() if _is_harmless(one)}
            trees = [one for one in reach.write if one not in reach.git_folders]
            confined = _confined(command, job, variables, reach)
            _refuse_entries(job.folder, reach, is_confined=confined is not None)
            if confined is not None:
                return _Process(_spawn(confined, job.folder), name=name, trees=trees)
        _load_gitpython(program, job.folder)
        import git  # 0.1 s; loaded now

        try:
            started = git.Git(job.folder).execute(
                [*self._without_inherited(variables), *command],
                as_process=True,
                env=variables,
                start_new_session=True,
                pass_fds=tuple(job.descriptors),
            )
        except git.GitCommandNotFound as error:
            raise _missing(job.folder) from error
        except OSError as error:
            raise _cannot_run(job.folder, error) from error
        process = cast("subprocess.Popen[bytes] | None", started.proc)
        assert process is not None  # GitPython has just started it
        return _Process(process, name=name, holder=started, trees=trees)

    def _hooks_off(self, job: "_Job", stop: threading.Event | None) -> Mapping[str, str]:
        """Return settings by which no hook that the settings define has an event. Blocks.

        Since version 2.54 git also runs the commands of `hook.NAME.command`, whatever `core.hooksPath` says. An empty event takes a
        hook all its events. Source: git-config(1), 2.54.0, `hook.<friendly-name>.event`.
        """
        listing = replace(job, arguments=(*_LISTING, _HOOKS), way="normal" if job.way == "settings" else job.way)
        answer = self._start(replace(listing, options=(), descriptors=()), stop).wait(TIMEOUT_S, stop)
        return dict.fromkeys(_listed(job.arguments, job.folder, answer), "")

    def _without_inherited(self, variables: Mapping[str, str]) -> list[str]:
        """Return the command prefix that unsets the `GIT_*` variables of this process; GitPython can only add variables.

        Where there is no `env`, the variables remain.
        """
        inherited = sorted(name for name in os.environ if name.startswith("GIT_") and name not in variables)
        program = find_program("env", variables, self.folder) if inherited else None
        return [] if program is None else [program, *(word for name in inherited for word in ("-u", name))]


def list_root_commits(folder: Path, *, environ: Mapping[str, str], git_dir: Path | None = None) -> list[str]:
    """Return the hashes of all root commits that a ref reaches, in git's order; blocks up to 30 s.

    Git refuses a folder that another user owns unless the git folder is given. Raises GitUnavailableError.
    """
    more = {"GIT_DIR": str(git_dir)} if git_dir else {}
    return SafeGit(folder, environ=environ).run_blocking("rev-list", "--max-parents=0", "--all", more=more).split()


def git_version(folder: Path, environ: Mapping[str, str]) -> str:
    """Return what `git --version` prints, of the git that works in a folder; blocks. Raises GitUnavailableError."""
    said = SafeGit(folder, environ=environ).run_blocking("--version", timeout_s=VERSION_S).strip()
    if not _VERSION.fullmatch(said):
        raise GitUnavailableError(f"git --version in {folder} printed no version; check which git is first on PATH")
    return said


def with_settings(variables: Mapping[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    """Return variables for git with further settings; these count before all others of the same name."""
    first = int(variables.get("GIT_CONFIG_COUNT", "0"))
    changed = {**variables, "GIT_CONFIG_COUNT": str(first + len(settings))}
    for number, (name, value) in enumerate(settings.items(), first):
        changed[f"GIT_CONFIG_KEY_{number}"] = name
        changed[f"GIT_CONFIG_VALUE_{number}"] = value
    return changed


class _Job(Struct, frozen=True):
    """A command of git to start; `way` is what it is for: to read the user's settings, for the user, or to be taken at its word."""

    arguments: Sequence[str]
    folder: Path
    more: Mapping[str, str]
    way: Literal["normal", "settings", "user", "strict"] = "normal"
    options: Sequence[str] = ()
    descriptors: Sequence[int] = ()
    read: Sequence[Path] = ()
    write: Sequence[Path] = ()


class GitAnswer(Struct, frozen=True):
    """What git printed, with what its hooks and the other side printed, not made safe, and its exit code."""

    text: str
    code: int


class _Answer(Struct, frozen=True):
    output: bytes
    error: bytes
    code: int


class _Process:
    """A running git process with a thread for each pipe."""

    def __init__(
        self,
        process: "subprocess.Popen[bytes]",
        *,
        name: str,
        holder: "Git.AutoInterrupt | None" = None,
        trees: Sequence[Path] = (),
    ) -> None:
        """`holder` ends git when it is garbage-collected. In the folders `trees` it may meet what it waits for."""
        self._trees = trees
        self._holder = holder
        self._process = process
        self._name = name
        _running.add(self._process)
        self._output = _Reader(self._process.stdout, OUTPUT_BYTES)
        self._error = _Reader(self._process.stderr, _ERROR_BYTES, may_drop=True)

    def wait(self, timeout_s: float, stop: threading.Event | None = None) -> _Answer:
        """Return the output when git has exited; `stop` ends it within 200 ms.

        Raises GitUnavailableError after the timeout, a stop or too much output.
        """
        try:
            problem = self._read_all(timeout_s, stop)
        finally:
            self._end()
        if problem:
            raise GitUnavailableError(f"{self._name} {problem}")
        return _Answer(bytes(self._output.data), bytes(self._error.data), self._process.returncode)

    def _read_all(self, timeout_s: float, stop: threading.Event | None) -> str | None:
        """Return None when git has closed its pipes, else the reason to stop it."""
        deadline, look_at = time.monotonic() + timeout_s, time.monotonic() + _LOOK_S
        for reader in (self._output, self._error):
            while reader.is_alive():
                reader.join(_CHECK_S)
                if stop is not None and stop.is_set():
                    return "was stopped"
                if time.monotonic() >= look_at:
                    look_at = deadline
                    if awaited := self._find_awaited(deadline, stop):
                        return f"waits for {awaited}; delete it"
                if time.monotonic() >= deadline:
                    return f"took longer than {timeout_s:g} s"
        return f"printed more than {OUTPUT_BYTES >> 20} MiB" if self._output.is_cut else None

    def _find_awaited(self, deadline: float, stop: threading.Event | None) -> str | None:
        """Return the first pipe or device that git reads in a work tree, in words; None where there is none."""

        def is_over() -> bool:
            return (
                self._process.poll() is not None or time.monotonic() >= deadline or (stop is not None and stop.is_set())
            )

        found = (find_awaited(tree, is_over) for tree in self._trees)
        return next((f"{one.path}, which is {one.what}" for one in found if one is not None), None)

    def _end(self) -> None:
        """Wait for git to exit after it closed its pipes; kill it with its children if it is still running."""
        is_busy = self._output.is_alive() or self._error.is_alive()
        if not self._has_ended(0 if is_busy else _CLOSE_S):
            _signal(self._process, signal.SIGTERM)  # git removes its lock files
            if not self._has_ended(_TERM_S):
                _signal(self._process, signal.SIGKILL)
        self._process.wait()
        _running.discard(self._process)
        for reader in (self._output, self._error):
            reader.join(_CLOSE_S)

    def _has_ended(self, limit_s: float) -> bool:
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(limit_s)
        return self._process.poll() is not None


class _Reader(threading.Thread):
    """Reads a pipe to its end. Beyond the limit it stops, or discards the rest."""

    def __init__(self, pipe: IO[bytes] | None, limit: int, *, may_drop: bool = False) -> None:
        super().__init__(name="git-output", daemon=True)
        assert pipe is not None  # both are opened
        self._pipe = pipe
        self._limit = limit
        self._may_drop = may_drop
        self.data = bytearray()
        self.is_cut = False
        self.start()

    def run(self) -> None:
        """Read the pipe; `join` waits for the end."""
        with self._pipe:
            while chunk := os.read(self._pipe.fileno(), _CHUNK_BYTES):
                room = self._limit - len(self.data)
                self.data += chunk[:room]
                if len(chunk) > room and not self._may_drop:
                    self.is_cut = True
                    return


def _load_gitpython(program: str, folder: Path) -> None:
    """Import GitPython, if it is not yet. It runs `git version` then: this git, not the first one on PATH. Blocks.

    Raises GitUnavailableError where it cannot be imported.
    """
    with _loading:
        if "git" in sys.modules:
            return
        before = {name: os.environ.get(name) for name in _GITPYTHON}
        os.environ.update(zip(_GITPYTHON, (program, "quiet"), strict=True))
        try:
            importlib.import_module("git")
        except ImportError as error:
            raise GitUnavailableError(f"cannot run git in {folder}: {error}; check {program}") from error
        finally:
            for name, value in before.items():
                if value is None:
                    del os.environ[name]
                else:
                    os.environ[name] = value


def _check_that_it_answers(program: str, variables: Mapping[str, str], stop: threading.Event | None) -> None:
    """Raise GitUnavailableError unless a git says its version within `VERSION_S` and before `stop`."""
    nothing = subprocess.DEVNULL
    words = [program, "version"]
    try:
        process = subprocess.Popen(
            words, stdin=nothing, stdout=nothing, stderr=nothing, env=variables, start_new_session=True
        )
    except OSError as error:
        raise GitUnavailableError(f"{program} cannot be started: {cause_of(error)}") from error
    _running.add(process)
    deadline = time.monotonic() + VERSION_S
    try:
        while process.poll() is None:
            if stop is not None and stop.is_set():
                raise GitUnavailableError(f"{program} version was stopped")
            if time.monotonic() >= deadline:
                raise GitUnavailableError(f"{program} version took longer than {VERSION_S:g} s; check that git")
            with suppress(subprocess.TimeoutExpired):
                process.wait(_CHECK_S)
    finally:
        _signal(process, signal.SIGKILL)
        process.wait()
        _running.discard(process)


def _signal(process: "subprocess.Popen[bytes]", number: signal.Signals) -> None:
    """Send a signal to a process that runs, and to its children."""
    if process.poll() is None:
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(process.pid, number)


@atexit.register
def _end_all() -> None:
    """End what runs when this process ends; blocks up to 200 ms."""
    for number in (signal.SIGTERM, signal.SIGKILL):  # by the first one git removes its lock files
        for process in list(_running):
            _signal(process, number)
        deadline = time.monotonic() + _TERM_S
        while time.monotonic() < deadline and any(process.poll() is None for process in list(_running)):
            time.sleep(_CHECK_S)


def _missing(folder: Path) -> GitMissingError:
    return GitMissingError(f"cannot run git in {folder}: git not found; install git")


def _cannot_run(folder: Path, error: OSError) -> GitUnavailableError:
    return GitUnavailableError(f"cannot run git in {folder}: {cause_of(error)}; try again")


def _is_harmless(name: str) -> bool:
    """Return whether git may have a variable of the user where a command may make it read its own variables."""
    return name in _HARMLESS_VARIABLES or name.startswith(("GIT_", "LC_"))


def _confined(command: Sequence[str], job: _Job, variables: Mapping[str, str], reach: GitReach) -> GitStart | None:
    if job.way == "user":
        return None
    try:
        return present_confinement().confine(command, job.folder, variables, reach)
    except OSError as error:
        raise _cannot_run(job.folder, error) from error


def _refuse_entries(folder: Path, reach: GitReach, *, is_confined: bool) -> None:
    """Raise GitUnavailableError where a git folder has what would let git wait, or on the host, lead it elsewhere. Blocks."""
    for git_folder in reach.git_folders:
        if (large := find_oversized(git_folder)) is not None:
            raise GitUnavailableError(
                f"git was not started in {folder}, because {large.path} is {large.what}; check it"
            )
        for entry in look_through(git_folder):
            if is_confined and not entry.lets_wait:
                continue
            if entry.is_link and (is_only_read(entry, git_folder) or present_confinement().follows(entry.path, folder)):
                continue
            raise GitUnavailableError(
                f"git was not started in {folder}, because {entry.path} is {entry.what}, which a command may have left there; "
                + (_NAME_IT if entry.is_link else "delete it, or give it a name of its own")
            )


def _spawn(start: GitStart, folder: Path) -> "subprocess.Popen[bytes]":
    """Start a confined git. A way that confines the thread needs one that ends with it. Raises GitUnavailableError."""
    made: list[subprocess.Popen[bytes] | OSError] = []

    def run() -> None:
        try:
            if start.enter is not None:
                start.enter()
            made.append(
                subprocess.Popen(
                    start.argv,
                    cwd="/",
                    env=start.environ,
                    stdin=subprocess.DEVNULL,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    start_new_session=True,
                )
            )
        except OSError as error:
            made.append(error)

    if start.enter is None:
        run()
    else:
        thread = threading.Thread(target=run, name="git-start")
        thread.start()
        thread.join()
    if isinstance(made[0], OSError):
        raise _cannot_run(folder, made[0]) from made[0]
    return made[0]


def _output(arguments: Sequence[str], folder: Path, answer: _Answer) -> str:
    if answer.code != 0:
        reason = explain(answer.error, answer.code)
        raise GitUnavailableError(f"git {arguments[0]} failed in {folder}: {reason}")
    return answer.output.decode("utf-8", "surrogateescape")


def _listed(arguments: Sequence[str], folder: Path, answer: _Answer) -> list[str]:
    """Return the names that `_LISTING` printed for a command; none where git found none."""
    output = "" if answer.code == _NO_MATCH else _output(arguments, folder, answer)
    return sorted({name for name in output.split("\0") if name})
