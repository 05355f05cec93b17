"""Which names are the same on a disk: the spellings under which a file system finds an entry besides the stored one.

macOS and Windows, and what they share with Linux (Docker Desktop, `/mnt` of WSL), find `.env` as `.ENV` as well, macOS also `é` in
either form of Unicode. Only the disk knows: it is asked whether another spelling of a name that exists leads to the same entry.
Nothing is created for that. Everything but `key` blocks.
"""

import os
import unicodedata
from collections.abc import Iterator, Sequence
from functools import cache
from pathlib import Path

_BASIC_PLANE = 0x10000
_LONGEST = 3
"""Characters that one other character may stand for, as `ffi` in a ligature."""


def key(name: str) -> str:
    """Return the form that is equal for all spellings of a name on a file system that ignores case and form."""
    if name.isascii():
        return name.lower()
    return unicodedata.normalize("NFD", unicodedata.normalize("NFD", name).casefold())


class AnySpelling(str):
    """A path as `key` has it: a rule that does not allow matches it in any spelling of the rule's own pattern."""

    __slots__ = ()


class SameNames:
    """Knows of each folder that was asked about whether its disk ignores the case or the form of names."""

    def __init__(self) -> None:
        self._known: dict[str, bool] = {}
        self._others: dict[tuple[str, str], list[str]] = {}

    def ignores_spelling(self, folder: str, name: str) -> bool:
        """Return whether the disk finds an existing entry of a folder under another spelling; kept once it is known."""
        known = self._known.get(folder)
        if known is None:
            found = _is_found_otherwise(folder, name)
            if found is None:
                return False
            known = self._known[folder] = found
        return known

    def is_ignoring(self, folder: Path) -> bool:
        """Return whether the disk of an existing folder ignores spelling, as one of its entries or its own name shows."""
        path = str(folder)
        if path in self._known:
            return self._known[path]
        names = _names_in(path)
        for name in names:
            if self.ignores_spelling(path, name) or path in self._known:
                return self._known[path]
        above = folder.parent
        return (
            above != folder and _device(path) == _device(str(above)) and self.ignores_spelling(str(above), folder.name)
        )

    def stored(self, path: Path, root: Path) -> Path:
        """Return a path below a folder as the disk stores its names; what is missing, and the folder, stay as written."""
        if not path.is_relative_to(root):
            return path
        at = root
        for name in path.relative_to(root).parts:
            at /= _stored_name(str(at), name) if self.ignores_spelling(str(at), name) else name
        return at

    def count_spellings(self, path: Path, root: Path) -> int:
        """Return how many other spellings an existing path below a folder may have, those of the folders between added."""
        parts = path.relative_to(root).parts
        folders = (root.joinpath(*parts[:number]) for number in range(len(parts)))
        pairs = zip(folders, parts, strict=True)
        return sum(_count(key(name)) - 1 for folder, name in pairs if self.ignores_spelling(str(folder), name))

    def other_paths(self, path: Path, root: Path, limit: int) -> list[Path] | None:
        """Return the paths by which the disk also finds an existing one below a folder; None where there are more than the limit.

        They are other spellings of the path and of the folders between: closing all of them closes every way to it.
        """
        found: list[Path] = []
        folder = root
        for name in path.relative_to(root).parts:
            if self.ignores_spelling(str(folder), name):
                others = self._other_names(str(folder), name, limit - len(found))
                if others is None:
                    return None
                found += [folder / other for other in others]
            folder /= name
        return found

    def _other_names(self, folder: str, name: str, limit: int) -> list[str] | None:
        """Return the other names of an entry, kept; None where more would have to be tried than the limit."""
        kept = self._others.get((folder, name))
        if kept is not None:
            return kept if len(kept) <= limit else None
        wanted = key(name)
        if _count(wanted) > limit + 1:
            return None
        here = _identity(os.path.join(folder, name))
        tried = (spelling for spelling in _spellings(wanted, 0) if spelling != name)
        found = self._others[folder, name] = [one for one in tried if _identity(os.path.join(folder, one)) == here]
        return found


NAMES = SameNames()
"""Of this process. Disks are not exchanged below a folder while it works there."""


def canonical(path: Path | str) -> Path:
    """Return a path with all links resolved, as the disk stores its names; its end may be missing."""
    return NAMES.stored(Path(os.path.realpath(path)), Path("/"))


def _is_found_otherwise(folder: str, name: str) -> bool | None:
    """Return whether another spelling of an entry leads to it; None for a name that has no other, or no such entry."""
    forms = (name.swapcase(), unicodedata.normalize("NFC", name), unicodedata.normalize("NFD", name))
    others = [form for form in dict.fromkeys(forms) if form != name and key(form) == key(name)]
    here = _identity(os.path.join(folder, name))
    if not others or here is None:
        return None
    found = [other for other in others if _identity(os.path.join(folder, other)) == here]
    if not found:
        return False
    listed = set(_names_in(folder))
    return name not in listed or listed.isdisjoint(found)  # a hard link has the other name itself


def _stored_name(folder: str, name: str) -> str:
    """Return the name that the disk stores for an entry, the same name where there is none."""
    wanted = key(name)
    listed = _names_in(folder)
    return name if name in listed else next((one for one in listed if key(one) == wanted), name)


def _count(text: str) -> int:
    """Return how many spellings have this key."""
    counts = [1]
    for end in range(1, len(text) + 1):
        counts.append(
            sum(counts[start] * len(_letters_of(text[start:end])) for start in range(max(0, end - _LONGEST), end))
        )
    return counts[-1]


def _spellings(text: str, start: int) -> Iterator[str]:
    """Yield the spellings with this key from a place on."""
    if start == len(text):
        yield ""
        return
    for end in range(start + 1, min(len(text), start + _LONGEST) + 1):
        for letter in _letters_of(text[start:end]):
            for rest in _spellings(text, end):
                yield letter + rest


def _letters_of(part: str) -> Sequence[str]:
    """Return the single characters whose key is this text, the character itself with them."""
    return _letters_of_keys().get(part, (part,) if len(part) == 1 else ())


@cache
def _letters_of_keys() -> dict[str, tuple[str, ...]]:
    """Return the characters of each key, those of the basic plane; only a disk that ignores spelling needs them."""
    found: dict[str, tuple[str, ...]] = {}
    for number in range(1, _BASIC_PLANE):
        letter = chr(number)
        if letter != "/" and not 0xD800 <= number < 0xE000:
            text = key(letter)
            if len(text) <= _LONGEST:
                found[text] = (*found.get(text, ()), letter)
    return found


def _names_in(folder: str) -> list[str]:
    try:
        return os.listdir(folder)
    except OSError:
        return []


def _identity(path: str) -> tuple[int, int] | None:
    try:
        found = os.lstat(path)
    except (OSError, ValueError):
        return None
    return found.st_dev, found.st_ino


def _device(path: str) -> int | None:
    found = _identity(path)
    return None if found is None else found[0]
