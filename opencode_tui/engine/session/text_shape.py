"""Pure: what a text consists of as far as tokenizers care: words, numbers, marks, blanks, and the scripts of the world.

Each count is one that a byte-pair tokenizer spends about a fixed number of tokens on, so that a weighted sum of them is close to
what it counts. Everything is counted by the C code of `bytes`, 40 million characters a second.
"""

TEXT_COUNTS = (
    "words", "sixes", "humps", "capitals", "numbers", "threes", "mark runs", "marks", "lines", "gaps",
    "han", "kana", "wide", "latin", "symbols", "others",
)  # fmt: skip
"""The counts of a shape in their order: runs of ASCII letters, whole six letters of one run, a capital behind a small letter,
capitals; runs of digits, whole three of one run; runs of ASCII signs, signs; runs of line ends, indents and wide gaps; then
characters of scripts: Han, kana with CJK signs, full-width forms, Latin with accents and Greek, typographic signs, all others.
"""

TextShape = tuple[int, ...]
"""The counts of one text, in the order of `TEXT_COUNTS`."""


def _table(*groups: tuple[bytes, bytes], other: bytes = b" ") -> bytes:
    """Return a table for `bytes.translate` that turns each group's characters into one."""
    table = bytearray(other * 256)
    for characters, name in groups:
        for character in characters:
            table[character] = name[0]
    return bytes(table)


_SMALL, _CAPITAL = bytes(range(97, 123)), bytes(range(65, 91))
_DIGIT = bytes(range(48, 58))
_BLANK = b" \t\r\n"
_SIGN = bytes(set(range(128)) - {*_SMALL, *_CAPITAL, *_DIGIT, *_BLANK})
_LETTERS = _table((_SMALL + _CAPITAL, b"x"))
_DIGITS = _table((_DIGIT, b"x"))
_SIGNS = _table((_SIGN, b"x"))
_CASES = _table((_SMALL, b"a"), (_CAPITAL, b"A"))
_BLANKS = _table((b"\n", b"n"), (b" \t", b" "), other=b"x")
_FOLLOWERS = bytes(range(0x80, 0xC0))
"""The second to fourth bytes of characters in UTF-8; without them each character is its first byte."""
_SCRIPTS = _table(
    (bytes(range(0xC2, 0xD0)), b"l"),
    (bytes([0xE2]), b"s"),
    (bytes([0xE3]), b"k"),
    (bytes(range(0xE4, 0xEA)), b"h"),
    (bytes([0xEF]), b"w"),
    (bytes([*range(0xD0, 0xE2), *range(0xEA, 0xEF), *range(0xF0, 0xF5)]), b"o"),
)
_NO_SCRIPTS = (0,) * 6


def text_shape(text: str) -> TextShape:
    """Return the counts of a text."""
    if text.isascii():
        return (*_ascii_counts(text.encode("ascii")), *_NO_SCRIPTS)
    firsts = text.encode("utf-8", "surrogatepass").translate(None, _FOLLOWERS)
    scripts = firsts.translate(_SCRIPTS)
    return (*_ascii_counts(firsts), *(scripts.count(name) for name in (b"h", b"k", b"w", b"l", b"s", b"o")))


def _ascii_counts(data: bytes) -> TextShape:
    letters, digits = b" " + data.translate(_LETTERS), b" " + data.translate(_DIGITS)
    signs, cases, blanks = b" " + data.translate(_SIGNS), data.translate(_CASES), b"x" + data.translate(_BLANKS)
    return (
        letters.count(b" x"),
        letters.count(b"xxxxxx"),
        cases.count(b"aA"),
        cases.count(b"A"),
        digits.count(b" x"),
        digits.count(b"xxx"),
        signs.count(b" x"),
        signs.count(b"x"),
        blanks.count(b"xn") + blanks.count(b" n"),
        blanks.count(b"n ") + blanks.count(b"x  "),
    )
