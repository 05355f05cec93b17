"""An attachment of the prompt, opened: its text or what is known of the image, and keys to write it out or to remove it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from opencode_tui.text.quantity import plural
from opencode_tui.tui.conversation.tools.tool import FullText
from opencode_tui.tui.prompt.draft import Attachment
from opencode_tui.tui.screens.full_text import FullTextScreen
from opencode_tui.tui.screens.page import PageKey

WRITABLE = 100_000
"""Letters up to which a paste can be written out: the editor lays out every line of it."""


@dataclass(frozen=True, slots=True)
class AttachmentActs:
    """What can be done with it."""

    write_out: Callable[[], object]
    view: Callable[[], object]
    remove: Callable[[], object]


class AttachmentScreen(FullTextScreen):
    """Escape goes back and changes nothing."""

    def __init__(self, marker: str, one: Attachment, acts: AttachmentActs) -> None:
        super().__init__(FullText(marker.strip("[]"), one.text if not one.data else "\n".join(image_facts(one))))
        self._one = one
        self._acts = acts

    def subtitle(self) -> str:
        """What becomes of it."""
        return "sent with the prompt"

    def page_keys(self) -> Sequence[PageKey]:
        """The keys beside escape."""
        keys = [PageKey("d", "remove it", lambda: self._done(self._acts.remove))]
        if self._one.data:
            return [PageKey("o", "open in your viewer", lambda: self._done(self._acts.view)), *keys]
        if len(self._one.text) <= WRITABLE:
            return [PageKey("e", "write it out in the prompt", lambda: self._done(self._acts.write_out)), *keys]
        return keys

    def _done(self, act: Callable[[], object]) -> None:
        act()
        self.dismiss(None)


def image_facts(one: Attachment) -> Sequence[str]:
    """What is known of an image, a line each."""
    size = len(one.data)
    lines = [one.name or "image", f"{one.mime}, {plural(size, 'byte') if size < 2048 else f'{size // 1024} kB'}"]
    if one.data.startswith(b"\x89PNG") and len(one.data) >= 24:
        width, height = (int.from_bytes(one.data[at : at + 4], "big") for at in (16, 20))
        lines.append(f"{width} × {height} pixels")
    return lines
