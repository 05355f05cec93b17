"""The base class of pages with one list that is read again every few seconds, a row for each thing."""

from collections.abc import Sequence

from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.pages.page import ListRow, PageScreen
from opencode_tui.tui.widgets.row import Piece


class ListPage(PageScreen):
    """Subclasses say what is read, what is above the list, and which columns a row has."""

    heading = ""
    every_s = 1.0
    """Seconds between two readings."""

    def __init__(self) -> None:
        super().__init__()
        self.error = ""
        """Why the last reading or action failed."""
        self._is_reading = False
        self._is_stale = False

    async def load(self) -> None:
        """Read what the rows show. Raises OpencodeError."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return what is at the right of the title."""
        raise NotImplementedError

    def entries(self) -> Sequence[ListRow]:
        """Return the rows."""
        raise NotImplementedError

    def fill(self) -> None:
        """Show the list and keep it current."""
        self.set_interval(self.every_s, self.follow)
        self.draw()

    def follow(self) -> None:
        """Read in the background, unless a read is under way: one of another engine may last longer than the time between two."""
        if not self._is_reading:
            self._is_reading = True
            self.run_worker(self._read_until_fresh, group="read", exit_on_error=False)

    def read_now(self) -> None:
        """Read what is there from now on: after the read that is under way, if there is one."""
        self._is_stale = True
        self.follow()

    async def _read_until_fresh(self) -> None:
        try:
            while True:
                self._is_stale = False
                await self.read()
                if not self._is_stale:
                    return
        finally:
            self._is_reading = False

    async def read(self) -> None:
        """Read again, and draw what was read or why it failed."""
        try:
            await self.load()
        except OpencodeError as error:
            self.error = str(error)
        self.draw()

    def draw(self) -> None:
        """Draw the title, the rows and the keys."""
        title: list[Piece] = [(self.heading, self.style("text", bold=True))]
        self.head.show([(title, [(self.summary(), self.style("muted"))])])
        self.listing.show(self.entries())
        self.show_keys()

    def show_keys(self) -> None:
        """Draw the row of keys again, and above it the last error, or the end of the selected row that the list cuts."""
        super().show_keys()
        if self.error:
            self.foot.show_message(screen_line(self.error), "error")
            return
        if not (self.has_preview and self.has_class("-wide")):
            self.foot.show_message(self.cut_words())

    def row(self, row_id: str, sign: tuple[str, str], columns: Sequence[tuple[str, str]]) -> ListRow:
        """Return a row: a sign and its color, then columns, each a safe text and its color; the name has that of text."""

        def left(area: str) -> Sequence[Piece]:
            return [
                (f"{sign[0]} ", self.style(sign[1], area)),
                *(
                    (words, self.style(token, area, bold=token == "text" and area == "selection"))
                    for words, token in columns
                ),
            ]

        return ListRow(left, None, row_id)
