"""A long answer in the mixed markdown that models write, cut into tokens of about four letters; the same in every run."""

import random
from collections.abc import Iterator

_TEXT = """\
the parser reads each line on its own and drops the last one because the bound is short by one so every fixture that ends
with a line feed hides it until somebody counts the rows by hand and compares them with what the writer wrote"""
_WORDS = _TEXT.split()
_WIDE = "行の最後が失われるので、範囲を一つ広げる必要があります。"
_CODE = """\
```python
def rows_from(text: str) -> Iterator[Row]:
    \"\"\"Yield the rows.\"\"\"
    lines = text.splitlines()
    for number in range(len(lines)):
        yield parse(lines[number])  # one line, one row
```
"""
_TABLE = """\
| file | rows | lost |
|---|---:|---:|
| `parser.py` | 120 | 1 |
| `writer.py` | 98 | 0 |
| 日本語.csv | 7 | 1 |
"""


def mixed_markdown(tokens: int) -> str:
    """Return about so many tokens of prose, lists, code, tables and wide letters."""
    dice = random.Random(7)
    blocks: list[str] = []
    size = 0
    while size < tokens * 4:
        kind = dice.randrange(8)
        if kind == 0:
            block = f"## {' '.join(dice.sample(_WORDS, 4)).capitalize()}\n"
        elif kind == 1:
            block = (
                "\n".join(f"- **{dice.choice(_WORDS)}** {' '.join(dice.sample(_WORDS, 9))}" for _ in range(4)) + "\n"
            )
        elif kind == 2:
            block = _CODE
        elif kind == 3:
            block = _TABLE
        elif kind == 4:
            block = _WIDE * 2 + "\n"
        else:
            words = dice.choices(_WORDS, k=60)
            words[7], words[20] = f"`{words[7]}()`", f"*{words[20]}*"
            block = " ".join(words) + ".\n"
        blocks.append(block)
        size += len(block) + 1
    return "\n".join(blocks)


def one_fence(tokens: int) -> str:
    """Return about so many tokens as one block of code."""
    lines = _CODE.splitlines()[1:-1]
    count = tokens * 4 // (sum(map(len, lines)) + len(lines)) + 1
    return "```python\n" + "\n".join(lines * count) + "\n```\n"


def tokens_of(text: str, size: int = 4) -> Iterator[str]:
    """Yield the text in tokens."""
    for at in range(0, len(text), size):
        yield text[at : at + size]
