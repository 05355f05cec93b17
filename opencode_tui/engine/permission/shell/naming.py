"""Sets of names, written as text so that a long list is readable."""


def names(text: str) -> frozenset[str]:
    """Return the blank-separated words of a text."""
    return frozenset(text.split())
