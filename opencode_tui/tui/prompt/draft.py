"""What the user is about to send: the text with markers, and what each marker represents."""

import base64
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from opencode_tui.tui.prompt.clean import clean

if TYPE_CHECKING:
    from opencode_tui.schema.api.request import PromptPart


@dataclass(frozen=True, slots=True)
class Attachment:
    """What a marker represents: a text that was pasted, or the bytes of an image."""

    text: str = ""
    data: bytes = b""
    mime: str = "text/plain"
    name: str = ""


@dataclass(frozen=True, slots=True)
class Draft:
    """A text and its attachments by marker; a marker that was deleted in the text counts no more."""

    text: str = ""
    attachments: Mapping[str, Attachment] = field(default_factory=dict[str, Attachment])

    @property
    def whole(self) -> str:
        """The text with the pasted texts in the places of their markers."""
        text = self.text
        for marker, one in self.attachments.items():
            if not one.data:
                text = text.replace(marker, one.text)
        return text

    def parts(self) -> "list[PromptPart]":
        """Return what goes with the text."""
        from opencode_tui.schema.api.request import FileInput  # the first frame does without

        found: list[PromptPart] = []
        for marker, one in self.attachments.items():
            if one.data and marker in self.text:
                url = f"data:{one.mime};base64,{base64.b64encode(one.data).decode('ascii')}"
                found.append(FileInput(mime=one.mime, filename=one.name or marker.strip("[]"), url=url))
        return found


def paste_marker(text: str, number: int) -> str:
    """Return `[Pasted 120 lines]`; the number tells two of the same size apart."""
    lines = clean(text).count("\n") + 1
    size = f"{lines} lines" if lines > 1 else f"{len(text)} characters"
    return f"[Pasted {size}]" if number == 1 else f"[Pasted {size} #{number}]"
