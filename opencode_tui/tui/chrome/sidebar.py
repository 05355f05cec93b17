"""The sidebar: context, todos, changes, background commands, language servers, and the sessions, which scroll."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.message import Message
from textual.strip import Strip

from opencode_tui.schema.api.background import BackgroundCommand
from opencode_tui.schema.api.language import LanguageServerState, ServerStatus
from opencode_tui.schema.session.diff import FileDiff
from opencode_tui.schema.session.session import Todo
from opencode_tui.text.cells import clip_front
from opencode_tui.text.cost import cost_words, plan_words
from opencode_tui.text.language import SERVER_WORDS
from opencode_tui.text.quantity import age, amount, byte_words, short_path
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chrome.status_line import Pressed, pressed, pressing
from opencode_tui.tui.session_tree import HUES, SessionRow, session_rows, sign_of
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.theme.glyphs import Glyphs
from opencode_tui.tui.theme.look import Look
from opencode_tui.tui.widgets.row import Piece, Rows, change_counts, row, strip

BACKGROUND_ROWS = 4
LANGUAGE_ROWS = 4


@dataclass(frozen=True, slots=True)
class SidebarFacts:
    """Content of the sidebar; empty sections are not drawn. `used` and `limit` are tokens, a limit of 0 is unknown."""

    used: int = 0
    limit: int = 0
    cost: str = ""
    todos: Sequence[Todo] = ()
    diffs: Sequence[FileDiff] = ()
    background: Sequence[BackgroundCommand] = ()
    languages: Sequence[LanguageServerState] = ()
    sessions: Sequence[SessionRow] = field(default=(), hash=False)
    shown: str | None = None
    now: int = 0
    folder: str = ""
    branch: str = ""


def cost_of(control: SessionController) -> str:
    """Return what the shown session costs, and the plan that pays for the model."""
    facts, chosen = control.facts, control.choice.model
    provider_id = chosen.provider_id if chosen else ""
    if facts is None:
        return plan_words(provider_id)
    return cost_words(facts.cost, control.session_budget, provider_id, is_reached=facts.has_reached_plan)


def sidebar_facts(control: SessionController, glyphs: Glyphs, *, home: str) -> SidebarFacts:
    """Return the current content of the sidebar."""
    facts, now = control.facts, control.now()
    return SidebarFacts(
        used=facts.context if facts else 0,
        limit=control.choice.limit,
        cost=cost_of(control),
        todos=facts.todos if facts else (),
        diffs=facts.diffs if facts else (),
        background=control.folder.background_of(control.session_id)[:BACKGROUND_ROWS],
        languages=control.folder.languages[:LANGUAGE_ROWS],
        sessions=session_rows(control.folder, now, glyphs),
        shown=control.session_id,
        now=now - now % 1000,
        folder=short_path(str(control.client.directory), home),
        branch=control.folder.branch or "",
    )


def server_sign(status: ServerStatus, glyphs: Glyphs) -> tuple[str, str]:
    """Return the sign of a language server's state, and its color."""
    if status in ("connected", "starting"):
        return glyphs.running, "success" if status == "connected" else "accent"
    return (glyphs.failed, "error") if status == "error" else (glyphs.waiting, "muted")


def background_state(one: BackgroundCommand, glyphs: Glyphs, now: int) -> tuple[str, str, str]:
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
        self._look = look
        self._width = width
        self._fill = look.palette.area(PANEL)

    def line(self, left: Sequence[Piece], right: Sequence[Piece] = ()) -> Strip:
        """Return a row within the margins."""
        mark = self._look.glyphs.ellipsis
        inside = row(self._width - 2 * MARGIN, left, right, fill=self._fill, mark=mark)
        edge = Segment(" " * MARGIN, self._fill)
        return Strip([edge, *inside, edge], self._width)

    def style(self, token: str, *, bold: bool = False) -> Style:
        """Return a style on the sidebar's background."""
        return self._look.palette.style(token, PANEL, bold=bold)

    def head(self, words: str, right: Sequence[Piece] = ()) -> Strip:
        """Return the heading of a section, with pieces at its right."""
        return self.line([(words, self.style("text", bold=True))], right)

    def context(self, facts: SidebarFacts) -> list[Strip]:
        """Return the used context, as a gauge and in numbers."""
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
        usage = self.line([(f"{amount(facts.used)} tokens", muted)], [(facts.cost, muted)] if facts.cost else ())
        return [self.head("Context", right), *rows, usage]

    def todos(self, todos: Sequence[Todo]) -> list[Strip]:
        """Return the todos with their state."""
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
        """Return the files that the session changed in at most `room` rows; the rest is counted."""
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
        """Return one file with two columns of counts; additions end four cells before deletions."""
        glyphs = self._look.glyphs
        letter = {"added": "A", "deleted": "D"}.get(diff.status or "", "M")
        added = f"{glyphs.plus}{diff.additions}" if diff.additions else ""
        removed = f"{glyphs.minus}{diff.deletions}" if diff.deletions else ""
        gap = max(4, len(removed) + 1) - len(removed)
        right = [(added, self.style("diff_add")), (" " * gap, self._fill), (removed, self.style("diff_del"))]
        room = self._width - 2 * MARGIN - len(added) - gap - len(removed) - 3
        path = clip_front(screen_line(diff.file), room, glyphs.ellipsis)
        return self.line([(f"{letter} ", self.style("muted")), (path, self.style("text"))], right)

    def background(self, commands: Sequence[BackgroundCommand], now: int) -> list[Strip]:
        """Return the background commands, each with its state and how long it has run; a click opens their page."""
        if not commands:
            return []
        running = sum(one.is_running for one in commands)
        right = [(f"{running} running", self.style("muted"))] if running else ()
        press = pressing("background_view")
        rows: list[Strip] = []
        for one in commands:
            sign, hue, words = background_state(one, self._look.glyphs, now)
            left: list[Piece] = [
                (f"{sign} ", self.style(hue) + press),
                (f"{screen_line(one.id)}  ", self.style("muted") + press),
                (screen_line(one.command), self.style("text" if one.is_running else "muted") + press),
            ]
            rows.append(self.line(left, [(f"  {words}", self.style("muted") + press)]))
        return [self.head("Background", right), *rows]

    def languages(self, servers: Sequence[LanguageServerState]) -> list[Strip]:
        """Return the language servers, each with its state and memory; a click opens their page."""
        if not servers:
            return []
        press = pressing("language_view")
        rows: list[Strip] = []
        for one in servers:
            sign, hue = server_sign(one.status, self._look.glyphs)
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

    def sessions(self, rows: Sequence[SessionRow], selected: str | None, now: int) -> list[tuple[Strip, str]]:
        """Return the sessions by group, each row with the id of its session, headings and empty rows with an empty id."""
        drawn: list[tuple[Strip, str]] = []
        group = ""
        for one in rows:
            if one.group != group:
                if group:
                    drawn.append((self.line([]), ""))
                group = one.group
                name = clip_front(group, self._width - 2 * MARGIN, self._look.glyphs.ellipsis)
                drawn.append((self.line([(name, self.style("muted"))]), ""))
            drawn.append((self.session(one, now, is_selected=one.info.id == selected), one.info.id))
        return drawn

    def waiting(self, rows: Sequence[SessionRow]) -> list[Piece]:
        """Return how many sessions need an answer; nothing when none does."""
        asking = sum(one.state == "asks" for one in rows)
        return [(f"{asking} need{'s' if asking == 1 else ''} you", self.style("warning"))] if asking else []

    def session(self, one: SessionRow, now: int, *, is_selected: bool) -> Strip:
        """Return the row of a session."""
        palette, glyphs = self._look.palette, self._look.glyphs
        area = "selection" if is_selected else PANEL
        is_loud = is_selected or one.state in ("running", "asks")
        meta = Style(meta={"session": one.info.id})
        fill = palette.area(area) + meta
        left: list[Piece] = [
            (f"{sign_of(one.state, glyphs)} ", palette.style(HUES[one.state], area, bold=is_loud) + meta),
            (one.branch, palette.style("guide", area) + meta),
            (f"{one.kind} " if one.kind else "", palette.style("muted", area) + meta),
            (one.title, palette.style("text", area, bold=is_selected) + meta),
        ]
        updated = "" if one.branch else f" {age(one.info.time.updated, now)}"
        right = [(updated, palette.style("muted", area) + meta)] if updated else []
        if one.is_pinned:
            right.append((f" {glyphs.pinned}", palette.style("accent", area) + meta))
        inside = row(self._width - 2 * MARGIN, left, right, fill=fill, mark=glyphs.ellipsis)
        bar = (glyphs.user_bar, palette.style("accent", area) + meta) if is_selected else (" ", fill)
        return Strip([Segment(*bar), Segment(" ", fill), *inside, Segment("  ", fill)], self._width)

    def foot(self, facts: SidebarFacts) -> Strip:
        """Return the folder and the branch."""
        branch = screen_line(facts.branch)
        room = self._width - 2 * MARGIN - len(branch) - 2
        folder = clip_front(screen_line(facts.folder), room, self._look.glyphs.ellipsis)
        muted = self.style("muted")
        return self.line([(folder, muted)], [(branch, muted)] if branch else ())

    def empty(self) -> Strip:
        """Return an empty row."""
        return strip([(" " * self._width, self._fill)], self._width)


WIDE, MIDDLE = 140, 120
"""Cells of the screen from which the sidebar is 40 and 36 wide."""


def sidebar_width(screen: int) -> int:
    """Return the width of the sidebar next to the chat; 0 when it is hidden."""
    return 40 if screen >= WIDE else 36 if screen >= MIDDLE else 0


class Sidebar(Rows):
    """Draws `facts`; a click on a session opens it."""

    area = "panel"

    class Chosen(Message):
        """The user clicked on a session."""

        def __init__(self, session_id: str) -> None:
            super().__init__()
            self.session_id = session_id

    def __init__(self) -> None:
        super().__init__()
        self.facts = SidebarFacts()
        self._top = 0
        self._most = 0

    def show(self, facts: SidebarFacts) -> None:
        """Show other content."""
        if facts != self.facts:
            self.facts = facts
            self.redraw()

    def on_click(self, event: events.Click) -> None:
        """Post the id of the clicked session."""
        chosen = event.style.meta.get("session")
        if chosen:
            self.post_message(self.Chosen(str(chosen)))
        elif act := pressed(event):
            self.post_message(Pressed(act))

    def on_mouse_scroll_down(self) -> None:
        """Scroll the sessions."""
        self._scroll(2)

    def on_mouse_scroll_up(self) -> None:
        """Scroll the sessions."""
        self._scroll(-2)

    def _scroll(self, rows: int) -> None:
        self._top = min(max(0, self._top + rows), self._most)
        self.redraw()

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return context, todos, changes and sessions, with folder and branch in the last row but one."""
        palette = self.look.palette
        edge = [] if palette.tones else [Segment(self.look.glyphs.divider, palette.style("border"))]
        sections = Sections(self.look, width - len(edge))
        rows = self._fixed(sections, height)
        room = max(0, height - len(rows) - 3)
        rows += self._sessions(sections, room)
        rows += [sections.empty()] * max(0, height - 2 - len(rows))
        rows = [*rows[: height - 2], sections.foot(self.facts), sections.empty()]
        return [Strip([*edge, *one]) for one in rows] if edge else rows

    def _fixed(self, sections: Sections, height: int) -> list[Strip]:
        empty = sections.empty()
        rows = [empty]
        for part in (
            sections.context(self.facts),
            sections.todos(self.facts.todos)[: max(4, height // 3)],
            sections.background(self.facts.background, self.facts.now),
            sections.languages(self.facts.languages),
            sections.changes(self.facts.diffs, max(4, height // 4)),
        ):
            if part:
                rows += [*part, empty]
        return rows

    def _sessions(self, sections: Sections, room: int) -> list[Strip]:
        facts = self.facts
        if not facts.sessions:
            return []
        head = sections.head("Sessions", sections.waiting(facts.sessions))
        rest = [one for one, _ in sections.sessions(facts.sessions, facts.shown, facts.now)]
        self._most = max(0, len(rest) - room + 1)
        self._top = min(self._top, self._most)
        return [head, *rest[self._top : self._top + max(0, room - 1)]]
