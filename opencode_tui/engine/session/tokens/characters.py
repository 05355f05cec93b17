"""Pure: the approximate size of a text in tokens, four characters each. Source: docs/internals/loop.md#tokens-and-cost.

Pruning uses this rule to behave like OpenCode; `estimate.py` estimates requests more exactly.
"""

CHARACTERS = 4
"""UTF-16 units of one token."""


def tokens_by_length(text: str) -> int:
    """Return the tokens of a text: its UTF-16 units over four, halves rounded up."""
    units = len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
    return (units + CHARACTERS // 2) // CHARACTERS
