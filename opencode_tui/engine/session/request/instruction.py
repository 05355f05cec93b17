"""Find and render instruction files of a folder or of the user.

Source: docs/internals/loop.md#instructions.
"""

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.config.sources.project_file import RULES_FILES, PatternSearch, find_objection
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.history import filter_compacted
from opencode_tui.engine.tool.files.text_format import detect
from opencode_tui.engine.tool.tool import ToolContext
from opencode_tui.schema.error import ConfigError
from opencode_tui.schema.hidden_text import show_hidden
from opencode_tui.schema.session.part import ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted
from opencode_tui.storage.safe_folder import open_folder

MAX_BYTES = 256 * 1024
"""Maximum size of an instruction file; a larger one is cut, because it would fill the context, and ends with a line about that."""


def project_files(directory: Path, worktree: Path) -> list[Path]:
    """Return the instruction files from `directory` up to `worktree`, nearest first.

    All files of one name: the first name for which there is any. Blocks on the disk.
    """
    folders = [directory]
    while folders[-1] != worktree and folders[-1] != folders[-1].parent and directory.is_relative_to(worktree):
        folders.append(folders[-1].parent)
    for name in RULES_FILES:
        found = [folder / name for folder in folders if (folder / name).is_file()]
        if found:
            return found
    return []


def global_file(config_dir: Path, home: Path, *, extra: str | None, use_claude: bool) -> Path | None:
    """Return the user's own instruction file: in `OPENCODE_CONFIG_DIR`, in the config folder, or Claude Code's."""
    candidates = [Path(extra) / "AGENTS.md"] if extra else []
    candidates.append(config_dir / "AGENTS.md")
    if use_claude:
        candidates.append(home / ".claude" / "CLAUDE.md")
    return next((path for path in candidates if path.is_file()), None)


Objection = Callable[[str], str]
"""Returns why the content of a file, an absolute path, may not be sent; empty where it may."""


def _no_objection(_path: str) -> str:
    return ""


class RulesFile(Struct, frozen=True):
    """An instruction file; `root` is the real path of the project when it is the project that brings it."""

    path: Path
    root: Path | None = None

    def read(self, objection_to: Objection = _no_objection) -> str:
        """Return its text, or why it or its end is left out, in brackets. Blocks.

        What a project brings may be a link: one that leads outside the project, to a file with secrets, or to one to which there is
        an objection, is left out. The file that is read is checked itself: a command may change where the path leads meanwhile.
        """
        try:
            real = Path(os.path.realpath(self.path))
            objection = None
            if self.root is not None:
                objection = find_objection(self.path, self.root) or find_objection(real, self.root)
                if objection is None and real != Path(os.path.realpath(self.path.parent), self.path.name):
                    reason = objection_to(str(real))
                    objection = f"it leads to {real}, {reason}" if reason else None
            if objection is not None:
                return f"(left out: {objection}; name that file in your own settings to send it)"
            with open_folder(real.parent) as folder, open(folder.open_to_read(real.name), "rb") as file:
                return _as_text(file.read(MAX_BYTES + 1))
        except OSError as error:
            return f"(not readable: {error.strerror})"


def _as_text(data: bytes) -> str:
    """Return the text of instructions, in whichever encoding, cut at the most that is sent."""
    found = detect(data, is_whole=len(data) <= MAX_BYTES)
    text = data[len(found.mark) : MAX_BYTES].decode(found.encoding, "replace").strip()
    cut = (
        f"\n(cut here: only the first {MAX_BYTES // 1024} KiB of instructions are sent)"
        if len(data) > MAX_BYTES
        else ""
    )
    return show_hidden(text) + cut


def configured_files(patterns: Sequence[str], directory: Path, worktree: Path, home: Path) -> list[RulesFile]:
    """Return the files that the setting `instructions` names: absolute, below home (`~/`), or globs in the project's folders.

    A file belongs to the project unless the pattern itself leads outside.
    """
    search = PatternSearch(worktree)
    found: list[RulesFile] = []
    for pattern in patterns:
        if pattern.startswith(("http://", "https://")):
            continue
        expanded = home / pattern[2:] if pattern.startswith("~/") else Path(pattern)
        if expanded.is_absolute():
            found.extend(_fitting(search, Path(expanded.anchor), expanded.parts[1:]))
            continue
        folder = directory
        while True:
            found.extend(_fitting(search, folder, expanded.parts))
            if folder in (worktree, folder.parent):
                break
            folder = folder.parent
    return [file for file in dict.fromkeys(found) if file.path.is_file()]


def _fitting(search: PatternSearch, folder: Path, parts: Sequence[str]) -> list[RulesFile]:
    """Return the files in a folder that match a pattern, given as its segments, in order."""
    plain = 0
    while plain < len(parts) - 1 and not any(sign in parts[plain] for sign in "*?["):
        plain += 1
    if not parts:
        return []
    start = folder.joinpath(*parts[:plain])
    is_inside = search.is_inside(start)
    return [
        RulesFile(path, search.root if is_inside or Path(os.path.normpath(path)).is_relative_to(search.root) else None)
        for path in search.find(start, parts[plain:])
    ]


def render(files: Sequence[RulesFile], objection_to: Objection = _no_objection) -> list[str]:
    """Return one block of text for each real file, headed by its first path. Blocks on the disk."""
    texts: dict[str, tuple[Path, str]] = {}
    for file in files:
        real = os.path.realpath(file.path)
        if real not in texts and (text := file.read(objection_to)):
            texts[real] = (file.path, text)
    return [f"Instructions from: {path}\n{text}" for path, text in texts.values()]


class Instructions(Struct, frozen=True):
    """The instruction files that apply: the project's, the user's, those in the settings."""

    config_dir: Path
    home: Path
    extra_dir: str | None
    use_claude: bool
    patterns: list[str]
    objection_to: Objection = _no_objection

    def blocks(self, directory: Path, worktree: Path) -> list[str]:
        """Return the texts in order. Blocks on the disk."""
        files = [RulesFile(path, worktree) for path in project_files(directory, worktree)]
        own = global_file(self.config_dir, self.home, extra=self.extra_dir, use_claude=self.use_claude)
        if own is not None:
            files.append(RulesFile(own))
        files += configured_files(self.patterns, directory, worktree, self.home)
        return render(files, self.objection_to)


# Instruction files near a file that the model reads: sent with it, once. Source: docs/internals/loop.md#instructions.


class DirectoryInstructions:
    """Finds instruction files for the read tool of one folder's instance."""

    def __init__(self, *, store: SessionStore, objection_to: Objection = _no_objection) -> None:
        self._store = store
        self._objection_to = objection_to
        self._claimed: dict[str, set[Path]] = {}

    async def __call__(self, path: Path, context: ToolContext) -> Sequence[tuple[Path, str]]:
        """Return path and text of each instruction file that applies to `path` (a real path) and is new to the conversation."""
        found = await asyncio.to_thread(_rules_files, path, context.directory)
        if not found:
            return []
        known = self._claimed.setdefault(context.message_id, set()) | await self._loaded(context.session_id)
        fresh = await asyncio.to_thread(_others, found, [path, *known], context)
        self._claimed = {context.message_id: {*self._claimed[context.message_id], *fresh}}
        files = [RulesFile(file, context.worktree) for file in fresh]
        return [(file.path, text) for file in files if (text := await asyncio.to_thread(file.read, self._objection_to))]

    async def _loaded(self, session_id: str) -> set[Path]:
        loaded: set[Path] = set()
        for message in filter_compacted(await self._store.recent(session_id)):
            for part in message.parts:
                if (
                    isinstance(part, ToolPart)
                    and isinstance(part.state, ToolStateCompleted)
                    and not part.state.time.compacted
                ):
                    names: list[str] = part.state.metadata.get("loaded") or []
                    loaded.update(Path(name) for name in names)
        return loaded


def _others(found: Sequence[Path], known: Sequence[Path], context: ToolContext) -> list[Path]:
    """Return the files that are, with links followed, none of the known ones and none of those that each request has. Blocks."""
    sent = [*known, *project_files(context.directory, context.worktree)]
    real = {os.path.realpath(path) for path in sent}
    fresh: list[Path] = []
    for path in found:
        if (one := os.path.realpath(path)) not in real:
            real.add(one)
            fresh.append(path)
    return fresh


def _rules_files(path: Path, directory: Path) -> list[Path]:
    found: list[Path] = []
    folder = path if path.is_dir() else path.parent
    while folder != directory and folder.is_relative_to(directory):
        here = next((folder / name for name in RULES_FILES if (folder / name).is_file()), None)
        if here is not None:
            found.append(here)
        folder = folder.parent
    return found


# Instructions at addresses in the setting `instructions`: fetched once a process, with a timeout.

FETCH_S = 5.0
"""Seconds for the text at an address; without it the request is sent all the same."""


class RemoteInstructions:
    """Fetches addresses; a failure is retried at the next call."""

    def __init__(self, addresses: Sequence[str]) -> None:
        self._addresses = list(dict.fromkeys(addresses))
        self._texts: dict[str, str] = {}

    async def blocks(self) -> list[str]:
        """Return one block of text for each address, in order; all are fetched at the same time."""
        missing = [address for address in self._addresses if address not in self._texts]
        if missing:
            fetched = await asyncio.gather(*(_fetch(address) for address in missing))
            self._texts.update({address: text for address, text in zip(missing, fetched, strict=True) if text})
        return [
            f"Instructions from: {address}\n{self._texts.get(address) or '(could not be fetched)'}"
            for address in self._addresses
        ]


async def _fetch(address: str) -> str | None:
    import httpx  # only for settings with addresses

    from opencode_tui import network

    try:
        options = await asyncio.to_thread(network.client_options, address, is_redirected=True)
        async with (
            asyncio.timeout(FETCH_S),
            httpx.AsyncClient(follow_redirects=True, **options) as client,
            # uncompressed: a few bytes of a compressed text can fill the memory
            client.stream("GET", address, headers={"Accept-Encoding": "identity"}) as answer,
        ):
            answer.raise_for_status()
            data = b""
            async for chunk in answer.aiter_raw():
                data += chunk
                if len(data) > MAX_BYTES:
                    break
    except (TimeoutError, ConfigError, httpx.HTTPError, httpx.InvalidURL):
        return None
    return _as_text(data)
