"""The checklist of changes: pieces of the work tree to mark, comments on lines, and the keys that commit and push."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from opencode_tui.schema.api.review import TreeChanges
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.diff.checklist import Checklist, CheckRow, Comment, numbered
from opencode_tui.tui.keys.keyed import KeyAction, edits, keymap_of, opens
from opencode_tui.tui.pages.page import ListRow, PageScreen
from opencode_tui.tui.prompt.draft import clean
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.theme.look import change_letter
from opencode_tui.tui.widgets.row import Piece, change_counts

_STATES: Mapping[str, str] = {
    "committed": "Committed",
    "staged": "Staged",
    "unstaged": "Not staged",
    "untracked": "New files",
}
_MOST = 4_000
"""Characters of a comment."""


class ReviewScreen(PageScreen):
    """The checklist; `act` gets what the user wants to do outside of the page: commit, branch, push, send or find."""

    DEFAULT_CSS = """
    ReviewScreen PageFoot { height: 4; }
    """
    has_preview = False
    scopes = ("page:review", "page")

    def __init__(
        self, control: SessionController, checklist: Checklist, act: Callable[[str, Comment | None], object]
    ) -> None:
        super().__init__()
        self._client = control.client.review
        self._list = checklist
        self._act = act
        self._rows: Mapping[str, CheckRow] = {}
        self._typed: str | None = None
        """The comment that is written; None while there is none."""
        self._commented: CheckRow | None = None

    def fill(self) -> None:
        """Show the changes."""
        self._draw()

    def on_page_list_opened(self) -> None:
        """Open the clicked row."""
        if self._typed is None:
            self._open()

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions for the selected row."""
        if self._typed is not None:
            return [
                KeyAction("review_comment_save", "save the comment", self._save),
                KeyAction("review_comment_cancel", "cancel", self._cancel),
            ]
        row, checklist = self._row(), self._list
        actions: list[KeyAction] = []
        if row is not None and row.hunks and row.kind != "comment" and not checklist.is_committed:
            is_marked = {hunk.id for hunk in row.hunks} <= checklist.marked
            actions.append(KeyAction("review_mark", "unmark" if is_marked else "mark", partial(self._mark, row)))
        if row is not None and row.kind in ("file", "folder"):
            actions.append(opens("fold" if row.id in checklist.unfolded else "show", self._open))
        if row is not None and row.kind in ("file", "hunk", "line"):
            actions.append(KeyAction("review_comment", "comment", partial(self._comment, row)))
        if row is not None and row.kind == "comment":
            actions.append(opens("send it", self._open))
            actions.append(KeyAction("review_delete", "delete it", partial(self._delete, row)))
        if checklist.comments:
            words = f"send {plural(len(checklist.comments), 'comment')}"
            actions.append(KeyAction("review_send", words, partial(self._leave, "send")))
        if row is not None and row.kind == "commit":
            actions.append(opens("commit" if checklist.marked else "", self._open))
        if checklist.is_committed:
            return actions
        is_at_commit = row is not None and row.kind == "commit"  # enter does it there
        return [
            *actions,
            KeyAction("review_commit", "commit" if checklist.marked and not is_at_commit else "", self._commit),
            KeyAction("review_mark_all", "all", self._mark_all),
            KeyAction("review_branch", "branch", partial(self._leave, "branch")),
            KeyAction("review_push", "push", partial(self._leave, "push")),
        ]

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions of the page, or those of the comment that is written."""
        if self._typed is None:
            return super().key_actions()
        return {**{one.id: one.act for one in self.page_actions()}, **edits(self._typed, self._edit)}

    def type_text(self, text: str) -> None:
        """Add text to the comment."""
        if self._typed is not None:
            self._edit(self._typed + clean(text))

    def show_changes(self, changes: TreeChanges) -> None:
        """Show the changes as they are now."""
        self._list.read_again(changes)
        self._draw()

    async def read(self) -> None:
        """Read the changes again, and show why that failed."""
        try:
            self.show_changes(await self._client.changes())
        except OpencodeError as error:
            self.foot.show_message(screen_line(str(error)), "error")

    def show_keys(self) -> None:
        """Draw the row of keys again, and above it the comment that is written, or why nothing can be committed."""
        problem = self._list.changes.problem
        if self._typed is not None:
            self.foot.show(self.page_actions())
            self.foot.show_message(f"Comment: {screen_line(self._typed)}{self.listing.look.glyphs.caret}", "text")
            return
        super().show_keys()
        if problem:
            self.foot.show_message(f"Nothing can be committed: {screen_line(problem)}", "warning")

    def _row(self) -> CheckRow | None:
        return self._rows.get(self.listing.chosen)

    def _mark(self, row: CheckRow) -> None:
        self._list.mark(row)
        self._draw()

    def _mark_all(self) -> None:
        self._list.mark_all()
        self._draw()

    def _open(self) -> None:
        row = self._row()
        if row is None:
            return
        if row.kind == "commit":
            self._commit()
        elif row.kind == "comment":
            self._leave("send", row.comment)
        elif row.kind in ("file", "folder"):
            self._list.fold(row)
            self._draw()

    def _commit(self) -> None:
        """Ask for the message of the commit, or show what marks something for it."""
        if self._list.changes.problem:
            return  # the line above the keys says why nothing can be committed
        if self._list.marked:
            self._leave("commit")
        else:
            self.foot.show_message(f"Nothing is marked: {self._how_to_mark()}", "warning")

    def _how_to_mark(self) -> str:
        """Return which keys mark something, by the keys of the user."""
        if not self._list.pieces:
            return "there is nothing to commit"
        keymap = keymap_of(self)
        one, everything = keymap.first("review_mark"), keymap.first("review_mark_all")
        ways = [f"{one} marks the selected row" if one else "", f"{everything} marks everything" if everything else ""]
        return ", ".join(filter(None, ways)) or "no key marks, see Changes to commit in the keys"

    def _comment(self, row: CheckRow) -> None:
        self._typed, self._commented = "", row
        self.scopes = ("list:review", "list")
        self._draw()

    def _edit(self, typed: str) -> None:
        self._typed = typed[:_MOST]
        self._draw()

    def _save(self) -> None:
        if self._commented is not None and (self._typed or "").strip():
            self._list.comment_on(self._commented, (self._typed or "").strip())
        self._cancel()

    def _cancel(self) -> None:
        self._typed = self._commented = None
        self.scopes = ("page:review", "page")
        self._draw()

    def _delete(self, row: CheckRow) -> None:
        self._list.delete_comment(row)
        self._draw()

    def _leave(self, what: str, comment: Comment | None = None) -> None:
        self.dismiss(None)
        self._act(what, comment)

    def _draw(self) -> None:
        checklist, muted = self._list, self.style("muted")
        branch = checklist.changes.branch
        where = checklist.name or (f"on {branch}" if branch else "no branch")
        title: list[Piece] = [("Changes", self.style("text", bold=True)), (f"  {screen_line(where)}", muted)]
        marked = f"{len(checklist.marked)} of {plural(checklist.pieces, 'piece')} marked"
        self.head.show([(title, [] if checklist.is_committed else [(marked, muted)])])
        rows = checklist.rows()
        self._rows = {row.id: row for row in rows if row.id}
        self.foot.scope = self.scopes[0]
        self.listing.show([self._entry(row) for row in rows])
        self.show_keys()

    def _entry(self, row: CheckRow) -> ListRow:
        if row.kind == "commit" and not self._list.marked:
            return self.sentence(f"Nothing is marked: {self._how_to_mark()}", row_id=row.id)
        return ListRow(partial(self._left, row), partial(self._right, row), row.id)

    def _left(self, row: CheckRow, area: str) -> Sequence[Piece]:
        text, muted = self.style("text", area), self.style("muted", area)
        match row.kind:
            case "commit":
                words = f"  Commit {plural(len(self._list.marked), 'marked piece')}"
                return [(words, self.style("accent", area, bold=True))]
            case "state":
                return [(f"  {_STATES[row.name]}", muted)]
            case "folder":
                return [*self._sign(row, area), (row.name, text), (f"  {plural(row.files, 'file')}", muted)]
            case "file":
                return [*self._sign(row, area), *self._file(row, area)]
            case "hunk":
                hunk = row.hunks[0]
                where = f"line {hunk.after}"
                return [
                    ("  ", muted),
                    *self._sign(row, area),
                    (where, muted),
                    (f"  {screen_line(hunk.header)}", muted),
                ]
            case "line":
                return self._line(row, area)
            case "comment":
                return self._said(row, area)

    def _file(self, row: CheckRow, area: str) -> Sequence[Piece]:
        file = row.file
        if file is None:
            return []
        path = [
            (f"{change_letter(file.status)} ", self.style("muted", area)),
            (screen_line(file.path), self.style("text", area)),
        ]
        facts = [file.note, "this session" if file.path in self._list.own else ""]
        return [*path, *((f"  {screen_line(one)}", self.style("muted", area)) for one in facts if one)]

    def _sign(self, row: CheckRow, area: str) -> Sequence[Piece]:
        """Return the mark of a row, and whether it is unfolded."""
        glyphs, ids = self.listing.look.glyphs, {hunk.id for hunk in row.hunks}
        if ids <= self._list.marked:
            mark = (glyphs.checked, self.style("success", area))
        elif ids & self._list.marked:
            mark = (glyphs.minus, self.style("success", area))
        else:
            mark = (glyphs.unchecked, self.style("muted", area))
        if self._list.is_committed:
            mark = (" ", mark[1])
        if row.kind == "hunk":
            return [mark, (" ", mark[1])]
        folded = glyphs.unfolded if row.id in self._list.unfolded else glyphs.folded
        return [mark, (f" {folded} ", self.style("muted", area))]

    def _line(self, row: CheckRow, area: str) -> Sequence[Piece]:
        hunk = row.hunks[0]
        line = hunk.lines[row.at]
        token = {"+": "diff_add", "-": "diff_del"}.get(line[:1], "muted" if line.startswith("\\") else "text")
        number = "" if line[:1] in ("-", "\\") else str(numbered(hunk)[row.at])
        return [
            (f"{number:>7} ", self.style("muted", area)),
            (screen_line(line[:1] + " " + line[1:]), self.style(token, area)),
        ]

    def _said(self, row: CheckRow, area: str) -> Sequence[Piece]:
        one = row.comment
        if one is None:
            return []
        bar = (f"        {self.listing.look.glyphs.user_bar} ", self.style("accent", area))
        severity = (f"{one.severity}  ", self.style("error" if one.severity == "error" else "warning", area))
        path = (f"{screen_line(row.name)}  ", self.style("muted", area))
        words = (screen_line(one.text), self.style("text", area))
        return [bar, *([path] if row.name else []), *([severity] if one.severity else []), words]

    def _right(self, row: CheckRow, area: str) -> Sequence[Piece]:
        if row.kind == "file" and row.file is not None:
            return change_counts(self.listing.look, row.file.additions, row.file.deletions, area)
        return ()
