"""The prompt as it stands on the screen: a bar, the editor, a tone behind both."""

from collections.abc import Sequence

from textual.app import ComposeResult
from textual.containers import Horizontal
from textual.strip import Strip

from opencode_tui.tui.prompt.editor import Editor
from opencode_tui.tui.row import strip
from opencode_tui.tui.rows import Rows


class Bar(Rows):
    """The bar at the left edge of what the person says or is asked; as high as what it stands beside."""

    def __init__(self, token: str = "accent") -> None:
        super().__init__()
        self._token = token

    def rows(self, width: int, height: int) -> Sequence[Strip]:
        """The same sign on every row."""
        palette, glyphs = self.look.palette, self.look.glyphs
        edge, inside = palette.area("background"), palette.style(self._token, "surface")
        return [strip([(" ", edge), (f"{glyphs.user_bar} ", inside)], 3)] * height


class PromptBox(Horizontal):
    """One row high where there is little room, else with an empty row above and below; grows with its text."""

    def __init__(self) -> None:
        super().__init__()
        self.editor = Editor()

    def compose(self) -> ComposeResult:
        """The bar and the editor."""
        yield Bar()
        yield self.editor

    def can_recall(self, action_id: str) -> bool:
        """Whether the key means an earlier or later prompt, not the row above or below."""
        return False
