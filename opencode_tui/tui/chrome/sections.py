"""The sections of the sidebar: context, todos, changes, background commands, language servers, the folder."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.session import Todo
from opencode_tui.text.cells import clip_front
from opencode_tui.text.language import SERVER_WORDS
from opencode_tui.text.quantity import age, amount, byte_words
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chrome.status_line import pressing
from opencode_tui.tui.diff.folding import ChangeRow, change_rows, in_order
from opencode_tui.tui.theme.look import Glyphs, Look, todo_sign
from opencode_tui.tui.widgets.row import Piece, change_counts, row, strip

if TYPE_CHECKING:
    from opencode_tui.schema.api.background import BackgroundCommand
    from opencode_tui.schema.api.language import LanguageServerState, ServerStatus


def server_sign(status: "ServerStatus", glyphs: Glyphs) -> tuple[str, str]:
    """Return the sign of a language server's state, and its color."""
    if status in ("connected", "starting"):
        return glyphs.running, "success" if status == "connected" else "accent"
    return (glyphs.failed, "error") if status == "error" else (glyphs.waiting, "muted")


def background_state(one: "BackgroundCommand", glyphs: Glyphs, now: int) -> tuple[str, str, str]:
    """Return the sign of a background command, its color, and how long it has run or how it ended."""
    if one.is_running:
        return glyphs.running, "accent", age(one.started, now)
    if one.limit is not None:
        return glyphs.failed, "error", one.limit.words
    if one.tool is not None and one.state == "exited":
        return (glyphs.failed, "error", "failed") if one.failed else (glyphs.done, "success", "done")
    if one.state == "stopped" or one.exit_code is None:
        return glyphs.interrupted, "muted", "stopped"
    return (glyphs.failed, "error", f"exit {one.exit_code}") if one.exit_code else (glyphs.done, "success", "exit 0")


MARGIN = 2
PANEL = "panel"


class Sections:
    """Draws the sections for one look and width; each row is `width` cells, margins included."""

    def __init__(self, look: Look, width: int) -> None:
        self.look = look
        self.width = width
        self.fill = look.palette.area(PANEL)

    def line(self, left: Sequence[Piece], right: Sequence[Piece] = ()) -> Strip:
        """Return a row within the margins."""
        mark = self.look.glyphs.ellipsis
        inside = row(self.width - 2 * MARGIN, left, right, fill=self.fill, mark=mark)
        edge = Segment(" " * MARGIN, self.fill)
        return Strip([edge, *inside, edge], self.width)

    def style(self, token: str, *, bold: bool = False) -> Style:
        """Return a style on the sidebar's background."""
        return self.look.palette.style(token, PANEL, bold=bold)

    def head(self, words: str, right: Sequence[Piece] = ()) -> Strip:
        """Return the heading of a section, with pieces at its right."""
        return self.line([(words, self.style("text", bold=True))], right)

    def context(self, used: int, limit: int, cost: str) -> list[Strip]:
        """Return the used context, as a gauge and in numbers; in tokens, a limit of 0 is unknown."""
        if not used:
            return []
        muted = self.style("muted")
        room = self.width - 2 * MARGIN
        right: list[Piece] = []
        rows: list[Strip] = []
        if limit:
            share = min(1.0, used / limit)
            right = [
                (f"{round(100 * used / limit)} %", self.style("text")),
                (f" of {amount(limit)}", muted),
            ]
            filled = max(1, round(room * share))
            glyphs = self.look.glyphs
            hue = "warning" if share > 0.9 else "accent"
            gauge = [
                (glyphs.gauge_used * filled, self.style(hue)),
                (glyphs.gauge_free * (room - filled), self.style("border")),
            ]
            rows = [self.line(gauge)]
        usage = self.line([(f"{amount(used)} tokens", muted)], [(cost, muted)] if cost else ())
        return [self.head("Context", right), *rows, usage]

    def todos(self, todos: Sequence[Todo]) -> list[Strip]:
        """Return the todos with their state."""
        if not todos:
            return []
        done = sum(one.status == "completed" for one in todos)
        right = [(f"{done} of {len(todos)}", self.style("muted"))]
        return [self.head("Todo", right), *(self._todo(one) for one in todos)]

    def _todo(self, todo: Todo) -> Strip:
        sign, hue = todo_sign(todo.status, self.look.glyphs)
        is_now = todo.status == "in_progress"
        text = self.style("text" if is_now else "muted", bold=is_now)
        return self.line([(f"{sign} ", self.style(hue, bold=is_now)), (screen_line(todo.content), text)])

    def changes(self, diffs: Sequence[FileDiff], room: int) -> list[Strip]:
        """Return the files that the session changed in at most `room` rows; the rest is counted."""
        if not diffs:
            return []
        added, removed = sum(one.additions for one in diffs), sum(one.deletions for one in diffs)
        head = self.head("Changes", change_counts(self.look, added, removed, PANEL))
        changes = change_rows(in_order(diffs))
        shown = changes if len(changes) <= room - 1 else changes[: max(1, room - 2)]
        rows = [self._change(one) for one in shown]
        if len(shown) < len(changes):
            more = f"{self.look.glyphs.ellipsis} {len(diffs) - sum(one.files for one in shown)} more"
            rows.append(self.line([(f"  {more}", self.style("muted"))]))
        return [head, *rows]

    def _change(self, diff: ChangeRow) -> Strip:
        """Return one file or folder with two columns of counts; additions end four cells before deletions."""
        glyphs = self.look.glyphs
        added = f"{glyphs.plus}{diff.additions}" if diff.additions else ""
        removed = f"{glyphs.minus}{diff.deletions}" if diff.deletions else ""
        gap = max(4, len(removed) + 1) - len(removed)
        right = [(added, self.style("diff_add")), (" " * gap, self.fill), (removed, self.style("diff_del"))]
        room = self.width - 2 * MARGIN - len(added) - gap - len(removed) - 3 - len(diff.words)
        path = clip_front(diff.path, room, glyphs.ellipsis)
        press = pressing("diff_view")
        left: list[Piece] = [(f"{diff.letter} ", self.style("muted") + press), (path, self.style("text") + press)]
        return self.line([*left, (diff.words, self.style("muted") + press)], right)

    def background(self, commands: Sequence["BackgroundCommand"], now: int) -> list[Strip]:
        """Return the background commands, each with its state and how long it has run; a click opens their page."""
        if not commands:
            return []
        running = sum(one.is_running for one in commands)
        right = [(f"{running} running", self.style("muted"))] if running else ()
        press = pressing("background_view")
        rows: list[Strip] = []
        for one in commands:
            sign, hue, words = background_state(one, self.look.glyphs, now)
            left: list[Piece] = [
                (f"{sign} ", self.style(hue) + press),
                (f"{screen_line(one.id)}  ", self.style("muted") + press),
                (screen_line(one.command), self.style("text" if one.is_running else "muted") + press),
            ]
            rows.append(self.line(left, [(f"  {words}", self.style("muted") + press)]))
        return [self.head("Background", right), *rows]

    def languages(self, servers: Sequence["LanguageServerState"]) -> list[Strip]:
        """Return the language servers, each with its state and memory; a click opens their page."""
        if not servers:
            return []
        press = pressing("language_view")
        rows: list[Strip] = []
        for one in servers:
            sign, hue = server_sign(one.status, self.look.glyphs)
            is_up = one.status in ("connected", "starting")
            words = byte_words(one.memory) if is_up and one.memory else SERVER_WORDS[one.status]
            root = f"  {screen_line(one.root)}" if one.root != "." else ""
            left: list[Piece] = [
                (f"{sign} ", self.style(hue) + press),
                (screen_line(one.name), self.style("text" if is_up else "muted") + press),
                (root, self.style("muted") + press),
            ]
            rows.append(self.line(left, [(f"  {words}", self.style("muted") + press)]))
        return [self.head("Language servers"), *rows]

    def foot(self, folder: str, branch: str) -> Strip:
        """Return the folder and the branch."""
        branch = screen_line(branch)
        room = self.width - 2 * MARGIN - len(branch) - 2
        folder = clip_front(screen_line(folder), room, self.look.glyphs.ellipsis)
        muted = self.style("muted")
        return self.line([(folder, muted)], [(branch, muted)] if branch else ())

    def empty(self) -> Strip:
        """Return an empty row."""
        return strip([(" " * self.width, self.fill)], self.width)
