"""The text of an empty conversation: one sentence about what to do next, and a few things to try."""

import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from rich.style import Style
from textual import events
from textual.strip import Strip

from opencode_tui import __version__
from opencode_tui.schema.api.keybinds import ACTIONS
from opencode_tui.text.cells import breaks, clip, pad, wrap
from opencode_tui.text.cells import width as cells
from opencode_tui.text.notices import warning_lines
from opencode_tui.text.quantity import age
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.conversation.requests import SessionRequested
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.notices import FolderNotices
from opencode_tui.tui.state.session_state import name_of
from opencode_tui.tui.widgets.row import Piece, Rows, measure, row

if TYPE_CHECKING:
    from opencode_tui.schema.api.folder import InactiveSetting

EXAMPLES = ("create notes.md with a plan", "find TODO in this project", "list the files here")
"""Prompts that the demo model can answer; `up` shows them, the last one first."""

RECENT = "Recent sessions"

TRY = "Try"
"""The heading of the examples, which keys show too."""

NOTE = 38
"""Column of the notes, from the left edge of the text."""

AGE = 6
"""Cells at the end of the text for the age of a session."""

_TIPS = (
    "@ names a file, a folder, or lines of one: @a.py#L10-20",
    "! runs a command of yours, without the model",
    "# keeps a rule for the agent in AGENTS.md",
    "/until make test works until a command passes",
    "/background quits; what runs goes on",
)
"""Tips that are about no key; those about one are in the row of its action."""

_DAY_MS = 86_400_000

_MOST_SERVERS = 4
_MOST_WARNINGS = 6

Group = tuple[str, str, Sequence[tuple[str, str]]]
"""A muted head with a note, and lines with notes."""


class Welcome(Rows):
    """The welcome text, without animation."""

    def __init__(self) -> None:
        super().__init__()
        self._sentence: Sequence[tuple[str, bool]] = ()
        self._groups: Sequence[Group] = ()
        self._tip = ""
        self._recent_ids: Sequence[str] = ()
        """The IDs of the recent sessions, in the order in which they are listed."""
        self._chosen = ""
        """The ID of the recent session that the keys have chosen; empty without one."""

    def show(
        self,
        control: SessionController,
        notices: FolderNotices,
        key: Callable[[str], str],
        *,
        has_tips: bool = False,
    ) -> None:
        """Show the text for a run without a key, an untrusted folder, or recent sessions; `key` returns the key of an action."""
        help_key = key("help_view") or "/help"
        is_demo = control.choice.model is not None and control.choice.model.provider_id == "demo"
        groups: list[Group] = []
        if is_demo:
            self._sentence = (
                ("No API key found. Try the built-in ", False),
                ("demo model", True),
                (" or add a key.", False),
            )
            notes = {} if notices.undo_off else {"create notes.md with a plan": "can be undone"}
            tries = [(one, notes.get(one, "")) for one in reversed(EXAMPLES)]
            groups.append((TRY, "the demo works offline, on real files", tries))
            keys = [
                ("/login", "ChatGPT, OpenRouter, or any API key"),
                ("opencode-tui auth login anthropic", "prompts for the key and saves it"),
                ("export OPENAI_API_KEY=…", "or any provider's variable"),
            ]
            if notices.local_servers:
                running = [("/models", line) for line in notices.local_servers[:_MOST_SERVERS]]
                groups.append(("Models on this computer", "no key needed", running))
            if notices.can_look_for_servers:
                keys.append(("/models", "finds Ollama, LM Studio, llama.cpp, vLLM"))
            groups.append(("Add a key", "", keys))
        else:
            more = (
                ", or press up for previous prompts"
                if notices.has_prompts or control.folder.sessions
                else f". {help_key} lists the keys"
            )
            self._sentence = ((f"Type a request{more}.", False),)
        groups += self._recent(control, key, is_demo=is_demo)
        if notices.can_import:
            groups.append(("Sessions of other programs were found", "", [("/import", "open and continue them here")]))
        groups += _warnings(notices, control.client.directory)
        tip = "" if is_demo or not has_tips else _tip(control.now(), key)
        if (groups, tip) != (self._groups, self._tip):
            self._groups, self._tip = groups, tip
            self.redraw()

    def choose(self, action_id: str) -> bool:
        """Choose or open a recent session by an action of the empty prompt's keys; return whether it did anything.

        `recent_down` enters the list, `recent_up` above its first row leaves it, as any other key does.
        """
        ids = self._recent_ids
        was = ids.index(self._chosen) if self._chosen in ids else -1
        self._chosen = ""
        match action_id:
            case "recent_down" if ids:
                self._chosen = ids[min(was + 1, len(ids) - 1)]
            case "recent_up" if was > 0:
                self._chosen = ids[was - 1]
            case "recent_open" if was >= 0:
                self.post_message(SessionRequested(ids[was]))
            case _:  # such as `recent_leave`
                pass
        self.redraw()
        return (was >= 0 and action_id != "") or bool(self._chosen)

    def on_click(self, event: events.Click) -> None:
        """Open the clicked session."""
        session_id = event.style.meta.get("session") if event.style.meta else None
        if session_id:
            self.post_message(SessionRequested(str(session_id)))

    def _recent(self, control: SessionController, key: Callable[[str], str], *, is_demo: bool) -> list[Group]:
        newest = [] if is_demo else control.folder.sessions.newest(4)
        if not newest:
            self._recent_ids, self._chosen = (), ""
            return []
        now = control.now()
        self._recent_ids = [one.id for one in newest]
        self._chosen = self._chosen if self._chosen in self._recent_ids else ""
        keys = [(key("recent_down"), "select"), (key("session_list"), "all")]
        note = "   ".join(f"{pressed} {words}" for pressed, words in keys if pressed)
        return [(RECENT, note, [(name_of(one)[1], age(one.updated, now)) for one in newest])]

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Return the text block, a little above the middle, in a low window with fewer empty rows."""
        block = min(width - 6, 78)
        left = max(3, (width - 66) // 2 if block == 78 else 3)
        lines = self._lines(min(block, width - left - 2), height)
        above = max(0, (height - len(lines)) // 2 - 1)
        palette = self.look.palette
        fill = palette.area("background")
        empty = Strip.blank(width, fill)
        drawn = [
            row(width, [(" " * left, fill), *pieces], fill=fill, mark=self.look.glyphs.ellipsis) for pieces in lines
        ]
        return [empty] * above + drawn

    def _lines(self, block: int, height: int) -> Sequence[Sequence[Piece]]:
        """Return the rows of the text that a window of this height shows: what is least important is left out first."""
        palette = self.look.palette
        muted, bold = palette.style("muted"), palette.style("text", bold=True)
        top: list[Sequence[Piece]] = [[("opencode-tui", bold), (f"  {__version__}", muted)]]
        text = _Text(top, self._wrapped_sentence(block), [self._group(one, block) for one in self._groups])
        if self._tip:
            tip = wrap(self.look.words(self._tip), block - 5)
            text.tip = [[("Tip  " if at == 0 else " " * 5, muted), (words, muted)] for at, words in enumerate(tip)]
        return text.fitted(height)

    def _group(self, group: Group, block: int) -> "_Block":
        palette = self.look.palette
        muted, text = palette.style("muted"), palette.style("text")
        head, note, entries = group
        if head == RECENT:
            first, *rest = self._recent_lines(note, entries, block)
            return _Block(first, [rest])
        shown: list[Sequence[Sequence[Piece]]] = [
            [self._entry(words, fact, text, muted, block)] if fact else self._wrapped(words, text, block)
            for words, fact in entries
        ]
        first = self._entry(head, note, muted, muted, block)
        return _Block(first, shown, keeps_last=entries[-1][0].startswith("/"), is_optional=head == TRY)

    def _recent_lines(self, note: str, entries: Sequence[tuple[str, str]], block: int) -> Iterator[Sequence[Piece]]:
        """Yield the heading and a line for each recent session, the chosen one on another background."""
        style = self.look.palette.style
        note = "enter open   esc back" if self._chosen else note
        yield self._entry(RECENT, note, style("muted"), style("muted"), block)
        ages_at = min(max(NOTE, *(cells(words) + 2 for words, _ in entries)), block - AGE)
        for number, (words, fact) in enumerate(entries):
            area = "selection" if self._recent_ids[number] == self._chosen else "background"
            meta = Style(meta={"session": self._recent_ids[number]})
            text, muted = style("text", area, bold=area == "selection") + meta, style("muted", area) + meta
            pieces = self._entry(words, fact, text, muted, block, at=ages_at)
            yield [*pieces, (" " * max(0, block - measure(pieces)), muted)] if area == "selection" else pieces

    def _wrapped(self, words: str, style: Style, block: int) -> list[Sequence[Piece]]:
        """Return all rows of a text, as the remedy is often at its end."""
        words = self.look.words(words)
        rows = [words[start:end] for start, end in breaks(words, block - 2, first=block)]
        return [[(f"  {one}" if number else one, style)] for number, one in enumerate(rows)]

    def _wrapped_sentence(self, block: int) -> list[Sequence[Piece]]:
        palette = self.look.palette
        lines: list[list[Piece]] = [[]]
        used = 0
        for words, is_bold in self._sentence:
            for word in words.replace(" ", " \0").split("\0"):
                if used + len(word.rstrip()) > block and lines[-1]:
                    lines.append([])
                    used = 0
                lines[-1].append((word, palette.style("text", bold=is_bold)))
                used += len(word)
        return list(lines)

    def _entry(self, words: str, note: str, style: Style, muted: Style, block: int, *, at: int = 0) -> list[Piece]:
        """Return words with a note in column `at`; without one in that of all notes, or close behind where that is too far."""
        words = self.look.words(words)
        if not note:
            return [(words, style)]
        if not at and block < NOTE + 20:
            return (
                [(words, style), (f"  {note}", muted)] if cells(words) + cells(note) + 2 <= block else [(words, style)]
            )
        at = at or NOTE
        return [(pad(clip(words, at - 2, self.look.glyphs.ellipsis), at), style), (note, muted)]


@dataclass(slots=True)
class _Block:
    """A heading, and the rows of each entry below it. `keeps_last` is set where the last one says what to do, `is_optional`
    where keys show the entries too.
    """

    head: Sequence[Piece]
    entries: list[Sequence[Sequence[Piece]]]
    keeps_last: bool = False
    is_optional: bool = False

    def shorten(self) -> None:
        """Leave out the last entry, or the one before it."""
        del self.entries[-2 if self.keeps_last else -1]

    def rows(self) -> Sequence[Sequence[Piece]]:
        return [self.head, *(row for entry in self.entries for row in entry)]


@dataclass(slots=True)
class _Text:
    """The parts of the text in their order; the tip is last."""

    top: Sequence[Sequence[Piece]]
    sentence: Sequence[Sequence[Piece]]
    groups: list[_Block]
    tip: Sequence[Sequence[Piece]] = ()

    def fitted(self, height: int) -> Sequence[Sequence[Piece]]:
        """Return the rows for a window of this height.

        Headings keep the empty row above them while there are entries to leave out: without colors nothing else tells them
        from entries. No heading is left without one.
        """
        for gap in (2, 1):
            if len(rows := self._rows(gap)) <= height:
                return rows
        self.tip = ()
        while len(rows := self._rows(1)) > height and (longest := self._longest) is not None:
            longest.shorten()
        if len(rows) > height and len(self._rows(0)) > height:
            self.groups = [one for one in self.groups if not one.is_optional]
        for gap, between in ((1, 1), (0, 1), (0, 0)):
            if len(rows := self._rows(gap, between=between)) <= height:
                return rows
        while len(rows) > height and len(self.groups) > 1:
            del self.groups[0]
            rows = self._rows(0, between=0)
        return rows[:height]

    @property
    def _longest(self) -> _Block | None:
        """The group with the most entries, which can go without one."""
        longest = max(self.groups, key=lambda one: len(one.entries), default=None)
        return longest if longest is not None and len(longest.entries) > 1 else None

    def _rows(self, gap: int, *, between: int = 1) -> list[Sequence[Piece]]:
        """Return all rows: `gap` is 0 to 2 empty ones around the sentence, `between` those above a group."""
        empty: Sequence[Piece] = ()
        rows = [*self.top, *[empty] * min(gap, 1), *self.sentence, *[empty] * (gap - 1)]
        for one in self.groups:
            rows += [*[empty] * between, *one.rows()]
        return [*rows, *([empty, *self.tip] if self.tip else [])]


@cache
def tips() -> Sequence[tuple[str, str]]:
    """Return the tips: the action whose key begins one, empty for none, and its words; another one is shown each day."""
    return [*(("", words) for words in _TIPS), *((one.id, one.tip) for one in ACTIONS if one.tip)]


def _tip(now: int, key: Callable[[str], str]) -> str:
    """Return the tip of a day; empty where the action has no key."""
    action_id, words = tips()[now // _DAY_MS % len(tips())]
    pressed = key(action_id) if action_id else ""
    return "" if action_id and not pressed else f"{pressed} {words}".strip()


def _inactive(one: "InactiveSetting", folder: Path) -> str:
    """Return an ignored setting; the heading is the usual reason."""
    line = screen_line(" ".join(one.setting.split()))
    return line.removeprefix(f"{folder}/")


def _indented(line: str) -> str:
    """Return a line of a warning in one row, below the head of its file with its indent."""
    return f"{'  ' if line.startswith('  ') else ''}{screen_line(' '.join(line.split()))}"


def _warnings(notices: FolderNotices, folder: Path) -> list[Group]:
    """Return the warnings about settings and trust."""
    groups: list[Group] = []
    if notices.is_read_only:
        groups.append(("Read-only folder", "", [("The agent can read and plan, but not edit.", "")]))
    if notices.undo_off:
        reason = screen_line(notices.undo_off)
        groups.append(
            (f"{reason[:1].upper()}{reason[1:]}", "", [("Changes of files are not recorded and cannot be undone.", "")])
        )
    if notices.sandbox is not None and notices.sandbox.exposed:
        reason = screen_line(notices.sandbox.exposed)
        groups.append(("Commands can change this program", "", [(f"{reason[:1].upper()}{reason[1:]}.", "")]))
    if notices.sandbox is not None and notices.sandbox.spelling:
        reason = screen_line(notices.sandbox.spelling)
        groups.append(("Names in any case", "", [(f"{reason[:1].upper()}{reason[1:]}.", "")]))
    if notices.ignored:
        lines = [(_inactive(one, folder), "") for one in notices.ignored[:5]]
        groups.append(("Inactive until you trust this folder", "", [*lines, ("/trust", "review and trust")]))
    if notices.warnings:
        lines = warning_lines(notices.warnings, os.path.expanduser("~"), str(folder))
        groups.append(("Settings", "", [(_indented(one), "") for one in lines[:_MOST_WARNINGS]]))
    return groups
