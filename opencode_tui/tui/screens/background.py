"""The page of background commands: their list, and the growing output of one."""

from collections.abc import Sequence
from functools import partial

from opencode_tui.schema.api.background import BackgroundCommand, BackgroundText
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.cells import clip, pad
from opencode_tui.text.quantity import byte_words, plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chrome.sidebar import background_state
from opencode_tui.tui.keys.router import KeyAction
from opencode_tui.tui.screens.page import Entry, PageScreen
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.widgets.row import Piece

POLL_S = 0.5
COMMAND = 30
"""Cells of the column with the command."""

_TEXT_CHARS = 64_000
"""How much of an output the page keeps."""


class BackgroundScreen(PageScreen):
    """The commands of the shown session; enter shows the output of one, where escape goes back."""

    has_preview = False
    scopes = ("page:background", "page")

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
        self._error = ""
        """Why the last read failed."""
        self._stop_error = ""
        """Why the last stop failed; until the page shows something else."""
        self._is_reading = False
        self._is_stale = False

    def fill(self) -> None:
        """Show the list and keep it current."""
        self.set_interval(POLL_S, self._follow)
        self._draw()
        self._follow()

    def page_actions(self) -> Sequence[KeyAction]:
        """Return the actions for the selected or shown command."""
        actions: list[KeyAction] = []
        if not self._shown and self.listing.chosen:
            actions.append(KeyAction("page_open", "output", self._open))
        one = self._find(self._shown or self.listing.chosen)
        if one is not None and one.is_running:
            actions.append(KeyAction("background_stop", "stop", self._stop))
        return actions

    def show_keys(self) -> None:
        """Draw the row of keys again."""
        super().show_keys()
        self.foot.show_message(screen_line(self._error or self._stop_error), "error")

    def on_page_list_opened(self) -> None:
        """Show the output of the clicked command."""
        self._open()

    def move(self, rows: int) -> None:
        """Scroll the output, or move the selection."""
        if self._shown:
            self._above = max(0, self._above - rows)
            self._draw()
        else:
            super().move(rows)

    def close_page(self) -> None:
        """Go back from an output to the list, or close the page."""
        if self._shown:
            self._shown, self._stop_error = "", ""
            self._draw()
        else:
            super().close_page()

    def _find(self, name: str) -> BackgroundCommand | None:
        return next((one for one in self._commands if one.id == name), None)

    def _open(self) -> None:
        if not self._shown and self.listing.chosen:
            self._shown, self._text, self._position, self._above = self.listing.chosen, "", 0, 0
            self._stop_error = ""
            self._draw()
            self._read_now()

    def _stop(self) -> None:
        self.run_worker(partial(self._stop_one, self._shown or self.listing.chosen), group="stop", exit_on_error=False)

    async def _stop_one(self, name: str) -> None:
        try:
            await self._control.client.background.stop(name)
            self._stop_error = ""
        except OpencodeError as error:
            self._stop_error = str(error)
        self._read_now()

    def _follow(self) -> None:
        """Read, unless a read is under way: one of a remote engine may last longer than the time between two."""
        if not self._is_reading:
            self._is_reading = True
            self.run_worker(self._read, group="read", exit_on_error=False)

    def _read_now(self) -> None:
        """Read what is there from now on: after the read that is under way, if there is one."""
        self._is_stale = True
        self._follow()

    async def _read(self) -> None:
        try:
            while True:
                self._is_stale = False
                await self._read_once()
                if not self._is_stale:
                    return
        finally:
            self._is_reading = False

    async def _read_once(self) -> None:
        client, shown, since = self._control.client.background, self._shown, self._position
        try:
            self._commands = await client.list(self._session_id)
            if shown:
                self._add(await client.output(shown, since), since)
            self._error = ""
        except OpencodeError as error:
            self._error = str(error)
        self._draw()

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

    def _draw(self) -> None:
        one = self._find(self._shown)
        if one is None:
            self._shown = ""
            running = sum(each.is_running for each in self._commands)
            title: list[Piece] = [("Background commands", self.style("text", bold=True))]
            words = f"{running} running" if running else plural(len(self._commands), "command")
            self.head.show([(title, [(words, self.style("muted"))])])
            self.listing.show([self._entry(each) for each in self._commands])
        else:
            sign, hue, state = background_state(one, self.listing.look.glyphs, self._control.now())
            title = [
                (f"{sign} ", self.style(hue)),
                (f"{one.id}  ", self.style("muted")),
                (screen_line(one.command), self.style("text", bold=True)),
            ]
            self.head.show([(title, [(f"  {state}", self.style("muted"))])])
            self.listing.show(self._lines())
        self.show_keys()

    def _lines(self) -> list[Entry]:
        """Return the visible end of the output."""
        lines = [line.rpartition("\r")[2] for line in self._text.rstrip("\n").replace("\r\n", "\n").split("\n")]
        room = max(1, self.listing.size.height)
        self._above = min(self._above, max(0, len(lines) - room))
        last = len(lines) - self._above
        return [self._line(line) for line in lines[max(0, last - room) : last]]

    def _line(self, line: str) -> Entry:
        shown = screen_line(line)
        return Entry(lambda area: [(f" {shown}", self.style("text", area))])

    def _entry(self, one: BackgroundCommand) -> Entry:
        glyphs = self.listing.look.glyphs
        sign, hue, state = background_state(one, glyphs, self._control.now())

        def left(area: str) -> Sequence[Piece]:
            command = pad(clip(screen_line(one.command), COMMAND, glyphs.ellipsis), COMMAND)
            return [
                (f" {sign} ", self.style(hue, area)),
                (f"{pad(screen_line(one.id), 5)} ", self.style("muted", area)),
                (f"{command}  ", self.style("text", area, bold=area == "selection")),
                (f"{pad(state, 8)} ", self.style("muted", area)),
                (screen_line(one.line), self.style("muted", area)),
            ]

        return Entry(left, None, one.id)
