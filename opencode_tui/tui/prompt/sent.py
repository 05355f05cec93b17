"""The prompt of a message that was sent, as a draft that is sent in the same way."""

import base64
import re
from collections.abc import Iterable
from itertools import count

from opencode_tui.schema.session.part import AnyPart, FilePart, TextPart
from opencode_tui.tui.prompt.draft import Attachment, Draft, marker_of

_NUMBER = re.compile(r"\[(?:Image|File) (\d{1,9})\]")


def draft_of(parts: Iterable[AnyPart]) -> Draft:
    """Return the text of a request with its files, each under its marker in the text, else under one at its end.

    A file that the text names by `@` is not attached: it is read again.
    """
    given = list(parts)
    text = "\n".join(part.text for part in given if isinstance(part, TextPart) and not part.synthetic)
    numbers = sorted({int(found) for found in _NUMBER.findall(text)})
    attachments: dict[str, Attachment] = {}
    for part in given:
        if not isinstance(part, FilePart) or _is_named(part, text):
            continue
        one = _attachment(part)
        written = (marker for number in numbers if (marker := marker_of(one, number)) in text)
        marker = next((marker for marker in written if marker not in attachments), "")
        if not marker:
            marker = next(name for number in count(1) if (name := marker_of(one, number)) not in attachments)
            text = f"{text} {marker}" if text and not text[-1].isspace() else f"{text}{marker}"
        attachments[marker] = one
    return Draft(text, attachments)


def _is_named(part: FilePart, text: str) -> bool:
    """Return whether the text refers to a file; the files of a command do not say where."""
    if part.source is not None and part.source.text.value in text:
        return True
    return any(name in text for name in (f"@{part.filename}", f'@"{part.filename}"'))


def _attachment(part: FilePart) -> Attachment:
    head, _, data = part.url.partition(",")
    if part.mime.startswith("image/") and head.startswith("data:") and head.endswith(";base64"):
        try:
            return Attachment(data=base64.b64decode(data), mime=part.mime, name=part.filename or "")
        except ValueError:  # a record of another program: what it has is sent again
            pass
    return Attachment(mime=part.mime, name=part.filename or "", url=part.url)
