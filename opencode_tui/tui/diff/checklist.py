"""The rows of the checklist of changes: files, folders of generated ones, pieces, lines and what is said about them."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.diff.folding import change_rows, in_order

if TYPE_CHECKING:
    from opencode_tui.schema.api.review import ChangedPath, Hunk, TreeChanges

COMMIT_ROW = "commit"
"""The ID of the row that commits."""

QUOTED = 6
"""Lines that a comment quotes at most."""

RowKind = Literal["commit", "state", "folder", "file", "hunk", "line", "comment"]


@dataclass(frozen=True, slots=True)
class Comment:
    """What is said about a line or a piece; `severity` is set for a finding of the model.

    `state` is that of the file whose row it is below; an empty one stands for the last row of the path.
    """

    path: str
    line: int
    text: str
    quote: Sequence[str] = ()
    severity: str = ""
    state: str = ""


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A row: `hunks` are the pieces that a mark of it is about, `at` the index of the line in its piece."""

    id: str
    kind: RowKind
    hunks: Sequence["Hunk"] = ()
    file: "ChangedPath | None" = None
    files: int = 1
    name: str = ""
    at: int = -1
    comment: Comment | None = None


@dataclass
class Checklist:
    """What the user did with the changes so far; it outlives the page and a new reading of the changes."""

    changes: "TreeChanges"
    own: frozenset[str] = frozenset()
    """The files that the shown session changed."""
    marked: set[str] = field(default_factory=set)
    unfolded: set[str] = field(default_factory=set)
    comments: list[Comment] = field(default_factory=list)
    name: str = ""
    """What the changes are, if not those of the work tree."""
    message: str = ""
    """The message of the commit as far as it is written."""

    def __post_init__(self) -> None:
        self.marked.update(hunk.id for one in self.changes.files if one.state == "staged" for hunk in one.hunks)

    def read_again(self, changes: "TreeChanges") -> None:
        """Show other changes; marks of pieces that are the same are kept."""
        before = {hunk.id for one in self.changes.files for hunk in one.hunks}
        self.changes = changes
        now = {hunk.id: one.state for one in changes.files for hunk in one.hunks}
        new = {hunk_id for hunk_id, state in now.items() if state == "staged" and hunk_id not in before}
        self.marked = (self.marked & now.keys()) | new

    @property
    def is_committed(self) -> bool:
        """Return whether these are changes of commits, in which nothing can be marked."""
        return any(one.state == "committed" for one in self.changes.files)

    @property
    def marked_ids(self) -> list[str]:
        """The marked pieces in their order."""
        return [hunk.id for one in self.changes.files for hunk in one.hunks if hunk.id in self.marked]

    @property
    def pieces(self) -> int:
        """The number of pieces."""
        return sum(len(one.hunks) for one in self.changes.files)

    def mark(self, row: CheckRow) -> None:
        """Mark all pieces of a row, or none of them if all are."""
        ids = {hunk.id for hunk in row.hunks}
        if ids <= self.marked:
            self.marked -= ids
        else:
            self.marked |= ids

    def mark_all(self) -> None:
        """Mark everything, or nothing if everything is."""
        ids = {hunk.id for one in self.changes.files for hunk in one.hunks}
        self.marked = set() if ids <= self.marked else ids

    def fold(self, row: CheckRow) -> None:
        """Show what is in a row, or hide it."""
        self.unfolded ^= {row.id}

    def rows(self) -> list[CheckRow]:
        """Return the visible rows."""
        first = [] if self.is_committed else [CheckRow(COMMIT_ROW, "commit")]
        return [*first, *self._by_state(), *self._of_gone_files()]

    def _of_gone_files(self) -> Iterator[CheckRow]:
        """Yield the comments on files that have no changes any more."""
        for number, one in enumerate(self.comments):
            if self._file_of(one) is None:
                yield CheckRow(f"comment {number}", "comment", comment=one, name=one.path)

    def _by_state(self) -> Iterator[CheckRow]:
        for state in ("committed", "staged", "unstaged", "untracked"):
            files = [one for one in self.changes.files if one.state == state]
            if files:
                yield CheckRow("", "state", name=state)
                yield from self._of_state(state, files)

    def _of_state(self, state: str, files: Sequence["ChangedPath"]) -> Iterator[CheckRow]:
        by_path = {one.path: one for one in files}
        diffs = [
            FileDiff(file=one.path, status=one.status, additions=one.additions, deletions=one.deletions)
            for one in files
        ]
        ordered = in_order(diffs)
        for shown in change_rows(ordered):
            inside = [by_path[one.file] for one in ordered[shown.at : shown.at + shown.files]]
            if shown.files == 1:
                yield from self._file(inside[0])
                continue
            hunks = [hunk for one in inside for hunk in one.hunks]
            folder = CheckRow(f"folder {state} {shown.path}", "folder", hunks, files=shown.files, name=shown.path)
            yield folder
            if folder.id in self.unfolded:
                for one in inside:
                    yield from self._file(one)

    def _file(self, file: "ChangedPath") -> Iterator[CheckRow]:
        row = CheckRow(f"file {file.state} {file.path}", "file", file.hunks, file)
        yield row
        comments = [(at, one) for at, one in enumerate(self.comments) if self._file_of(one) is file]
        is_open = row.id in self.unfolded
        shown: set[int] = set()
        for hunk in file.hunks if is_open else ():
            yield CheckRow(f"hunk {hunk.id}", "hunk", [hunk], file)
            for at, line in enumerate(numbered(hunk)):
                yield CheckRow(f"line {hunk.id} {at}", "line", [hunk], file, at=at)
                for number, one in comments:
                    if number not in shown and one.line == line and not hunk.lines[at].startswith("-"):
                        shown.add(number)
                        yield CheckRow(f"comment {number}", "comment", [hunk], file, comment=one)
        for number, one in comments:
            if number not in shown:
                yield CheckRow(f"comment {number}", "comment", file.hunks, file, comment=one)

    def _file_of(self, comment: Comment) -> "ChangedPath | None":
        """Return the file below which a comment is; None if it has no changes any more."""
        files = [one for one in self.changes.files if one.path == comment.path]
        same = [one for one in files if one.state == comment.state]
        return (same or files[-1:] or [None])[0]

    def comment_on(self, row: CheckRow, text: str) -> None:
        """Add a comment on a file, a piece or a line, which it quotes."""
        if row.file is None:
            return
        line, quote = 0, ()
        if row.kind in ("line", "hunk") and row.hunks:
            hunk = row.hunks[0]
            numbers = numbered(hunk)
            line = numbers[max(0, row.at)] if numbers else hunk.after
            quote = hunk.lines[row.at : row.at + 1] if row.kind == "line" else hunk.lines[:QUOTED]
        self.comments.append(Comment(row.file.path, line, text, tuple(quote), state=row.file.state))

    def delete_comment(self, row: CheckRow) -> None:
        """Delete the comment of a row."""
        if row.comment is not None:
            self.comments.remove(row.comment)


def numbered(hunk: "Hunk") -> list[int]:
    """Return the number of each line of a piece in the new file; of a deleted line that of the next one."""
    numbers: list[int] = []
    at = max(1, hunk.after)
    for line in hunk.lines:
        numbers.append(at)
        at += line[:1] in (" ", "+")
    return numbers


def as_prompt(comments: Sequence[Comment]) -> str:
    """Return comments as one message to the agent, each with its path, its line and the quoted lines."""
    blocks: list[str] = []
    for one in comments:
        place = f"{one.path}:{one.line}" if one.line else one.path
        quoted = "".join(f"\n> {screen_line(line)}" for line in one.quote)
        blocks.append(f"{screen_line(place)}{quoted}\n{one.text}")
    return "Please handle these comments on the changes:\n\n" + "\n\n".join(blocks)
