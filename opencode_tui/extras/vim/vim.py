"""The keys of vim for a text and a cursor, without any widget."""

import re
from typing import NamedTuple

from opencode_tui.extras.vim.motion import Motions, Range
from opencode_tui.tui.prompt.vim_keys import Mode

_MOTION = r"[hjkl wWbBeE0^$G;,{}%]|gg|[fFtT]."
_OBJECT = r"[ia][wW\"'`()b{}B\[\]]"
_NORMAL = re.compile(
    r"(?P<count>[1-9]\d*)?(?:(?P<operator>[dcy])(?P<more>[1-9]\d*)?"
    rf"(?P<target>(?P=operator)|{_OBJECT}|{_MOTION})|(?P<command>{_MOTION}|r.|[xXsSJ~DCYpPu.iIaAoOvV\x12]))",
    re.DOTALL,
)
_VISUAL = re.compile(rf"(?P<count>[1-9]\d*)?(?P<command>{_MOTION}|{_OBJECT}|[dxcsyvVo])", re.DOTALL)
_PARTIAL = re.compile(r"([1-9]\d*)?([dcy]([1-9]\d*)?)?[fFtTgria]?")
_ALIASES = {
    "left": "h",
    "backspace": "h",
    "right": "l",
    "up": "k",
    "down": "j",
    "home": "0",
    "end": "$",
    "delete": "x",
    "ctrl+r": "\x12",
}
_SHORT = {"x": "dl", "X": "dh", "s": "cl", "S": "cc", "D": "d$", "C": "c$", "Y": "yy"}
MAX_COUNT = 10_000


class _Change(NamedTuple):
    """The last change, for `.`; `inserted` is what was typed after it."""

    keys: str
    times: int | None
    inserted: str = ""


class Vim(Motions):
    """A text that keys change as in vim; a match of `units` is deleted completely or not at all."""

    mode: Mode

    def __init__(self, units: re.Pattern[str] | None = None) -> None:
        super().__init__()
        self._units = units
        self._keys = ""
        self._anchor = 0
        self._register, self._is_linewise = "", False
        self._undo: list[tuple[str, int]] = []
        self._redo: list[tuple[str, int]] = []
        self._change = _Change("", None)
        self._inserts_at, self._before = 0, ""
        self.restart()

    @property
    def is_waiting(self) -> bool:
        """Return whether keys of an incomplete command were pressed."""
        return bool(self._keys)

    def restart(self) -> None:
        """Begin an empty text, in insert mode."""
        self.text, self.cursor, self._keys = "", 0, ""
        self._undo.clear()
        self._save("i", None)
        self._begin_insert()

    def press(self, key: str) -> bool:
        """Apply a key, a character or a name; return whether it was used. In insert mode only `escape` is."""
        if self.mode == "insert":
            if key == "escape":
                self._leave_insert()
            return key == "escape"
        self.cursor = min(self.cursor, len(self.text))
        if self.mode == "normal":
            self._clamp()
        if key == "escape":
            is_used = self.is_waiting or self.mode != "normal"
            self.mode, self._keys = "normal", ""
            return is_used
        key = _ALIASES.get(key, key)
        self._keys = self._keys + key if len(key) == 1 else ""
        grammar = _NORMAL if self.mode == "normal" else _VISUAL
        if found := grammar.fullmatch(self._keys):
            self._keys = ""
            self._run(found)
        elif not _PARTIAL.fullmatch(self._keys):
            self._keys = ""
        return len(key) == 1

    @property
    def selected(self) -> tuple[int, int]:
        """The start and the end of the selection in visual mode, whole lines in its line mode."""
        first, last = sorted((self._anchor, self.cursor))
        if self.mode == "visual line":
            return self._start(first), self._end(last)
        return first, min(last + 1, len(self.text))

    def _run(self, found: re.Match[str]) -> None:
        parts = found.groupdict()
        given = [int(one) for one in (parts["count"], parts.get("more")) if one]
        count = min(MAX_COUNT, given[0] * given[-1] if len(given) == 2 else given[0]) if given else None
        command = parts["command"]
        column, self._column = self._column, None
        if command is not None and command in "jk":
            self._column = self.cursor - self._start(self.cursor) if column is None else column
        if command is None:
            self._operate(parts["operator"], parts["target"], count)
        elif self.mode != "normal":
            self._visual(command, count)
        elif command in _SHORT:
            self._operate(_SHORT[command][0], _SHORT[command][1], count)
        else:
            self._command(command, count)
        if self.mode == "normal":
            self._clamp()

    def _command(self, command: str, count: int | None) -> None:
        times = count or 1
        match command[0]:
            case "u" | "\x12":
                here, there = (self._undo, self._redo) if command == "u" else (self._redo, self._undo)
                for _ in range(min(times, len(here))):
                    there.append((self.text, self.cursor))
                    self.text, self.cursor = here.pop()
            case ".":
                self._repeat(count)
            case "v" | "V":
                self.mode, self._anchor = "visual" if command == "v" else "visual line", self.cursor
            case "i" | "I" | "a" | "A" | "o" | "O":
                self._save(command, count)
                self._insert(command)
            case "r" if self.cursor + times <= self._end(self.cursor):
                self._save(command, count)
                self._replace(self.cursor, self.cursor + times, command[1] * times)
                self.cursor += times - 1
            case "~" if self.cursor < self._end(self.cursor):
                self._save(command, count)
                end = min(self.cursor + times, self._end(self.cursor))
                swapped = [one.swapcase() for one in self.text[self.cursor : end]]
                kept = zip(self.text[self.cursor : end], swapped, strict=True)
                self._replace(self.cursor, end, "".join(new if len(new) == 1 else old for old, new in kept))
                self.cursor = end
            case "J" if self._end(self.cursor) < len(self.text):
                self._save(command, count)
                for _ in range(max(1, times - 1)):
                    self._join()
            case "p" | "P" if self._register:
                self._save(command, count)
                self._put(self._register * times, is_after=command == "p")
            case "r" | "~" | "J" | "p" | "P":
                pass
            case _:
                moved = self._move(command, count, is_operator=False)
                if moved is not None:
                    self.cursor = moved.target
                if command == "$":
                    self._column = MAX_COUNT * MAX_COUNT

    def _visual(self, command: str, count: int | None) -> None:
        match command:
            case "v" | "V":
                mode: Mode = "visual" if command == "v" else "visual line"
                self.mode = "normal" if mode == self.mode else mode
            case "o":
                self.cursor, self._anchor = self._anchor, self.cursor
            case "d" | "x" | "c" | "s" | "y":
                operator = {"x": "d", "s": "c"}.get(command, command)
                start, end = self.selected
                is_linewise, self.mode = self.mode == "visual line", "normal"
                lines = self.text.count("\n", start, end) + 1
                if operator != "y":
                    self._save(operator * 2 if is_linewise else f"{operator}l", lines if is_linewise else end - start)
                self._apply(operator, start, end, is_linewise=is_linewise)
            case _ if command[0] in "ia":
                if (found := self._object(command, count or 1)) is not None:
                    self._anchor, self.cursor = found[0], max(found[0], found[1] - 1)
            case _:
                moved = self._move(command, count, is_operator=False)
                if moved is not None:
                    self.cursor = min(moved.target, len(self.text))

    def _operate(self, operator: str, target: str, count: int | None) -> None:
        here, is_linewise = self.cursor, False
        if target == operator:
            start, end, is_linewise = here, self._line(here, (count or 1) - 1), True
        elif target[0] in "ia":
            found = self._object(target, count or 1)
            if found is None:
                return
            start, end = found
        else:
            if operator == "c" and target in "wW" and self.text[here : here + 1].strip():
                moved = Range(self._word_end(here - 1, count or 1, is_big=target == "W"), "inclusive")
            else:
                moved = self._move(target, count, is_operator=True)
            if moved is None:
                return
            start, end = sorted((here, moved.target))
            end += moved.kind == "inclusive"
            is_linewise = moved.kind == "linewise"
        crosses = not is_linewise and "\n" in self.text[start:end] and end == self._start(end)
        if crosses and not self.text[self._start(start) : start].strip():
            end, is_linewise = end - 1, True  # as in vim: whole lines between two starts of lines
        elif crosses:
            end -= 1
        if is_linewise and operator == "y":
            self._yank(self._start(start), self._end(end), is_linewise=True)
            if target != operator and start < here:
                self.cursor = min(start, self._end(start))
            return
        if start == end and not is_linewise and operator != "c":
            return
        if operator != "y":
            self._save(operator + target, count)
        self._apply(operator, start, end, is_linewise=is_linewise)

    def _apply(self, operator: str, start: int, end: int, *, is_linewise: bool) -> None:
        if is_linewise:
            start, end = self._start(start), self._end(end)
        elif operator != "y" and self._units is not None:
            for unit in self._units.finditer(self.text):
                if unit.start() < end and start < unit.end():
                    start, end = min(start, unit.start()), max(end, unit.end())
        self._yank(start, end, is_linewise=is_linewise)
        self.cursor = start
        if operator == "y":
            return
        if is_linewise and operator == "d":
            if end < len(self.text):
                end += 1
            elif start > 0:
                start -= 1
        self._replace(start, end, "")
        self.cursor = min(start + (start < self.cursor and operator == "d"), len(self.text))
        if is_linewise and operator == "d":
            self.cursor = self._indent(self._start(self.cursor))
        if operator == "c":
            self._begin_insert()

    def _yank(self, start: int, end: int, *, is_linewise: bool) -> None:
        self._register, self._is_linewise = self.text[start:end] + "\n" * is_linewise, is_linewise

    def _put(self, what: str, *, is_after: bool) -> None:
        if self._is_linewise:
            at = self._end(self.cursor) if is_after else self._start(self.cursor)
            self._replace(at, at, "\n" + what[:-1] if is_after else what)
            self.cursor = self._indent(at + is_after)
            return
        at = min(self.cursor + is_after, self._end(self.cursor))
        self._replace(at, at, what)
        self.cursor = at if "\n" in what else at + len(what) - 1

    def _join(self) -> None:
        end = self._end(self.cursor)
        if end == len(self.text):
            return
        rest = self._indent(end + 1)
        is_tight = self.text[end - 1 : end] in ("", " ", "\t", "\n") or self.text[rest : rest + 1] in ("", "\n", ")")
        self.cursor = end
        self._replace(end, rest, "" if is_tight else " ")

    def _insert(self, command: str) -> None:
        start, end = self._start(self.cursor), self._end(self.cursor)
        match command:
            case "I":
                self.cursor = self._indent(start)
            case "a":
                self.cursor = min(self.cursor + 1, end)
            case "A":
                self.cursor = end
            case "o":
                self._replace(end, end, "\n")
                self.cursor = end + 1
            case "O":
                self._replace(start, start, "\n")
                self.cursor = start
            case _:
                pass
        self._begin_insert()

    def _begin_insert(self) -> None:
        self.mode, self._inserts_at = "insert", self.cursor
        self._before = self.text

    def _leave_insert(self) -> None:
        self.mode = "normal"
        if self._undo:
            head, tail = self._before[: self._inserts_at], self._before[self._inserts_at :]
            typed = self.text[self._inserts_at : len(self.text) - len(tail)]
            if self.text != head + typed + tail:
                typed = ""  # the cursor was moved while typing
            self._change = self._change._replace(inserted=typed)
            more = (self._change.times or 1) - 1 if self._change.keys in ("i", "I", "a", "A", "o", "O") else 0
            again = (f"\n{typed}" if self._change.keys in "oO" else typed) * more
            self._replace(self.cursor, self.cursor, again)
            self.cursor += len(again)
            if self.text == self._undo[-1][0]:
                self._undo.pop()
        self.cursor = max(self._start(self.cursor), self.cursor - 1)

    def _repeat(self, count: int | None) -> None:
        change = self._change
        found = _NORMAL.fullmatch(f"{count or change.times or ''}{change.keys}")
        if found is None:
            return
        self._run(found)
        if self.mode == "insert":
            self._replace(self.cursor, self.cursor, change.inserted)
            self.cursor += len(change.inserted)
            self._leave_insert()

    def _save(self, keys: str, count: int | None) -> None:
        self._undo.append((self.text, self.cursor))
        self._redo.clear()
        self._change = _Change(keys, count)

    def _replace(self, start: int, end: int, what: str) -> None:
        self.text = self.text[:start] + what + self.text[end:]

    def _clamp(self) -> None:
        self.cursor = max(self._start(self.cursor), min(self.cursor, self._end(self.cursor) - 1))
