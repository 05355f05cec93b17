"""The page of background commands: their list, and the growing output of one."""

from collections.abc import Sequence
from functools import partial

from opencode_tui.schema.api.background import BackgroundCommand, BackgroundText
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.cells import clip, pad
from opencode_tui.text.quantity import byte_words, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chrome.sections import background_state
from opencode_tui.tui.keys.keyed import KeyAction, opens
from opencode_tui.tui.pages.list_page import ListPage
from opencode_tui.tui.pages.page import ListRow
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.widgets.row import Piece

COMMAND = 30
"""Cells of the column with the command."""

_TEXT_CHARS = 64_000
"""How much of an output the page keeps."""


class BackgroundScreen(ListPage):
    """The commands of the shown session; enter shows the output of one, where escape goes back."""

    has_preview = False
    scopes = ("page:background", "page")
    heading = "Background commands"
    every_s = 0.5

    def __init__(self, control: SessionController) -> None:
        super().__init__()
        self._control = control
        self._session_id = control.session_id
        self._commands: Sequence[BackgroundCommand] = control.folder.background_of(control.session_id)
        self._shown = ""
        """The id of the command whose output is shown; empty for the list."""
        self._text: str = ""
        self._position: int = 0
        self._above: int = 0
        """How many lines the output is scrolled up."""
        self._stop_error = ""
        """Why the last stop failed; until the page shows something else."""

    def fill(self) -> None:
        """Show the list and keep it current."""
        super().fill()
        self.follow()

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions for the selected or shown command."""
        actions: list[KeyAction] = []
        if not self._shown and self.listing.chosen:
            actions.append(opens("output", self._open))
        one = self._find(self._shown or self.listing.chosen)
        if one is not None and one.is_running:
            actions.append(KeyAction("background_stop", "stop", self._stop))
        return actions

    def show_keys(self) -> None:
        """Draw the row of keys again."""
        super().show_keys()
        self.foot.show_message(screen_line(self.error or self._stop_error), "error")

    def on_page_list_opened(self) -> None:
        """Show the output of the clicked command."""
        self._open()

    def move(self, rows: int) -> None:
        """Scroll the output, or move the selection."""
        if self._shown:
            self._above = max(0, self._above - rows)
            self.draw()
        else:
            super().move(rows)

    def close_page(self) -> None:
        """Go back from an output to the list, or close the page."""
        if self._shown:
            self._shown, self._stop_error = "", ""
            self.draw()
        else:
            super().close_page()

    def _find(self, name: str) -> BackgroundCommand | None:
        return next((one for one in self._commands if one.id == name), None)

    def _open(self) -> None:
        if not self._shown and self.listing.chosen:
            self._shown, self._text, self._position, self._above = self.listing.chosen, "", 0, 0
            self._stop_error = ""
            self.draw()
            self.read_now()

    def _stop(self) -> None:
        self.run_worker(partial(self._stop_one, self._shown or self.listing.chosen), group="stop", exit_on_error=False)

    async def _stop_one(self, name: str) -> None:
        try:
            await self._control.client.background.stop(name)
            self._stop_error = ""
        except OpencodeError as error:
            self._stop_error = str(error)
        self.read_now()

    async def load(self) -> None:
        """Read the commands, and what the shown one has written since."""
        client, shown, since = self._control.client.background, self._shown, self._position
        self._commands = await client.list(self._session_id)
        if shown:
            self._add(await client.output(shown, since), since)
        self.error = ""

    def _add(self, found: BackgroundText, since: int) -> None:
        if found.command.id != self._shown or since != self._position:
            return  # another output is shown meanwhile
        left_out = ""
        if found.skipped:
            where = f"; all of it is in {found.path}" if found.path is not None else ""
            left_out = f"({byte_words(found.skipped)} left out{where})\n"
            if self._text and not self._text.endswith("\n"):
                left_out = f"\n{left_out}"
        self._text = (self._text + left_out + found.text)[-_TEXT_CHARS:]
        self._position = found.position

    def summary(self) -> str:
        """Return how many run."""
        running = sum(each.is_running for each in self._commands)
        return f"{running} running" if running else plural(len(self._commands), "command")

    def draw(self) -> None:
        """Draw the list, or the output of the shown command."""
        one = self._find(self._shown)
        if one is None:
            self._shown = ""
            super().draw()
            return
        sign, hue, state = background_state(one, self.listing.look.glyphs, self._control.now())
        title: list[Piece] = [
            (f"{sign} ", self.style(hue)),
            (f"{one.id}  ", self.style("muted")),
            (screen_line(one.command), self.style("text", bold=True)),
        ]
        self.head.show([(title, [(f"  {state}", self.style("muted"))])])
        self.listing.show(self._lines())
        self.show_keys()

    def _lines(self) -> list[ListRow]:
        """Return the visible end of the output."""
        lines = [line.rpartition("\r")[2] for line in self._text.rstrip("\n").replace("\r\n", "\n").split("\n")]
        room = max(1, self.listing.size.height)
        self._above = min(self._above, max(0, len(lines) - room))
        last = len(lines) - self._above
        return [self._line(line) for line in lines[max(0, last - room) : last]]

    def _line(self, line: str) -> ListRow:
        shown = screen_line(line)
        return ListRow(lambda area: [(f"  {shown}", self.style("text", area))])

    def entries(self) -> Sequence[ListRow]:
        """Return a row for each command: its id, the command, its state, and its last line."""
        glyphs, now = self.listing.look.glyphs, self._control.now()
        rows: list[ListRow] = []
        for one in self._commands:
            sign, hue, state = background_state(one, glyphs, now)
            columns = [
                (f"{pad(screen_line(one.id), 5)} ", "muted"),
                (f"{pad(clip(screen_line(one.command), COMMAND, glyphs.ellipsis), COMMAND)}  ", "text"),
                (f"{pad(state, 8)} ", "muted"),
                (screen_line(one.line), "muted"),
            ]
            rows.append(self.row(one.id, (sign, hue), columns))
        return rows
