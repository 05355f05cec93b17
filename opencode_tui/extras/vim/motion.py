"""Positions in a text, and the motions and text objects of vim."""

import re
from typing import Literal, NamedTuple

from opencode_tui.tui.prompt.vim_keys import Mode

_PAIRS = {"b": "()", "B": "{}", **{one: pair for pair in ("()", "{}", "[]") for one in pair}}


class Range(NamedTuple):
    """Where a motion ends; `kind` is what an operator does with it."""

    target: int
    kind: Literal["exclusive", "inclusive", "linewise"] = "exclusive"


class Motions:
    """A text with a cursor, and where keys move it."""

    def __init__(self) -> None:
        self.mode: Mode = "insert"
        self.text = ""
        self.cursor = 0
        self._find = ""
        self._column: int | None = None
        """The column that `j` and `k` keep over shorter lines."""

    def _start(self, at: int) -> int:
        return self.text.rfind("\n", 0, at) + 1

    def _end(self, at: int) -> int:
        found = self.text.find("\n", at)
        return len(self.text) if found < 0 else found

    def _indent(self, start: int) -> int:
        """Return the first character of a line that is not blank."""
        end = self._end(start)
        return start + len(self.text[start:end]) - len(self.text[start:end].lstrip())

    def _line(self, at: int, by: int) -> int:
        """Return the start of the line some lines below or above, at most the last or first."""
        for _ in range(min(abs(by), self.text.count("\n"))):
            at = min(self._end(at) + 1, len(self.text)) if by > 0 else max(0, self._start(at) - 1)
            if by > 0 and at == len(self.text):
                break
        return self._start(at)

    def _class(self, at: int, *, is_big: bool) -> int:
        """Return 0 for blank characters, 1 for signs, 2 for words."""
        one = self.text[at : at + 1]
        if not one.strip():
            return 0
        return 2 if is_big or one.isalnum() or one == "_" else 1

    def _skip(self, at: int, *, is_big: bool) -> int:
        """Return the end of the characters of one class."""
        kind = self._class(at, is_big=is_big)
        while at < len(self.text) and self._class(at, is_big=is_big) == kind:
            at += 1
        return at

    def _is_empty_line(self, at: int) -> bool:
        return self._start(at) == at == self._end(at)

    def _next_word(self, at: int, *, is_big: bool) -> int:
        begin = at
        if self._class(at, is_big=is_big):
            at = self._skip(at, is_big=is_big)
        while at < len(self.text) and not self.text[at].strip() and (at == begin or not self._is_empty_line(at)):
            at += 1
        return at

    def _previous_word(self, at: int, *, is_big: bool) -> int:
        at -= 1
        while at > 0 and not self.text[at].strip() and not self._is_empty_line(at):
            at -= 1
        kind = self._class(at, is_big=is_big)
        while kind and at > 0 and self._class(at - 1, is_big=is_big) == kind:
            at -= 1
        return max(0, at)

    def _word_end(self, at: int, times: int, *, is_big: bool) -> int:
        for _ in range(times):
            at += 1
            while at < len(self.text) and not self.text[at].strip():
                at += 1
            at = self._skip(at, is_big=is_big) - 1
        return max(0, min(at, len(self.text) - 1))

    def _move(self, keys: str, count: int | None, *, is_operator: bool) -> Range | None:
        """Return the end of a motion; None where it is not possible."""
        at, times, is_big = self.cursor, count or 1, keys.isupper()
        start, end = self._start(at), self._end(at)
        match keys[0]:
            case "h":
                return Range(max(start, at - times))
            case "l" | " ":
                last = end if is_operator or self.mode != "normal" else end - 1
                return Range(max(at, min(last, at + times)))
            case "j" | "k":
                to = self._line(at, times if keys == "j" else -times)
                if to == start:
                    return None
                column = at - start if self._column is None else self._column
                return Range(min(to + column, max(to, self._end(to) - 1)), "linewise")
            case "g" | "G":
                lines = self.text.count("\n")
                to = self._line(0, min(lines, count - 1 if count else lines if keys == "G" else 0))
                return Range(self._indent(to), "linewise")
            case "0":
                return Range(start)
            case "^":
                return Range(self._indent(start))
            case "$":
                return Range(self._end(self._line(at, times - 1)))
            case "w" | "W":
                for number in range(times):
                    before, at = at, self._next_word(at, is_big=is_big)
                    if is_operator and number == times - 1 and "\n" in self.text[before:at]:
                        found = self.text.index("\n", before)
                        at = found + (found == before)  # an empty line is a word
                return Range(at)
            case "b" | "B":
                for _ in range(times):
                    at = self._previous_word(at, is_big=is_big)
                return Range(at)
            case "e" | "E":
                return Range(self._word_end(at, times, is_big=is_big), "inclusive")
            case "{" | "}":
                return Range(self._paragraph(at, times if keys == "}" else -times))
            case "%":
                return self._matching(at, end)
            case _:
                return self._find_character(keys, times, start, end)

    def _paragraph(self, at: int, by: int) -> int:
        step = 1 if by > 0 else -1
        for _ in range(abs(by)):
            is_text = False
            at = self._start(at)
            while (at < len(self.text) if by > 0 else at > 0) and not (is_text and self._is_empty_line(at)):
                is_text = is_text or not self._is_empty_line(at)
                to = self._line(at, step)
                if to == at:
                    return len(self.text)
                at = to
        return at

    def _matching(self, at: int, end: int) -> Range | None:
        while at < end and self.text[at] not in "()[]{}":
            at += 1
        if at == end:
            return None
        sign = self.text[at]
        left, right = _PAIRS[sign]
        found = self._closing(at + 1, left, right) if sign == left else self._opening(at, left, right)
        return None if found is None else Range(found, "inclusive")

    def _closing(self, at: int, left: str, right: str) -> int | None:
        depth = 1
        for position in range(at, len(self.text)):
            depth += (self.text[position] == left) - (self.text[position] == right)
            if depth == 0:
                return position
        return None

    def _opening(self, at: int, left: str, right: str) -> int | None:
        depth = 1
        for position in range(at - 1, -1, -1):
            depth += (self.text[position] == right) - (self.text[position] == left)
            if depth == 0:
                return position
        return None

    def _find_character(self, keys: str, times: int, start: int, end: int) -> Range | None:
        is_again = keys in ";,"
        if not is_again:
            self._find = keys
        if not self._find:
            return None
        kind, sign = self._find
        if keys == ",":
            kind = kind.swapcase()
        at = self.cursor
        if kind in "ft":
            at += is_again and kind == "t" and self.text[at + 1 : at + 2] == sign and times == 1
            for _ in range(times):
                at = self.text.find(sign, at + 1, end)
                if at < 0:
                    return None
            return Range(at - (kind == "t"), "inclusive")
        at -= is_again and kind == "T" and self.text[max(0, at - 1) : at] == sign and times == 1
        for _ in range(times):
            at = self.text.rfind(sign, start, max(start, at))
            if at < 0:
                return None
        return Range(at + (kind == "T"))

    def _object(self, keys: str, times: int) -> tuple[int, int] | None:
        """Return the start and the end of a text object; None where there is none."""
        is_whole, sign = keys[0] == "a", keys[1]
        if sign in "wW":
            return self._word_object(times, is_whole=is_whole, is_big=sign == "W")
        if sign in _PAIRS:
            return self._block(_PAIRS[sign][0], _PAIRS[sign][1], times, is_whole=is_whole)
        return self._quoted(sign, is_whole=is_whole)

    def _word_object(self, times: int, *, is_whole: bool, is_big: bool) -> tuple[int, int]:
        line, last = self._start(self.cursor), self._end(self.cursor)
        kind = self._class(self.cursor, is_big=is_big)
        start = self.cursor
        while start > line and self._class(start - 1, is_big=is_big) == kind:
            start -= 1
        end = start
        for _ in range(times * 2 if is_whole else times):
            is_after_blanks = end > start and self._class(end, is_big=is_big) != 0
            if is_whole and kind and end > start and is_after_blanks and self._class(end - 1, is_big=is_big):
                continue  # no blanks follow the word
            end = min(last, self._skip(end, is_big=is_big))
        if is_whole and kind and self._class(end - 1, is_big=is_big):
            while start > line and self.text[start - 1] in " \t":
                start -= 1
            start = start if self.text[line:start].strip() else self._indent(line)
        return start, end

    def _block(self, left: str, right: str, times: int, *, is_whole: bool) -> tuple[int, int] | None:
        start: int | None = self.cursor if self.text[self.cursor : self.cursor + 1] == left else None
        if start is None:
            start = self._opening(self.cursor, left, right)
        if start is None and (later := self.text.find(left, self.cursor, self._end(self.cursor))) >= 0:
            start = later
        for _ in range(times - 1):
            start = None if start is None else self._opening(start, left, right)
        end = None if start is None else self._closing(start + 1, left, right)
        if start is None or end is None:
            return None
        if is_whole:
            return start, end + 1
        start += 1
        line = self._start(end)
        if self.text[start : start + 1] == "\n" and line > start and not self.text[line:end].strip():
            return start + 1, max(start + 1, line)
        return start, end

    def _quoted(self, sign: str, *, is_whole: bool) -> tuple[int, int] | None:
        line, last = self._start(self.cursor), self._end(self.cursor)
        found = [line + one.start(1) for one in re.finditer(rf"(?:\\.|[^{sign}\\])*({sign})", self.text[line:last])]
        before = [one for one in found if one < self.cursor]
        first = len(before) - len(before) % 2 if self.cursor in found else max(0, len(before) - 1)
        if first + 1 >= len(found):
            return None
        start, end = found[first], found[first + 1]
        if not is_whole:
            return start + 1, end
        blanks = len(self.text[end + 1 : last]) - len(self.text[end + 1 : last].lstrip())
        if blanks:
            return start, end + 1 + blanks
        return line + len(self.text[line:start].rstrip()), end + 1
