"""The page of agents, commands and skills: which there are, and the files of those that the user or the project defines."""

from collections.abc import Callable, Sequence
from pathlib import Path

from msgspec import Struct

from opencode_tui.client.definitions import KINDS, Kind
from opencode_tui.schema.api.project import Places
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.cells import clip, pad
from opencode_tui.text.permission import short_source
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.external_editor import open_file
from opencode_tui.tui.keys.keyed import KeyAction
from opencode_tui.tui.pages.list_page import ListPage
from opencode_tui.tui.pages.page import ListRow

NAME = 24
"""Most cells of the column with the names."""

HEADS: dict[Kind, str] = {"agent": "Agents", "command": "Commands", "skill": "Skills"}


class Defined(Struct, frozen=True):
    """An agent, a command or a skill; `file` is None for a built-in one and one of another source."""

    kind: Kind
    name: str
    about: str
    file: Path | None = None
    is_built_in: bool = False


class DefinitionsScreen(ListPage):
    """`added` opens the form for one of a kind; `changed` is called when the page is left after a file was edited."""

    has_preview = False
    scopes = ("page:definitions", "page")
    heading = "Agents, commands and skills"
    every_s = 3600.0

    def __init__(
        self,
        defined: Sequence[Defined],
        places: Places,
        *,
        added: Callable[[Kind], object],
        changed: Callable[[], object],
    ) -> None:
        super().__init__()
        self._defined = defined
        self._places = places
        self._added = added
        self._changed = changed
        self._is_edited = False

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions: add one of the kind of the selected row, open its file."""
        kind = self._kind()
        one = self._find()
        actions = [
            KeyAction("definition_add", f"add {'an' if kind == 'agent' else 'a'} {kind}", lambda: self._add(kind))
        ]
        if one is not None and (file := one.file) is not None:
            actions.append(KeyAction("definition_edit", "open its file", lambda: self._edit(file)))
        return actions

    def _find(self) -> Defined | None:
        return next((one for one in self._defined if _id(one) == self.listing.chosen), None)

    def _kind(self) -> Kind:
        if self.listing.chosen.startswith("command:"):
            return "command"
        return "skill" if self.listing.chosen.startswith("skill:") else "agent"

    def _add(self, kind: Kind) -> None:
        self.dismiss(None)
        self._added(kind)

    def _edit(self, file: Path) -> None:
        async def work() -> None:
            try:
                if await open_file(self, file, 0):
                    for widget in self.query("*"):
                        widget.refresh()
                self._is_edited = True
            except OpencodeError as error:
                self.error = str(error)
                self.draw()

        self.run_worker(work, group="edit", exit_on_error=False)

    def close_page(self) -> None:
        """Close the page."""
        self.dismiss(None)
        if self._is_edited:
            self._changed()

    async def load(self) -> None:
        """Nothing is read again: the page is opened anew after each change."""

    def summary(self) -> str:
        """Return how many have a file of the user or the project."""
        return f"{sum(one.file is not None for one in self._defined)} of your own"

    def entries(self) -> Sequence[ListRow]:
        """Return a heading for each kind, and a row for each of it; below an empty kind how one is added."""
        rows: list[ListRow] = []
        for kind in KINDS:
            found = [one for one in self._defined if one.kind == kind]
            rows += [self.sentence("")] if rows else []
            rows.append(self.sentence(HEADS[kind], "text", bold=True))
            rows += [self._entry(one) for one in found]
            if not found:
                words = [(f"No {kind} of your own yet", "muted")]
                rows.append(self.row(f"{kind}:", (" ", "muted"), words))
        return rows

    def _entry(self, one: Defined) -> ListRow:
        mark = self.listing.look.glyphs.ellipsis
        name = f"/{one.name}" if one.kind == "command" else one.name
        columns = [
            (f"{pad(clip(screen_line(name), NAME, mark), NAME)} ", "text"),
            (screen_line(" ".join(one.about.split())), "muted"),
        ]
        source = "built in" if one.is_built_in else short_source(str(one.file or ""), self._places)
        left = self.row(_id(one), (" ", "muted"), columns).left
        shown = clip(screen_line(source), max(8, self.app.size.width // 2), mark)
        return ListRow(left, lambda area: [(f"  {shown}", self.style("muted", area))], _id(one))


def _id(one: Defined) -> str:
    return f"{one.kind}:{one.name}"
