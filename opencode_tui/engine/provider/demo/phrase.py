"""English phrases with their quoted pieces set aside, so that rules match the words around what a person quotes.

A quoted piece (backticks, quotation marks, a fence, text below a line that ends in a colon) is replaced by a mark `\\x01N\\x02`.
"""

import re

MARK = "\x01\\d+\x02"

_QUOTED = re.compile(
    r"```[^\n`]*\n(?P<fence>.*?)\n?```"
    r"|`(?P<tick>[^`\n]+)`"
    r'|"(?P<double>[^"\n]*)"'
    r"|“(?P<curly>[^”\n]*)”"
    r"|(?<!\w)'(?P<single>[^'\n]+)'(?!\w)"
    r"|(?<=:)[ \t]*\n(?P<below>(?!\s*```)(?!\s*(?:[-*]|\d+[.)])\s).+)\Z",
    re.DOTALL,
)
_MARK = re.compile("\x01(\\d+)\x02")
_PATH_TOKEN = re.compile("\x01\\d+\x02|[^\\s,;:()?!]+")
_FILE_ENDING = re.compile(r"[^\s/]\.[A-Za-z][A-Za-z0-9]{0,9}\Z|(?:\A|/)\.[A-Za-z][\w.-]*\Z")
_LINE_RANGE = re.compile(r"#L?\d+(?:-L?\d+)?\Z")
_BARE_NAMES = {"makefile", "dockerfile", "license", "readme", "changelog", "todo.txt", "gemfile", "procfile"}


class Phrase:
    """A text whose quoted pieces are set aside; `masked` is the rest with marks."""

    def __init__(self, text: str) -> None:
        self._pieces: list[str] = []
        self._quoted: list[str] = []
        self.masked = _QUOTED.sub(self._set_aside, text.replace("\x01", "").replace("\x02", ""))

    def _set_aside(self, match: re.Match[str]) -> str:
        self._pieces.append(next(piece for piece in match.groups() if piece is not None))
        self._quoted.append(match[0])
        return f" \x01{len(self._pieces) - 1}\x02" if match["below"] is not None else f"\x01{len(self._pieces) - 1}\x02"

    def plain(self, masked: str) -> str:
        """Return a masked piece with the marks replaced by what they stand for."""
        return _MARK.sub(lambda match: self._pieces[int(match[1])], masked).strip()

    def words(self, masked: str) -> str:
        """Return a piece as the person meant it: without quotation marks when all of it is quoted, else word for word.

        The final stop and courtesy of an unquoted piece are dropped.
        """
        bare = masked.strip()
        if re.fullmatch(MARK, bare):
            return self.plain(bare)
        bare = re.sub(r"(?:[\s,]+(?:please|for me|thanks|thank you))*\s*(?:(?<=[\w)\x02])[.!?]+)?\s*\Z", "", bare)
        return _MARK.sub(lambda match: self._quoted[int(match[1])], bare).strip()

    def paths(self, masked: str) -> list[str]:
        """Return what looks like a file or folder in a masked piece, in order, each once."""
        tokens = (
            _unreferenced(self.plain(token).rstrip(".")).removeprefix("./") for token in _PATH_TOKEN.findall(masked)
        )
        return list(dict.fromkeys(token for token in tokens if is_path(token)))

    def name(self, masked: str) -> str:
        """Return a piece as `words` does, a reference to a file as the file's name."""
        words = self.words(masked)
        named = _unreferenced(words)
        return named if is_path(named) else words


def _unreferenced(word: str) -> str:
    """Return a word without the `@` and the range of lines by which a person refers to a file."""
    return _LINE_RANGE.sub("", word[1:]) if word.startswith("@") else word


def is_path(text: str) -> bool:
    """Tell whether a word looks like a file's or folder's name."""
    if not text or re.search(r"\s|://", text):
        return False
    return "/" in text.strip("/") or _FILE_ENDING.search(text) is not None or text.lower() in _BARE_NAMES
