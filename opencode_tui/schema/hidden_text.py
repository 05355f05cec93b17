"""Text of repositories and servers for a model: characters that no reader sees are written out, so that nothing is said in secret.

Tags (U+E0000 to U+E007F) repeat ASCII invisibly, and models read them; direction marks show a line in another order than it has.
"""

import re
from typing import Any, cast

_HIDDEN = r"[\u202a-\u202e\u2061-\u2064\u2066-\u2069\U000e0000-\U000e01ef]"

_SAID = ("description", "title")


def show_hidden(text: str) -> str:
    r"""Return a text with its hidden characters as `\U000e0041`; ordinary text, emoji and joiners stay."""
    return text if text.isascii() else re.sub(_HIDDEN, lambda match: f"\\U{ord(match.group()):08x}", text)


def show_hidden_descriptions(schema: Any) -> Any:
    """Return a JSON Schema with the hidden characters of its descriptions and titles written out; values stay."""
    if isinstance(schema, list):
        return [show_hidden_descriptions(one) for one in cast("list[Any]", schema)]
    if not isinstance(schema, dict):
        return schema
    return {
        key: show_hidden(value) if key in _SAID and isinstance(value, str) else show_hidden_descriptions(value)
        for key, value in cast("dict[str, Any]", schema).items()
    }
