"""The texts in place of a hidden secret."""

COVER = "[hidden]"
"""In place of a value that is known to be secret: in settings, headers, addresses and outputs."""

MASK = "***"
"""In place of what may be a key in a message of one line, where its kind says nothing."""

_KIND = COVER.removesuffix("]") + ":"


def cover(kind: str) -> str:
    """Return the text in place of a secret that was found in a text, with its kind."""
    return f"{_KIND}{kind}]"


def is_covered(text: str) -> bool:
    """Return whether a text contains one in place of a secret that was found."""
    return _KIND in text
