"""Reads git's patches into pieces, and applies pieces to a text exactly at their lines."""

import hashlib
import re
from collections.abc import Iterable, Iterator, Sequence

from msgspec import Struct

from opencode_tui.schema.api.review import Hunk

_RANGE = re.compile(r"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@ ?(.*)")
_NO_END = "\\"
"""The start of the line that says that the line before it has no end."""

STATUS = {"A": "added", "D": "deleted"}


class RawChange(Struct, frozen=True):
    """One file of `git diff --patch-with-raw -z`: modes, IDs, the letter of its status, its path and its patch."""

    modes: tuple[str, str]
    ids: tuple[str, str]
    letter: str
    path: str
    patch: str

    @property
    def is_plain(self) -> bool:
        """Whether it changes the lines of a regular file and nothing else, so that its pieces can be marked alone."""
        before, after = self.modes
        return self.letter == "M" and before == after and before in ("100644", "100755")


def identify(*texts: str) -> str:
    """Return the ID of a piece: the same one for the same texts."""
    digest = hashlib.sha256()
    for text in texts:
        data = text.encode("utf-8", "surrogateescape")
        digest.update(b"%d:" % len(data) + data)
    return digest.hexdigest()[:16]


def split_diff(output: str) -> Iterator[RawChange]:
    """Yield the files in the output of `git diff --patch-with-raw -z --no-renames`, which has no unmerged ones."""
    heads: list[tuple[list[str], str]] = []
    at = 0
    while output.startswith(":", at):
        end = output.index("\0", at)
        stop = output.index("\0", end + 1)
        heads.append((output[at + 1 : end].split(" "), output[end + 1 : stop]))
        at = stop + 1
    patches = iter(_sections(output[at:].lstrip("\0")))
    for (before, after, old, new, letter), path in heads:
        patch = next(patches, "")
        if letter == "T":  # a file that became a link, or the reverse, has two patches
            patch += next(patches, "")
        yield RawChange((before, after), (old, new), letter, path, patch)


def _sections(text: str) -> Iterator[str]:
    """Yield the patch of each file; a line of a file's content never starts with a `d`."""
    start = 0
    while start < len(text):
        end = text.find("\ndiff --git ", start)
        end = len(text) if end < 0 else end + 1
        yield text[start:end]
        start = end


def hunks_of(patch: str, name: str) -> list[Hunk]:
    """Return the pieces of a patch; `name` is a part of their IDs."""
    found: list[Hunk] = []
    for piece in re.split(r"^(?=@@ -)", patch, flags=re.MULTILINE)[1:]:
        head, *lines = piece.removesuffix("\n").split("\n")
        match = _RANGE.match(head)
        if match is not None:
            before, after, header = int(match[1]), int(match[3]), match[5]
            found.append(Hunk(id=identify(name, piece), before=before, after=after, header=header, lines=lines))
    return found


def counts(lines: Iterable[str]) -> tuple[int, int]:
    """Return how many lines are added and deleted."""
    added = deleted = 0
    for line in lines:
        added += line.startswith("+")
        deleted += line.startswith("-")
    return added, deleted


class Mismatch(Exception):
    """A piece does not fit at its lines."""


def apply_hunks(text: str, hunks: Sequence[Hunk], *, left_out: Sequence[Hunk] = ()) -> str:
    """Return a text with pieces applied exactly at their lines; raises Mismatch where its lines are others.

    The pieces are in order and those of one patch. Their line numbers count in a text that also has the pieces of `left_out`, whose
    result this text misses.
    """
    lines = _lines(text)
    result: list[str] = []
    done = 0
    for hunk in hunks:
        old, new = _sides(hunk)
        missing = sum(_growth(one) for one in left_out if one.after < hunk.before)
        start = hunk.before - (1 if old else 0) - missing
        if start < done or lines[start : start + len(old)] != old:
            raise Mismatch(hunk.id)
        result += lines[done:start] + new
        done = start + len(old)
    return "".join(result + lines[done:])


def _lines(text: str) -> list[str]:
    """Return the lines with their ends, as git counts them."""
    lines = text.split("\n")
    last = lines.pop()
    return [f"{line}\n" for line in lines] + ([last] if last else [])


def _sides(hunk: Hunk) -> tuple[list[str], list[str]]:
    """Return the lines before and after a piece, with their ends."""
    old: list[str] = []
    new: list[str] = []
    for at, line in enumerate(hunk.lines):
        follower = hunk.lines[at + 1] if at + 1 < len(hunk.lines) else ""
        ended = line[1:] + ("" if follower.startswith(_NO_END) else "\n")
        if line[:1] in (" ", "-"):
            old.append(ended)
        if line[:1] in (" ", "+"):
            new.append(ended)
    return old, new


def _growth(hunk: Hunk) -> int:
    added, deleted = counts(hunk.lines)
    return added - deleted
