"""A form: fields with the selected one typed in, and below them what would be written, and where."""

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from msgspec import Struct
from msgspec.structs import replace
from rich.style import Style

from opencode_tui.text.cells import breaks, pad
from opencode_tui.text.safe_text import screen_line, screen_lines
from opencode_tui.tui.keys.keyed import KeyAction, by_id, chooses, edits, leaves, moves
from opencode_tui.tui.pages.page import ListRow, PageScreen
from opencode_tui.tui.prompt.draft import clean
from opencode_tui.tui.widgets.row import Piece

LABEL = 14
"""Cells of the column with the names of the fields."""

MAX_TEXT = 20_000


class Field(Struct, frozen=True):
    """A field: a text that is typed, or one of `choices`, each a value and what it means; `hint` is shown while it is empty."""

    id: str
    label: str
    value: str = ""
    hint: str = ""
    choices: tuple[tuple[str, str], ...] = ()


class Outcome(Struct, frozen=True):
    """What a form would write: the file, its lines, and why it cannot be written yet."""

    path: str
    lines: Sequence[str]
    problem: str = ""


Values = Mapping[str, str]


class FormScreen(PageScreen):
    """The fields are `fields_of` the present values; `outcome` is shown below them; `done` gets the values that can be written."""

    has_preview = False
    scopes = ("list:form", "list")

    def __init__(
        self,
        title: str,
        fields_of: Callable[[Values], Sequence[Field]],
        *,
        outcome: Callable[[Values], Outcome],
        done: Callable[[Values], object],
        values: Values | None = None,
        closed: Callable[[], object],
    ) -> None:
        super().__init__()
        self._title = title
        self._fields_of = fields_of
        self._outcome = outcome
        self._done = done
        self._left = closed
        self._is_missing = False
        """Whether the message says what is missing."""
        self._values: dict[str, str] = {one.id: one.value for one in fields_of(values or {})} | dict(values or {})

    def fill(self) -> None:
        """Show the fields."""
        self.head.show([([(self._title, self.style("text", bold=True))], [])])
        self._show()

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions: the next field, another choice, and writing."""
        one = self._field()
        is_last = one is not None and one.id == self._fields[-1].id
        switch = [KeyAction("form_switch", "another", self._switch)] if one is not None and one.choices else []
        return [
            chooses("write" if is_last else "next field", self._write if is_last else partial(self.move, 1)),
            *switch,
            KeyAction("form_write", "write", self._write),
        ]

    def key_actions(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions that move between the fields, edit the selected one, and end the form."""
        one = self._field()
        text: Mapping[str, Callable[[], object]] = {}
        if one is not None and not one.choices:
            text = edits(self._values[one.id], self._put)
        return {
            **{name: partial(self.move, rows) for name, rows in moves("list", 5).items()},
            **by_id(*self.page_actions(), leaves("cancel", self._cancel)),
            "form_next": partial(self.move, 1),
            "form_previous": partial(self.move, -1),
            "form_newline": partial(self.type_text, "\n"),
            **text,
        }

    def show_keys(self) -> None:
        """Draw the row of keys again; above it what is missing, or what the list cuts of the selected field's hint."""
        self.foot.show([*self.page_actions(), leaves("cancel", self._cancel)], keeps_message=True)
        one = self._field()
        if not self._is_missing:
            self.foot.show_message(self.cut_words() if one is not None and (one.choices or not one.value) else "")

    def type_text(self, text: str) -> None:
        """Add text to the selected field; of a choice a blank shows the next one."""
        one = self._field()
        if one is None:
            return
        if one.choices:
            if text == " ":
                self._switch()
            return
        self._put(self._values[one.id] + clean(text))

    def on_page_list_moved(self) -> None:
        """Show the cursor in the selected field, and its keys."""
        self.show_keys()

    def on_page_list_opened(self) -> None:
        """Show another choice of the clicked field."""
        self._switch()

    @property
    def _fields(self) -> Sequence[Field]:
        return [replace(one, value=self._values.get(one.id, one.value)) for one in self._fields_of(self._values)]

    def _field(self) -> Field | None:
        return next((one for one in self._fields if one.id == self.listing.chosen), None)

    def _put(self, text: str) -> None:
        one = self._field()
        if one is not None:
            self._values[one.id] = text[:MAX_TEXT]
            self._show()

    def _switch(self) -> None:
        one = self._field()
        if one is None or not one.choices:
            return
        names = [name for name, _ in one.choices]
        at = names.index(one.value) if one.value in names else -1
        self._values[one.id] = names[(at + 1) % len(names)]
        self._values |= {new.id: self._values.get(new.id, new.value) for new in self._fields_of(self._values)}
        self._show()

    def _write(self) -> None:
        outcome = self._outcome(self._values)
        if outcome.problem:
            self._is_missing = True
            self.foot.show_message(screen_line(outcome.problem), "warning")
            return
        self.dismiss(None)
        self._done(dict(self._values))

    def _cancel(self) -> None:
        self.dismiss(None)
        self._left()

    def _show(self) -> None:
        self._is_missing = False
        fields, outcome = self._fields, self._outcome(self._values)
        rows = [row for one in fields for row in self._rows(one)]
        rows += [self.sentence(""), self.sentence(f"Writes {screen_line(outcome.path)}", "accent"), self.sentence("")]
        width = max(20, self.app.size.width - 8)
        for line in outcome.lines:
            safe = screen_line(line)
            rows += [self.sentence(f"  {safe[start:end]}") for start, end in breaks(safe, width)] or [self.sentence("")]
        self.listing.show(rows, chosen=self.listing.chosen or fields[0].id)
        self.show_keys()

    def _rows(self, one: Field) -> list[ListRow]:
        """Return the rows of a field: further lines of its text are rows of their own."""
        room = max(20, self.app.size.width - LABEL - 9)
        lines = [line[at:end] for line in screen_lines(one.value) for at, end in breaks(line, room) or [(0, 0)]]
        meaning = dict(one.choices).get(one.value, "")

        def left(area: str) -> Sequence[Piece]:
            is_here = area == "selection"
            pieces: list[Piece] = [(f"  {pad(one.label, LABEL)}  ", self.style("text" if is_here else "muted", area))]
            text = self.style("text", area, bold=is_here)
            if one.choices:
                return [*pieces, (one.value, text), (f"   {meaning}", self.style("muted", area))]
            pieces.append((lines[0] if lines else "", text))
            if is_here and len(lines) < 2:
                pieces.append((" ", text + Style(reverse=True)))
            if not one.value:
                pieces.append((f" {one.hint}" if is_here else one.hint, self.style("muted", area)))
            return pieces

        rows = [ListRow(left, None, one.id)]
        rest = lines[1:] if not one.choices else []
        for number, line in enumerate(rest, 2):
            end = number == len(lines) and one.id == self.listing.chosen
            rows.append(ListRow(partial(self._continued, line, is_end=end)))
        return rows

    def _continued(self, line: str, area: str, *, is_end: bool) -> Sequence[Piece]:
        text = self.style("text", area)
        cursor: list[Piece] = [(" ", text + Style(reverse=True))] if is_end else []
        return [(f"  {pad('', LABEL)}  ", text), (line, text), *cursor]
