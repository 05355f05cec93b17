"""Runs git in a repository that may be hostile: nothing that its settings name can start from here.

No hook, no file-system monitor, no transport, no lazy fetch, no filter of contents, no outside diff; no `GIT_*` variable of the
person's shell reaches git, and no lock of theirs is taken for a look.
"""

import asyncio
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from opencode_tui.engine.project.repository import Repository
from opencode_tui.schema.error import GitUnavailableError

SAFE_OPTIONS = (
    "--no-pager",
    *("-c", "core.fsmonitor=false"),
    *("-c", f"core.hooksPath={os.devnull}"),
    *("-c", "protocol.allow=never"),
)
SAFE_VARIABLES = {
    "GIT_ALLOW_PROTOCOL": "",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_TERMINAL_PROMPT": "0",
    "LC_ALL": "C",
}
_FILTERS = r"^filter\..*\.(clean|smudge|process|required)$"
_NO_MATCH = 1


class SafeGit:
    """Git in one folder. `run` raises GitUnavailableError with git's reason; a cancel ends the process."""

    def __init__(self, folder: Path, *, environ: Mapping[str, str]) -> None:
        self._folder = folder
        self._environ = {name: value for name, value in environ.items() if not name.startswith("GIT_")} | SAFE_VARIABLES

    async def run(self, *arguments: str, folder: Path | None = None, more: Mapping[str, str] | None = None) -> str:
        """Return what git prints, names that are not UTF-8 with surrogates; `more` are variables for this run."""
        output, complaint, code = await self._run(arguments, folder or self._folder, more or {})
        if code != 0:
            raise _failure(arguments[0], folder or self._folder, complaint, code)
        return output.decode("utf-8", "surrogateescape")

    async def without_filters(self, repository: Repository) -> Mapping[str, str]:
        """Return the variables for runs that read contents of its work tree, whatever its settings say of filters and places."""
        place = {"GIT_DIR": str(repository.git_dir), "GIT_WORK_TREE": str(repository.worktree)}
        listing = ("config", "--null", "--name-only", "--get-regexp", _FILTERS)
        output, complaint, code = await self._run(listing, self._folder, place)
        if code not in (0, _NO_MATCH):
            raise _failure("config", self._folder, complaint, code)
        names = sorted({name for name in output.decode("utf-8", "surrogateescape").split("\0") if name})
        changed = {**place, "GIT_CONFIG_COUNT": str(len(names))}
        for number, name in enumerate(names):
            changed[f"GIT_CONFIG_KEY_{number}"] = name
            changed[f"GIT_CONFIG_VALUE_{number}"] = "false" if name.endswith(".required") else ""
        return changed

    async def _run(self, arguments: Sequence[str], folder: Path, more: Mapping[str, str]) -> tuple[bytes, bytes, int]:
        try:
            process = await asyncio.create_subprocess_exec(
                "git",
                *SAFE_OPTIONS,
                *arguments,
                cwd=folder,
                env={**self._environ, **more},
                stdin=asyncio.subprocess.DEVNULL,
                stdout=asyncio.subprocess.PIPE,
                stderr=asyncio.subprocess.PIPE,
            )
        except OSError as error:
            raise GitUnavailableError(f"git cannot be run in {folder} ({error.strerror}); install git") from error
        try:
            output, complaint = await process.communicate()
        except asyncio.CancelledError:
            process.kill()
            await process.wait()
            raise
        return output, complaint, process.returncode or 0


def _failure(verb: str, folder: Path, complaint: bytes, code: int) -> GitUnavailableError:
    reason = " ".join(complaint.decode("utf-8", "replace").split()) or f"exit code {code}"
    return GitUnavailableError(f"git {verb} failed in {folder}: {reason}")
