"""Commits marked pieces of a work tree's changes; what was staged before and is not marked stays staged.

The files of the commit are built in an index of their own, from the last commit, the marked staged pieces and the marked others.
With it git commits, with the user's hooks and signature. Only then the repository's index gets the marked pieces that it does not
have yet. So a commit that fails changes nothing but new objects.
"""

import asyncio
import tempfile
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.engine.project.git import SafeGit
from opencode_tui.engine.project.repository import Repository
from opencode_tui.engine.review.changes import Found, Piece, find_head, read_pieces
from opencode_tui.engine.review.patch import Mismatch, apply_hunks
from opencode_tui.schema.api.review import CommitMarked, GitReport, Hunk
from opencode_tui.schema.error import ConfigError, GitUnavailableError

HOOKS_S = 3600.0
"""Seconds that a commit or a push may take with its hooks."""

_NONE = "0" * 40
_ENTRIES = 200
"""Entries of an index that one command of git changes."""


class Entry(Struct, frozen=True):
    """What an index has of a file: its mode and the ID of its content; an empty mode without the file."""

    mode: str = ""
    content: str = ""


class _Wanted(Struct, frozen=True):
    """What the commit and afterwards the index shall have of each file that they change."""

    commit: dict[str, Entry]
    index: dict[str, Entry]


async def commit_marked(git: SafeGit, repository: Repository, wanted: CommitMarked) -> GitReport:
    """Commit the marked pieces. Raises ConfigError, before anything is changed, when they are not what was shown or do not fit."""
    found = await read_pieces(git, repository)
    _check(found, wanted)
    with tempfile.TemporaryDirectory(prefix="opencode-tui-commit-") as temporary:
        folder = Path(temporary)
        return await _Commit(git, repository, found, folder).make(wanted)


def _check(found: Found, wanted: CommitMarked) -> None:
    if found.problem:
        raise ConfigError(f"nothing can be committed: {found.problem}")
    known = {hunk.id for piece in found.pieces for hunk in piece.shown.hunks}
    if not wanted.hunks:
        raise ConfigError("nothing is marked; mark what the commit shall have")
    if not known.issuperset(wanted.hunks):
        raise ConfigError("files changed since they were shown; look at the changes again, then commit")
    if not wanted.message.strip():
        raise ConfigError("the message is empty; write what the commit changes")


class _Commit:
    def __init__(self, git: SafeGit, repository: Repository, found: Found, folder: Path) -> None:
        """`folder` is for temporary files."""
        self._git = git
        self._repository = repository
        self._found = found
        self._folder = folder
        self._plain = found.variables
        self._user = {name: found.variables[name] for name in ("GIT_DIR", "GIT_WORK_TREE", "GIT_LITERAL_PATHSPECS")}
        """Variables with which filters run."""

    async def make(self, wanted: CommitMarked) -> GitReport:
        """Commit; return git's report."""
        head = await find_head(self._git, self._plain)
        own = {**self._user, "GIT_INDEX_FILE": str(self._folder / "index")}
        await self._git.run("read-tree", *([head] if head else ["--empty"]), more=own)
        entries = await self._wanted(set(wanted.hunks), head)
        await self._write(entries.commit, own)
        tree = (await self._git.run("write-tree", more=own)).strip()
        message = self._folder / "message"
        message.write_text(wanted.message.strip() + "\n", encoding="utf-8")
        options = ("--cleanup=whitespace", "--file", str(message))
        only = {"GIT_INDEX_FILE": own["GIT_INDEX_FILE"]}  # hooks get no other variables than from git itself
        answer = await self._git.run_for_user("commit", *options, more=only, timeout_s=HOOKS_S)
        made = await find_head(self._git, self._plain)
        if made == head:
            return GitReport(is_done=False, output=answer.text)
        warning = await self._update_index(entries, tree, made)
        return GitReport(is_done=True, output=answer.text, commit=made, warning=warning)

    async def _wanted(self, marked: Collection[str], head: str) -> _Wanted:
        commit: dict[str, Entry] = {}
        index: dict[str, Entry] = {}
        staged = {one.shown.path: one for one in self._found.pieces if one.shown.state == "staged"}
        other = {one.shown.path: one for one in self._found.pieces if one.shown.state != "staged"}
        for path in dict.fromkeys([*staged, *other]):
            first, second = staged.get(path), other.get(path)
            here, there = _marked(first, marked), _marked(second, marked)
            if not here and not there:
                continue
            before = await self._entry("HEAD", path) if head else Entry()
            held = await self._entry("", path)
            after = await self._applied(held, second, there) if second and there else held
            if after != held:
                index[path] = after
            if first is None or len(here) == len(first.shown.hunks):
                commit[path] = after
            else:
                commit[path] = await self._partly(before, first, here, second, there)
        return _Wanted(commit, index)

    async def _partly(
        self, before: Entry, first: Piece, here: Sequence[Hunk], second: Piece | None, there: Sequence[Hunk]
    ) -> Entry:
        """Return what the commit has of a file of whose staged pieces some are not marked."""
        entry = await self._applied(before, first, here) if here else before
        if second is None or not there:
            return entry
        left_out = [one for one in first.shown.hunks if one not in here]
        if not second.is_plain or not entry.mode:
            raise _mixed(first.shown.path)
        return await self._applied(entry, second, there, left_out=left_out)

    async def _applied(
        self, entry: Entry, piece: Piece, hunks: Sequence[Hunk], *, left_out: Sequence[Hunk] = ()
    ) -> Entry:
        """Return an entry with marked pieces of one state."""
        path = piece.shown.path
        if not piece.is_plain:
            return await self._whole(piece, entry)
        try:
            text = apply_hunks(await self._content(entry), hunks, left_out=left_out)
        except Mismatch as error:
            raise _mixed(path) from error
        file = self._folder / "content"
        await asyncio.to_thread(file.write_bytes, text.encode("utf-8", "surrogateescape"))
        words = ("hash-object", "-w", "--no-filters", "--", str(file))
        made = await self._git.run(*words, more=self._plain, read=[self._folder])
        return Entry(entry.mode, made.strip())

    async def _whole(self, piece: Piece, held: Entry) -> Entry:
        """Return the entry of a file as it is staged, or in the work tree, with its filter; `held` is that of the index."""
        if piece.shown.state == "staged" and piece.raw is not None:
            mode, content = piece.raw.modes[1], piece.raw.ids[1]
            return Entry() if piece.raw.letter == "D" else Entry(mode, content)
        if piece.shown.status == "deleted":
            return Entry()
        path = piece.shown.path
        own = {**self._user, "GIT_INDEX_FILE": str(self._folder / "added")}
        if held.mode:  # it decides about the mode and the ends of lines where the settings leave that open
            await self._write({path: held}, own)
        answer = await self._git.run_for_user("add", "--force", "--", path, more=own, timeout_s=HOOKS_S)
        if answer.code:
            raise ConfigError(f"git cannot add {path}: {' '.join(answer.text.split())}")
        return _parse_entry(await self._git.run("ls-files", "-z", "--stage", "--", path, more=own))

    async def _entry(self, commit: str, path: str) -> Entry:
        """Return what a commit, or the index without one, has of a file."""
        if commit:
            return _parse_entry(await self._git.run("ls-tree", "-z", commit, "--", path, more=self._plain))
        return _parse_entry(await self._git.run("ls-files", "-z", "--stage", "--", path, more=self._plain))

    async def _content(self, entry: Entry) -> str:
        return await self._git.run("cat-file", "blob", entry.content, more=self._plain)

    async def _write(self, entries: Mapping[str, Entry], variables: Mapping[str, str]) -> None:
        """Change files of an index."""
        known = [(path, entry) for path, entry in entries.items() if entry.mode]
        gone = [path for path, entry in entries.items() if not entry.mode]
        for at in range(0, len(gone), _ENTRIES):
            await self._git.run("update-index", "--force-remove", "--", *gone[at : at + _ENTRIES], more=variables)
        for at in range(0, len(known), _ENTRIES):
            infos = [f"{one.mode},{one.content},{path}" for path, one in known[at : at + _ENTRIES]]
            words = [word for info in infos for word in ("--cacheinfo", info)]
            await self._git.run("update-index", "--add", "--replace", *words, more=variables)

    async def _update_index(self, wanted: _Wanted, tree: str, made: str) -> str:
        """Give the repository's index the committed pieces; return a sentence about what did not work or is different."""
        index = dict(wanted.index)
        options = ("-r", "-z", "--no-renames", "--raw", "--no-abbrev", tree, made)
        raw = (await self._git.run("diff-tree", *options, more=self._plain)).split("\0")
        changed = {path: Entry(*_of_raw(head)) for head, path in zip(raw[::2], raw[1::2], strict=False)}
        for path, entry in changed.items():  # by a hook
            if path not in wanted.commit or index.get(path, wanted.commit[path]) == wanted.commit[path]:
                index[path] = entry
        try:
            await self._write(index, self._user)
        except GitUnavailableError as error:
            return f"the commit is made, but the index could not be updated ({error}); `git reset` does that"
        return f"a hook changed {', '.join(sorted(changed))}" if changed else ""


def _marked(piece: Piece | None, marked: Collection[str]) -> list[Hunk]:
    return [] if piece is None else [hunk for hunk in piece.shown.hunks if hunk.id in marked]


def _mixed(path: str) -> ConfigError:
    return ConfigError(f"{path}: what is marked continues a staged piece that is not marked; mark both, or neither")


def _parse_entry(line: str) -> Entry:
    """Return the entry in a line of `ls-tree` or `ls-files`; of an empty one no file."""
    if not line:
        return Entry()
    words = line.partition("\t")[0].split(" ")
    return Entry(words[0], words[2] if len(words[1]) < len(_NONE) else words[1])


def _of_raw(head: str) -> tuple[str, str]:
    """Return the mode and the ID after a change, in a line of `diff-tree`; empty for a deleted file."""
    _, mode, _, content, letter = head.removeprefix(":").split(" ")
    return ("", "") if letter == "D" else (mode, content)
