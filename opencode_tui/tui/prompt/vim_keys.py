"""What the prompt needs of the keys of vim, which `opencode_tui/extras/vim/` implements."""

import re
from collections.abc import Callable
from typing import Literal, Protocol

Mode = Literal["insert", "normal", "visual", "visual line"]


class VimKeys(Protocol):
    """A text with a cursor that keys change; the caller sets both before a key and shows both after it."""

    mode: Mode
    text: str
    cursor: int

    @property
    def is_waiting(self) -> bool:
        """Return whether keys of an incomplete command were pressed."""
        ...

    @property
    def selected(self) -> tuple[int, int]:
        """The start and the end of the selection in visual mode, whole lines in its line mode."""
        ...

    def restart(self) -> None:
        """Begin an empty text, in insert mode."""
        ...

    def press(self, key: str) -> bool:
        """Apply a key, a character or a name; return whether it was used. In insert mode only `escape` is."""
        ...


VimMaker = Callable[[re.Pattern[str]], VimKeys]
"""Returns the keys for an empty text; a match of the pattern is deleted completely or not at all."""
