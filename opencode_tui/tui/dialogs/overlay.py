"""The overlay: a list over the muted screen."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import Any, cast

from rich.segment import Segment
from rich.style import Style
from textual import events
from textual.app import ComposeResult
from textual.filter import LineFilter
from textual.geometry import Size
from textual.screen import ModalScreen
from textual.strip import Strip

from opencode_tui.schema.ranking import Match, ranked
from opencode_tui.text.cells import clip
from opencode_tui.text.cells import width as cells
from opencode_tui.tui.keys.keyed import KeyedScreen, by_id, chooses, filters, keymap_of, leaves, moves
from opencode_tui.tui.output.display import DismissOnce, TerminalApp
from opencode_tui.tui.prompt.draft import clean
from opencode_tui.tui.screen_guards import ErrorBoundary
from opencode_tui.tui.theme.look import ASCII, look_of
from opencode_tui.tui.widgets.row import Piece, Rows, measure, notes_column, row

WIDEST = 72
TEXT = 3
NOTE = 30
"""Columns inside the overlay in which names and notes start."""

PREVIEW, FEWEST = 9, 3
"""Rows of a preview, its empty row included, and rows of choices that it leaves."""


@dataclass(frozen=True, slots=True)
class Choice:
    """A choice; texts are safe. `key` is at the right end, `is_current` marks the active one."""

    id: str
    text: str
    note: str = ""
    key: str = ""
    group: str = ""
    is_current: bool = False
    aliases: Sequence[str] = ()
    """Other words that find it."""
    commands: Sequence[str] = ()
    """Names that put it first where one is typed whole."""
    brief: str = ""
    """The note where the whole one does not fit."""
    is_folded: bool = False
    """Whether it is shown only where the filter finds it."""


@dataclass(frozen=True, slots=True)
class ListContent:
    """The content of an overlay. `moved` is called on each move.

    `extra` are further actions in a `scope` of the list: by id, (words, function of the row's ID).
    """

    choices: Sequence[Choice]
    hint: str = "Type to filter"
    enter: str = "choose"
    extra: Mapping[str, tuple[str, Callable[[str], object]]] = field(
        default_factory=dict[str, tuple[str, Callable[[str], object]]]
    )
    scope: str = ""
    moved: Callable[[str], object] | None = None
    typed: str = ""
    """The filter at the start."""
    notes_at: int = NOTE
    """The column in which notes start, after names that are not longer."""
    is_marked: bool = True
    """Whether a sign marks the active choice."""
    preview: Callable[[str], Sequence[str]] | None = None
    """Returns the first lines, safe ones, of what the row's ID means; they are shown under the choices."""
    is_reading: bool = False
    """Whether the choices are still being read."""
    problem: str = ""
    """Why there are no choices; shown instead of "No matches"."""


class Listing(Rows, can_focus=True):
    """The filter row, the choices by group, the keys."""

    area = "surface"

    def __init__(self, content: ListContent) -> None:
        super().__init__()
        self.content = content
        self.query_text = clean(content.typed).replace("\n", " ")
        self._found: list[tuple[Choice, Match]] = []
        self._row = 0
        self._top = 0
        self._filter()
        self._row = self._first_row()

    def _first_row(self) -> int:
        """Return the row of the active choice, or the first one; that of the best match where there is a filter."""
        at_current = (at for at, (one, _) in enumerate(self._found) if one.is_current)
        return 0 if self.query_text else next(at_current, 0)

    def get_line_filters(self) -> Sequence[LineFilter]:
        """Return the filters without the one that mutes the screen under the overlay."""
        return cast("TerminalApp[Any]", self.app).own_filters()

    @property
    def chosen(self) -> str | None:
        """The id of the row; None when nothing matches."""
        return self._found[self._row][0].id if self._found else None

    def has_choice(self, choice_id: str) -> bool:
        """Return whether a choice has this id, visible or not."""
        return any(one.id == choice_id for one in self.content.choices)

    def show(self, content: ListContent) -> None:
        """Show other choices with the same filter."""
        kept = self.chosen
        self.content = content
        self._filter()
        self._row = next((at for at, (one, _) in enumerate(self._found) if one.id == kept), self._first_row())
        self.refresh(layout=True)
        self.redraw()

    def type(self, text: str) -> None:
        """Filter by more characters."""
        self._ask(self.query_text + clean(text).replace("\n", " "))

    def erase(self, *, whole: bool) -> None:
        """Delete the last character of the filter, or all of it."""
        self._ask("" if whole else self.query_text[:-1])

    def move(self, rows: int) -> None:
        """Move up or down; a single step from an end goes to the other one."""
        if self._found:
            last = len(self._found) - 1
            to = self._row + rows
            self._row = (last if to < 0 else 0) if abs(rows) == 1 and not 0 <= to <= last else min(max(0, to), last)
            self._notify_moved()

    def _ask(self, query: str) -> None:
        self.query_text = query
        self._filter()
        self._row = self._top = 0
        self.refresh(layout=True)
        self._notify_moved()

    def _notify_moved(self) -> None:
        if self.content.moved is not None and self.chosen is not None:
            self.content.moved(self.chosen)
        self.redraw()

    def _filter(self) -> None:
        choices = self._unfolded() if not self.query_text.strip() else self.content.choices
        found = [(choices[at], hit) for at, hit in ranked(self.query_text, [one.text for one in choices])]
        named = {choice.id for choice, _ in found}
        wanted = self.query_text.strip().casefold()
        found += [
            (one, Match(0, ()))
            for one in choices
            if one.id not in named and any(word.startswith(wanted) for word in one.aliases)
        ]
        found.sort(key=lambda one: wanted not in one[0].commands)
        order: dict[str, int] = {}
        for choice, _ in found:
            order.setdefault(choice.group, len(order))
        self._found = sorted(found, key=lambda one: order[one[0].group])

    def _unfolded(self) -> Sequence[Choice]:
        return [one for one in self.content.choices if not one.is_folded]

    def get_content_height(self, container: Size, viewport: Size, width: int) -> int:
        """Return the height of the choices, limited by the screen."""
        shown = max(1, len(self._lines())) + (PREVIEW if self.content.preview is not None else 0)
        return min(5 + len(self._key_rows(width)) + shown, max(8, viewport.height - 8))

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """Draw empty, filter, empty, choices, empty, keys, empty."""
        palette = self.look.palette
        fill = palette.area(self.area)
        empty = Strip.blank(width, fill)
        lines = self._lines()
        keys = self._key_rows(width)
        room = max(1, height - 5 - len(keys))
        preview = self._preview_rows(width, min(PREVIEW, room - FEWEST))
        room -= len(preview)
        at = next((number for number, (index, _) in enumerate(lines) if index == self._row), 0)
        self._top = min(max(self._top, at - room + 1), at if at > 1 else 0)
        self._top = max(0, min(self._top, len(lines) - room))
        notes_at = self._notes_at(width)
        visible = lines[self._top : self._top + room]
        while len(visible) > 1 and visible[-1][0] < 0:  # a heading whose choices are below
            visible.pop()
        shown = [self._strip(index, words, width, notes_at) for index, words in visible]
        shown += [empty] * (min(room, len(lines) - self._top) - len(shown))
        if not lines:
            none = self.content.problem or "No matches"
            words = f"   Reading{self.look.glyphs.ellipsis}" if self.content.is_reading else f"   {none}"
            shown = [row(width, [(words, palette.style("muted", self.area))], fill=fill)]
        if preview:
            shown += [empty] * (room - len(shown))
        rows = [empty, self._filter_row(width), empty, *shown, *preview, empty, *keys]
        return [*rows[: height - 1], empty]

    def _preview_rows(self, width: int, height: int) -> list[Strip]:
        """Return the preview of the row, under an empty row; nothing where there is no space for it."""
        if self.content.preview is None or height < 2:
            return []
        palette, look = self.look.palette, self.look
        fill = palette.area(self.area)
        lines = list(self.content.preview(self.chosen)) if self.chosen is not None else []
        is_cut = len(lines) > height - 1
        lines = [*lines[: height - 2], look.glyphs.ellipsis] if is_cut else lines
        guide, text = (
            (f"   {look.glyphs.step_rail} ", palette.style("guide", self.area)),
            palette.style("muted", self.area),
        )
        rows = [row(width, [guide, (line, text)], fill=fill, mark=look.glyphs.ellipsis) for line in lines]
        empty = Strip.blank(width, fill)
        return [empty, *rows, *[empty] * (height - 1 - len(rows))]

    def _lines(self) -> list[tuple[int, str]]:
        """Return each row of the list: the index of a choice, or -1 with the text of a heading."""
        lines: list[tuple[int, str]] = []
        group = ""
        for number, (choice, _) in enumerate(self._found):
            if choice.group != group:
                if lines:
                    lines.append((-1, ""))
                group = choice.group
                lines.append((-1, group))
            lines.append((number, ""))
        return lines

    def _notes_at(self, width: int) -> int:
        """Return the column of the notes: further left than usual where that shows all of one."""
        found = [one for one, _ in self._found if not one.key]
        return TEXT + notes_column(
            [(one.text, one.note) for one in found], width - TEXT - 1, usual=self.content.notes_at - TEXT
        )

    def _strip(self, number: int, words: str, width: int, notes_at: int) -> Strip:
        palette = self.look.palette
        if number < 0:
            edge = [(" " * TEXT, palette.area(self.area))]
            heading: list[Piece] = [(f"   {words}", palette.style("muted", self.area))]
            return row(width, heading, edge, fill=palette.area(self.area), mark=self.look.glyphs.ellipsis)
        choice, hit = self._found[number]
        is_here = number == self._row
        area = "selection" if is_here else self.area
        meta = {"row": choice.id}
        fill = palette.area(area) + Style(meta=dict(meta))
        bar = (self.look.glyphs.user_bar, palette.style("accent", area)) if is_here else (" ", fill)
        sign = self.look.glyphs.done if choice.is_current and self.content.is_marked else " "
        left: list[Piece] = [
            bar,
            (sign, palette.style("success", area)),
            (" ", fill),
            *self._letters(choice, hit, area, is_here),
        ]
        used = TEXT + cells(choice.text)
        gap = max(2, notes_at - used)
        # two cells between note and key; without a key a note may be cut
        room = width - used - gap - (cells(choice.key) + TEXT + 1 if choice.key else 0)
        fitting = next((one for one in (choice.note, choice.brief) if one and cells(one) < room), "")
        note = fitting or ("" if choice.key else choice.brief or choice.note)
        if note:
            left += [(" " * gap, fill), (note, palette.style("muted", area))]
        right = (
            [(choice.key, palette.style("text" if is_here else "muted", area)), ("   ", fill)]
            if choice.key
            else [("   ", fill)]
        )
        made = row(width, left, right, fill=fill, mark=self.look.glyphs.ellipsis)
        return made.apply_meta(meta)

    def _letters(self, choice: Choice, hit: Match, area: str, is_here: bool) -> list[Piece]:
        """Return the name, with the typed characters bold, in accent, underlined."""
        palette = self.look.palette
        plain = palette.style("text", area, bold=is_here)
        loud = palette.style("accent", area, bold=True, underline=True)
        text = clip(choice.text, WIDEST - 12, self.look.glyphs.ellipsis)
        places = {place for place in hit.places if place < len(text)}
        pieces: list[Piece] = []
        for at, letter in enumerate(text):
            style = loud if at in places else plain
            if pieces and pieces[-1][1] is style:
                pieces[-1] = (pieces[-1][0] + letter, style)
            else:
                pieces.append((letter, style))
        return pieces

    def _filter_row(self, width: int) -> Strip:
        palette, glyphs = self.look.palette, self.look.glyphs
        fill = palette.area(self.area)
        total, found = len(self.content.choices), len(self._found)
        count = f"{found} of {total}" if self.query_text else str(found)
        cursor = (" ", fill + Style(reverse=True))
        typed = [(self.query_text, palette.style("text", self.area)), cursor]
        hint = [cursor, (self.content.hint, palette.style("muted", self.area))]
        left = [
            (glyphs.user_bar, palette.style("accent", self.area)),
            ("  ", fill),
            *(typed if self.query_text else hint),
        ]
        return row(width, left, [(f"{count}   ", palette.style("muted", self.area))], fill=fill)

    def _key_rows(self, width: int) -> list[Strip]:
        """Return the keys, in as many rows as they need."""
        palette = self.look.palette
        fill = palette.area(self.area)
        first = keymap_of(self).first
        moves = " ".join([first("list_up"), first("list_down")])
        if moves == "up down" and self.look.glyphs.down == "↓":
            moves = "↑ ↓"
        keys = [(first("list_choose"), self.content.enter)]
        keys += [(first(action_id), words) for action_id, (words, _) in self.content.extra.items()]
        keys += [(moves, "choose")] if self.content.enter != "choose" else []
        keys = [(key, words) for key, words in [*keys, (first("list_close"), "close")] if key]
        rows: list[list[Piece]] = [[]]
        for key, words in keys:
            pieces = [
                (key, palette.style("accent", self.area, bold=True)),
                (f" {words}   ", palette.style("text", self.area)),
            ]
            if rows[-1] and measure(rows[-1]) + measure(pieces) > width - TEXT:
                rows.append([])
            rows[-1] += pieces
        return [row(width, [(" " * TEXT, fill), *pieces], fill=fill) for pieces in rows]


class Overlay(KeyedScreen, ErrorBoundary, DismissOnce[str | None], ModalScreen[str | None], inherit_bindings=False):
    """Returns the ID of the choice, None if it was closed."""

    HORIZONTAL_BREAKPOINTS = [(0, "-narrow"), (90, "-wide")]  # noqa: RUF012 - as Textual declares it
    """On a narrow screen the list is as wide as the window: a sign of the conversation beside a row looked like that of the row."""

    has_help = False  # its own keys are all below it, and the help is such a list

    def __init__(self, content: ListContent) -> None:
        super().__init__()
        self.scopes = (content.scope, "list") if content.scope else ("list",)
        self.listing = Listing(content)
        self._is_awaited = False

    def compose(self) -> ComposeResult:
        """Yield the list."""
        yield self.listing

    def on_mount(self) -> None:
        """Focus the list; without background tones a thin frame separates it from the screen."""
        look = look_of(self)
        if not look.palette.tones:
            self.listing.styles.border = ("ascii" if look.glyphs is ASCII else "solid", "ansi_default")
        self.listing.focus()

    def fill(self, content: ListContent) -> None:
        """Show other choices with the same filter; an enter that came before them chooses the best match."""
        self.listing.show(content)
        if self._is_awaited and not content.is_reading and self.listing.chosen is not None:
            self.dismiss(self.listing.chosen)

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions that filter, move, choose and close."""
        listing = self.listing
        extra = {name: partial(self._run_extra, act) for name, (_, act) in listing.content.extra.items()}
        return {
            **{name: partial(listing.move, rows) for name, rows in moves("list", 10).items()},
            **extra,
            **filters(erase=lambda: listing.erase(whole=False), clear=lambda: listing.erase(whole=True)),
            "list_erase_word": lambda: listing.erase(whole=True),
            **by_id(chooses("", self._choose), leaves("", lambda: self.dismiss(None))),
        }

    def act(self, action_id: str) -> None:
        """Run an action; an enter before the choices are read chooses later, unless another key follows."""
        listing = self.listing
        self._is_awaited = action_id == "list_choose" and listing.content.is_reading and listing.query_text != ""
        super().act(action_id)

    def type_key(self, event: events.Key) -> None:
        """Add a character to the filter."""
        self._is_awaited = False
        super().type_key(event)

    def type_text(self, text: str) -> None:
        """Add text to the filter."""
        self.listing.type(text)

    def _choose(self) -> None:
        if self.listing.chosen is not None:
            self.dismiss(self.listing.chosen)

    def _run_extra(self, act: Callable[[str], object]) -> None:
        if self.listing.chosen is not None:
            act(self.listing.chosen)

    def on_paste(self, event: events.Paste) -> None:
        """Filter by what was pasted."""
        event.stop()
        self.listing.type(event.text[:200])

    def on_click(self, event: events.Click) -> None:
        """Choose the clicked row; a click next to the list closes it."""
        chosen = event.style.meta.get("row")
        if chosen is not None and self.listing.has_choice(str(chosen)):
            self.dismiss(str(chosen))
        elif event.widget is not self.listing:
            self.dismiss(None)

    def on_mouse_scroll_down(self) -> None:
        """Go down."""
        self.listing.move(2)

    def on_mouse_scroll_up(self) -> None:
        """Go up."""
        self.listing.move(-2)


class Flatten(LineFilter):
    """Draws everything under an overlay in the color of lines on the background."""

    def __init__(self, style: Style) -> None:
        super().__init__()
        self.style = style

    def apply(self, segments: list[Segment], background: object) -> list[Segment]:
        """Return the same characters without their styles."""
        return [Segment(text, self.style, control) for text, _, control in segments]
