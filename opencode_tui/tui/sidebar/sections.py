"""The sidebar's sections as rows: context, todos, changes, sessions."""

from collections.abc import Sequence

from rich.segment import Segment
from rich.style import Style
from textual.strip import Strip

from opencode_tui.schema.diff import FileDiff
from opencode_tui.schema.todo import Todo
from opencode_tui.text.cells import clip_front
from opencode_tui.text.quantity import age, amount
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.row import Piece, row, strip
from opencode_tui.tui.session_tree import HUES, SessionRow, sign_of
from opencode_tui.tui.sidebar.facts import SidebarFacts
from opencode_tui.tui.status.header import change_counts
from opencode_tui.tui.theme.look import Look

MARGIN = 2
PANEL = "panel"


class Sections:
    """Draws the sections for one look and width; each row is `width` cells, margins included."""

    def __init__(self, look: Look, width: int) -> None:
        self._look = look
        self._width = width
        self._fill = look.palette.area(PANEL)

    def line(self, left: Sequence[Piece], right: Sequence[Piece] = ()) -> Strip:
        """A row within the margins."""
        mark = self._look.glyphs.ellipsis
        inside = row(self._width - 2 * MARGIN, left, right, fill=self._fill, mark=mark)
        edge = Segment(" " * MARGIN, self._fill)
        return Strip([edge, *inside, edge], self._width)

    def style(self, token: str, *, bold: bool = False) -> Style:
        """A style on the sidebar's tone."""
        return self._look.palette.style(token, PANEL, bold=bold)

    def head(self, words: str, right: Sequence[Piece] = ()) -> Strip:
        """A section's name, and what stands at the right of it."""
        return self.line([(words, self.style("text", bold=True))], right)

    def context(self, facts: SidebarFacts) -> list[Strip]:
        """How full the context is, as a gauge and in numbers."""
        if not facts.used:
            return []
        muted = self.style("muted")
        room = self._width - 2 * MARGIN
        right: list[Piece] = []
        rows: list[Strip] = []
        if facts.limit:
            share = min(1.0, facts.used / facts.limit)
            right = [
                (f"{round(100 * facts.used / facts.limit)} %", self.style("text")),
                (f" of {amount(facts.limit)}", muted),
            ]
            used = max(1, round(room * share))
            glyphs = self._look.glyphs
            hue = "warning" if share > 0.9 else "accent"
            gauge = [
                (glyphs.gauge_used * used, self.style(hue)),
                (glyphs.gauge_free * (room - used), self.style("border")),
            ]
            rows = [self.line(gauge)]
        told = self.line([(f"{amount(facts.used)} tokens", muted)], [(facts.cost, muted)] if facts.cost else ())
        return [self.head("Context", right), *rows, told]

    def todos(self, todos: Sequence[Todo]) -> list[Strip]:
        """What is done, in work, to do."""
        if not todos:
            return []
        done = sum(one.status == "completed" for one in todos)
        right = [(f"{done} of {len(todos)}", self.style("muted"))]
        return [self.head("Todo", right), *(self._todo(one) for one in todos)]

    def _todo(self, todo: Todo) -> Strip:
        glyphs = self._look.glyphs
        sign, hue = {
            "completed": (glyphs.done, "success"),
            "in_progress": (glyphs.running, "accent"),
            "cancelled": (glyphs.interrupted, "muted"),
        }.get(todo.status, (glyphs.waiting, "muted"))
        is_now = todo.status == "in_progress"
        text = self.style("text" if is_now else "muted", bold=is_now)
        return self.line([(f"{sign} ", self.style(hue, bold=is_now)), (screen_line(todo.content), text)])

    def changes(self, diffs: Sequence[FileDiff], room: int) -> list[Strip]:
        """The files that this session changed; at most `room` rows, the rest counted."""
        if not diffs:
            return []
        added, removed = sum(one.additions for one in diffs), sum(one.deletions for one in diffs)
        head = self.head("Changes", change_counts(self._look, added, removed, PANEL))
        shown = diffs if len(diffs) <= room - 1 else diffs[: max(1, room - 2)]
        rows = [self._change(one) for one in shown]
        if len(shown) < len(diffs):
            more = f"{self._look.glyphs.ellipsis} {len(diffs) - len(shown)} more"
            rows.append(self.line([(f"  {more}", self.style("muted"))]))
        return [head, *rows]

    def _change(self, diff: FileDiff) -> Strip:
        """Two columns of counts: additions end four cells before deletions do."""
        glyphs = self._look.glyphs
        letter = {"added": "A", "deleted": "D"}.get(diff.status or "", "M")
        added = f"{glyphs.plus}{diff.additions}" if diff.additions else ""
        removed = f"{glyphs.minus}{diff.deletions}" if diff.deletions else ""
        gap = max(4, len(removed) + 1) - len(removed)
        right = [(added, self.style("diff_add")), (" " * gap, self._fill), (removed, self.style("diff_del"))]
        room = self._width - 2 * MARGIN - len(added) - gap - len(removed) - 3
        path = clip_front(screen_line(diff.file), room, glyphs.ellipsis)
        return self.line([(f"{letter} ", self.style("muted")), (path, self.style("text"))], right)

    def sessions(self, facts: SidebarFacts) -> list[tuple[Strip, str]]:
        """The sessions by day, each row with the id of its session, headings with none."""
        if not facts.sessions:
            return []
        asking = sum(one.state == "asks" for one in facts.sessions)
        words = f"{asking} need{'s' if asking == 1 else ''} you" if asking else ""
        rows = [(self.head("Sessions", [(words, self.style("warning"))] if words else ()), "")]
        group = ""
        for one in facts.sessions:
            if one.group != group:
                if group:
                    rows.append((self.line([]), ""))
                group = one.group
                rows.append((self.line([(group, self.style("muted"))]), ""))
            rows.append((self._session(one, facts), one.info.id))
        return rows

    def _session(self, one: SessionRow, facts: SidebarFacts) -> Strip:
        palette, glyphs = self._look.palette, self._look.glyphs
        is_shown = one.info.id == facts.shown
        area = "selection" if is_shown else PANEL
        is_loud = is_shown or one.state in ("running", "asks")
        meta = Style(meta={"session": one.info.id})
        fill = palette.area(area) + meta
        left: list[Piece] = [
            (f"{sign_of(one.state, glyphs)} ", palette.style(HUES[one.state], area, bold=is_loud) + meta),
            (one.branch, palette.style("guide", area) + meta),
            (f"{one.kind} " if one.kind else "", palette.style("muted", area) + meta),
            (one.title, palette.style("text", area, bold=is_shown) + meta),
        ]
        told = "" if one.branch else f" {age(one.info.time.updated, facts.now)}"
        right = [(told, palette.style("muted", area) + meta)] if told else []
        inside = row(self._width - 2 * MARGIN, left, right, fill=fill, mark=glyphs.ellipsis)
        bar = (glyphs.user_bar, palette.style("accent", area) + meta) if is_shown else (" ", fill)
        return Strip([Segment(*bar), Segment(" ", fill), *inside, Segment("  ", fill)], self._width)

    def foot(self, facts: SidebarFacts) -> Strip:
        """The folder and the branch."""
        branch = screen_line(facts.branch)
        room = self._width - 2 * MARGIN - len(branch) - 2
        folder = clip_front(screen_line(facts.folder), room, self._look.glyphs.ellipsis)
        muted = self.style("muted")
        return self.line([(folder, muted)], [(branch, muted)] if branch else ())

    def empty(self) -> Strip:
        """An empty row."""
        return strip([(" " * self._width, self._fill)], self._width)
