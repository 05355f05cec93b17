"""Sets of names, written as plain text so that a long list stays readable."""


def names(text: str) -> frozenset[str]:
    """Return the blank-separated words of a text."""
    return frozenset(text.split())
