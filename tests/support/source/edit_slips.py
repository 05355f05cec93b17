"""Slips that a model makes when it quotes a text: each with what the file must hold afterwards, unless the edit is refused.

A slip is made in both texts, or in the old one only, as its name says. After each the file has what was wanted, or the edit is
refused; the tests count both.
"""

import html
import itertools
import random
import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from tests.support.source.edit_cases import Case, Hunk

Texts = tuple[str, str, str]
"""A file, an old and a new text."""


@dataclass(frozen=True, slots=True)
class Slip:
    """A way to misquote. `make` returns the texts, and the wanted file if that is not what the exact edit gives."""

    name: str
    make: Callable[[Hunk, random.Random], tuple[Texts, str | None] | None]
    quotes_exactly: bool = False

    def case(self, hunk: Hunk, rng: random.Random) -> Case | None:
        """Return the edit with this slip, None where it changes nothing or quotes another text of the file."""
        made = self.make(hunk, rng)
        if made is None:
            return None
        (file, old, new), want = made
        is_exact = (file, old) == (hunk.file, hunk.old)
        if is_exact != self.quotes_exactly or old == new or not old.strip():
            return None  # without a slip in the quote the new text is what was meant
        if old.strip() != hunk.old.strip() and old in file.replace("\r\n", "\n") and old not in hunk.old:
            return None  # what is quoted now is another text
        return Case(
            self.name, hunk.name, file, old, new, hunk.file.replace(hunk.old, hunk.new) if want is None else want
        )


def _both(change: Callable[[str], str]) -> Callable[[Hunk, random.Random], tuple[Texts, None]]:
    return lambda hunk, _rng: ((hunk.file, change(hunk.old), change(hunk.new)), None)


def _old(change: Callable[[str], str]) -> Callable[[Hunk, random.Random], tuple[Texts, None]]:
    return lambda hunk, _rng: ((hunk.file, change(hunk.old), hunk.new), None)


def _lines(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "\n".join(map(change, text.split("\n")))


def _numbered(form: str, *, both: bool) -> Callable[[Hunk, random.Random], tuple[Texts, None]]:
    def make(hunk: Hunk, _rng: random.Random) -> tuple[Texts, None]:
        first = hunk.file[: hunk.file.index(hunk.old)].count("\n") + 1

        def number(text: str) -> str:
            return "\n".join(form.format(at) + line for at, line in enumerate(text.split("\n"), first))

        return (hunk.file, number(hunk.old), number(hunk.new) if both else hunk.new), None

    return make


def _diff_marks(hunk: Hunk, _rng: random.Random) -> tuple[Texts, None]:
    kept = set(hunk.old.split("\n")) & set(hunk.new.split("\n"))
    old = "\n".join((" " if line in kept else "-") + line for line in hunk.old.split("\n"))
    new = "\n".join((" " if line in kept else "+") + line for line in hunk.new.split("\n"))
    return (hunk.file, old, new), None


def _without_line(hunk: Hunk, rng: random.Random) -> tuple[Texts, str] | None:
    """A line in the middle is forgotten in the old text; nobody knows what is to become of it, so only a refusal is right."""
    lines = hunk.old.split("\n")
    filled = [at for at, line in enumerate(lines[1:-1], 1) if line.strip()]
    if not filled:
        return None
    at = rng.choice(filled)
    old = "\n".join([*lines[:at], *lines[at + 1 :]])
    return None if old in hunk.file else ((hunk.file, old, hunk.new), "\0")


def _doubled_line(hunk: Hunk, rng: random.Random) -> tuple[Texts, None]:
    lines = hunk.old.split("\n")
    at = rng.choice([at for at, line in enumerate(lines) if line.strip()])
    return (hunk.file, "\n".join([*lines[: at + 1], *lines[at:]]), hunk.new), None


def _swapped_lines(hunk: Hunk, rng: random.Random) -> tuple[Texts, str] | None:
    lines = hunk.old.split("\n")
    at = rng.randrange(len(lines) - 1)
    if lines[at].strip() == lines[at + 1].strip():
        return None
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return (hunk.file, "\n".join(lines), hunk.new), "\0"


def _merged_lines(hunk: Hunk, rng: random.Random) -> tuple[Texts, None] | None:
    lines = hunk.old.split("\n")
    filled = [at for at, (one, other) in enumerate(itertools.pairwise(lines)) if one.strip() and other.strip()]
    if not filled:
        return None
    at = rng.choice(filled)
    return (
        hunk.file,
        "\n".join([*lines[:at], f"{lines[at]} {lines[at + 1].strip()}", *lines[at + 2 :]]),
        hunk.new,
    ), None


def _split_line(hunk: Hunk, rng: random.Random) -> tuple[Texts, None] | None:
    lines = hunk.old.split("\n")
    long = [at for at, line in enumerate(lines) if len(line.split()) > 3]
    if not long:
        return None
    at = rng.choice(long)
    head, _, tail = lines[at].rpartition(" ")
    return (hunk.file, "\n".join([*lines[:at], head, tail, *lines[at + 1 :]]), hunk.new), None


def _dots_for_lines(mark: str, *, both: bool) -> Callable[[Hunk, random.Random], tuple[Texts, str] | None]:
    """The middle of the old text, or of both, is replaced by a placeholder."""

    def make(hunk: Hunk, _rng: random.Random) -> tuple[Texts, str] | None:
        old, new = hunk.old.split("\n"), hunk.new.split("\n")
        if len(old) < 5 or len(new) < 3:
            return None
        new = [*new[:1], mark, *new[-1:]] if both else new
        return (hunk.file, "\n".join([*old[:1], mark, *old[-1:]]), "\n".join(new)), "\0"

    return make


def _placeholder_in_new(mark: str) -> Callable[[Hunk, random.Random], tuple[Texts, str] | None]:
    """The old text is right, the new one leaves out what stays."""

    def make(hunk: Hunk, _rng: random.Random) -> tuple[Texts, str] | None:
        new = hunk.new.split("\n")
        return ((hunk.file, hunk.old, "\n".join([*new[:2], mark])), "\0") if len(new) > 3 else None

    return make


def _first_indent(text: str) -> str:
    return text.lstrip(" \t")


def _one_level_less(hunk: Hunk, _rng: random.Random) -> tuple[Texts, None] | None:
    lines = [line for line in f"{hunk.old}\n{hunk.new}".split("\n") if line.strip()]
    level = "\t" if any(line.startswith("\t") for line in lines) else "    "
    if not all(line.startswith(level) for line in lines):
        return None
    shift = _lines(lambda line: line.removeprefix(level))
    return (hunk.file, shift(hunk.old), shift(hunk.new)), None


def _first_level_less_in_old(hunk: Hunk, rng: random.Random) -> tuple[Texts, None] | None:
    made = _one_level_less(hunk, rng)
    return None if made is None else ((hunk.file, made[0][1], hunk.new), None)


def _truncated(*, both: bool) -> Callable[[Hunk, random.Random], tuple[Texts, str | None] | None]:
    """The quote begins and ends within its lines; the new text too, or it has these lines as a whole."""

    def make(hunk: Hunk, _rng: random.Random) -> tuple[Texts, str | None] | None:
        first, last = hunk.old.split("\n")[0], hunk.old.split("\n")[-1]
        head, tail = len(first) // 2, len(last) // 2
        if min(head, tail) < 6 or not hunk.new.startswith(first) or not hunk.new.endswith(last):
            return None
        old = hunk.old[head : len(hunk.old) - tail]
        if hunk.file.count(old) != 1:
            return None
        return (hunk.file, old, hunk.new[head : len(hunk.new) - tail] if both else hunk.new), None

    return make


def _part_of_line(hunk: Hunk, _rng: random.Random) -> tuple[Texts, str] | None:
    """The last quoted line is cut, but ends with a line end."""
    lines = hunk.old.split("\n")
    if len(lines[-1].strip()) < 8:
        return None
    old = "\n".join([*lines[:-1], lines[-1][:-4]]) + "\n"
    return (hunk.file, old, f"{hunk.new}\n"), "\0"


def _line_ends(end: str) -> Callable[[Hunk, random.Random], tuple[Texts, str]]:
    def make(hunk: Hunk, _rng: random.Random) -> tuple[Texts, str]:
        file, want = hunk.file.replace("\n", end), hunk.file.replace(hunk.old, hunk.new).replace("\n", end)
        return (file, hunk.old, hunk.new), want

    return make


def _whole_lines(*, old_end: str, new_end: str) -> Callable[[Hunk, random.Random], tuple[Texts, None] | None]:
    """Whole lines are meant, and only one of the texts ends as a line does."""

    def make(hunk: Hunk, _rng: random.Random) -> tuple[Texts, None] | None:
        if not hunk.new or hunk.new.endswith("\n") or not hunk.file.endswith("\n") or hunk.old.endswith("\n"):
            return None
        return (hunk.file, hunk.old + old_end, hunk.new + new_end), None

    return make


def _other_form(form: Literal["NFC", "NFD"]) -> Callable[[Hunk, random.Random], tuple[Texts, str] | None]:
    """The file has another Unicode form of accented letters than both texts."""

    def make(hunk: Hunk, _rng: random.Random) -> tuple[Texts, str] | None:
        accents = str.maketrans("aou", "\u00e4\u00f6\u00fc")
        file, old, new = (text.translate(accents) for text in (hunk.file, hunk.old, hunk.new))
        other: Literal["NFC", "NFD"] = "NFC" if form == "NFD" else "NFD"
        stored, want = (unicodedata.normalize(other, text) for text in (file, file.replace(old, new)))
        quoted = unicodedata.normalize(form, old)
        return None if quoted in stored else ((stored, quoted, unicodedata.normalize(form, new)), want)

    return make


def _wide(text: str) -> str:
    return "".join(chr(ord(one) + 0xFEE0) if one in ",()!?:;" else one for one in text)


def _unicode_escapes(hunk: Hunk, _rng: random.Random) -> tuple[Texts, str] | None:
    accents = str.maketrans({"a": "\u00e4", "-": "\u2014"})
    file, old, new = (text.translate(accents) for text in (hunk.file, hunk.old, hunk.new))

    def escape(text: str) -> str:
        return "".join(one if one < "\x80" else f"\\u{ord(one):04x}" for one in text)

    return None if escape(old) == old else ((file, escape(old), escape(new)), file.replace(old, new))


def _typographic_file(hunk: Hunk, _rng: random.Random) -> tuple[Texts, str] | None:
    """The file has typographic quotation marks where the model writes plain ones, in code that it adds too."""
    marks = str.maketrans({"'": "\u2019", "-": "\u2013"})
    file, old, new = (text.translate(marks) for text in (hunk.file, hunk.old, hunk.new))
    if any(mark in hunk.new and mark not in hunk.old for mark in "'-"):
        return None
    return (file, hunk.old, hunk.new), file.replace(old, new)


def _ligatures(hunk: Hunk, _rng: random.Random) -> tuple[Texts, str]:
    def join(text: str) -> str:
        return text.replace("fi", "\ufb01").replace("fl", "\ufb02")

    return (hunk.file, join(hunk.old), join(hunk.new)), hunk.file.replace(hunk.old, hunk.new)


def _misquoted_kept(hunk: Hunk, rng: random.Random) -> tuple[Texts, None] | None:
    """A line that stays has a letter too many in both texts."""
    old, new = hunk.old.split("\n"), hunk.new.split("\n")
    kept = [line for line in old if old.count(line) == 1 and new.count(line) == 1 and len(line.strip()) > 8]
    if not kept:
        return None
    line = rng.choice(kept)
    slip = f"{line}x"
    return (
        hunk.file,
        "\n".join(slip if one == line else one for one in old),
        "\n".join(slip if one == line else one for one in new),
    ), None


def _misquoted_changed(hunk: Hunk, rng: random.Random) -> tuple[Texts, None] | None:
    """A line that the edit changes is quoted with two letters exchanged."""
    new = set(hunk.new.split("\n"))
    lines = hunk.old.split("\n")
    changed = [at for at, line in enumerate(lines) if line not in new and len(line.strip()) > 8]
    if not changed:
        return None
    at = rng.choice(changed)
    spot = len(lines[at]) // 2
    lines[at] = lines[at][:spot] + lines[at][spot + 1] + lines[at][spot] + lines[at][spot + 2 :]
    return (hunk.file, "\n".join(lines), hunk.new), None


def _json_escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')


def _every_escape(text: str) -> str:
    return _json_escaped(text).replace("\n", "\\n").replace("\t", "\\t")


def _curly(text: str) -> str:
    return re.sub(r'"([^"\n]*)"', "\u201c\\1\u201d", text).replace("'", "\u2019")


SLIPS = (
    Slip("escaped quotation marks", _both(lambda text: text.replace('"', '\\"'))),
    Slip("escaped quotation marks, old only", _old(lambda text: text.replace('"', '\\"'))),
    Slip("escaped apostrophes", _both(lambda text: text.replace("'", "\\'"))),
    Slip("escaped as in JSON", _both(_json_escaped)),
    Slip("escaped with line ends", _both(_every_escape)),
    Slip("backslashes doubled", _both(lambda text: text.replace("\\", "\\\\"))),
    Slip("backslashes halved", _both(lambda text: text.replace("\\\\", "\\"))),
    Slip("line ends as two characters", _both(lambda text: text.replace("\n", "\\n"))),
    Slip("line ends as two characters, old only", _old(lambda text: text.replace("\n", "\\n"))),
    Slip("tabs as two characters", _both(_lines(lambda line: re.sub(r"^\t+", lambda run: "\\t" * len(run[0]), line)))),
    Slip("tabs as four blanks", _both(lambda text: text.replace("\t", "    "))),
    Slip("tabs as two blanks", _both(lambda text: text.replace("\t", "  "))),
    Slip("tabs as blanks, old only", _old(lambda text: text.replace("\t", "    "))),
    Slip(
        "blanks as tabs", _both(_lines(lambda line: re.sub(r"^(?: {4})+", lambda run: "\t" * (len(run[0]) // 4), line)))
    ),
    Slip("half the indentation", _both(_lines(lambda line: re.sub(r"^(?: {4})+", lambda run: run[0][::2], line)))),
    Slip("one level less", _one_level_less),
    Slip("one level less, old only", _first_level_less_in_old),
    Slip("no indentation", _both(_lines(lambda line: line.lstrip(" \t")))),
    Slip("first indentation missing", _both(_first_indent)),
    Slip("first indentation missing, old only", _old(_first_indent)),
    Slip("blanks at line ends", _both(_lines(lambda line: f"{line}  "))),
    Slip("blanks at line ends, old only", _old(_lines(lambda line: f"{line} \t"))),
    Slip("file with CRLF", _line_ends("\r\n")),
    Slip("file with CR", _line_ends("\r")),
    Slip("texts with CRLF", _both(lambda text: text.replace("\n", "\r\n"))),
    Slip("curly quotation marks", _both(_curly)),
    Slip("curly quotation marks, old only", _old(_curly)),
    Slip("closing quotation marks", _both(lambda text: text.replace("'", "\u2019").replace('"', "\u201d"))),
    Slip("long dashes", _both(lambda text: text.replace(" - ", " \u2014 "))),
    Slip("dashes", _both(lambda text: text.replace("-", "\u2013"))),
    Slip("no-break spaces", _both(lambda text: re.sub(r"(?<=\S) (?=\S)", "\u00a0", text))),
    Slip("no-break spaces, old only", _old(lambda text: re.sub(r"(?<=\S) (?=\S)", "\u00a0", text))),
    Slip("full-width forms", _both(_wide)),
    Slip("full-width forms, old only", _old(_wide)),
    Slip("ellipsis sign", _both(lambda text: text.replace("...", "\u2026"))),
    Slip("ligatures", _ligatures),
    Slip("composed for decomposed", _other_form("NFC")),
    Slip("decomposed for composed", _other_form("NFD")),
    Slip("typographic file", _typographic_file),
    Slip("zero-width spaces", _both(lambda text: re.sub(r"(?<=\w)(?=\()", "\u200b", text))),
    Slip("byte order mark", _both(lambda text: f"\ufeff{text}")),
    Slip("byte order mark, old only", _old(lambda text: f"\ufeff{text}")),
    Slip("unicode escapes", _unicode_escapes),
    Slip("entities of HTML", _both(html.escape)),
    Slip("entities of HTML, old only", _old(html.escape)),
    Slip("entities without quotation marks", _both(lambda text: html.escape(text, quote=False))),
    Slip("code block", _both(lambda text: f"```\n{text}\n```")),
    Slip("code block, old only", _old(lambda text: f"```python\n{text}\n```")),
    Slip("marks of a diff", _diff_marks),
    Slip("marks of a reply", _both(_lines(lambda line: f"> {line}"))),
    Slip("numbers N:", _numbered("{}: ", both=True)),
    Slip("numbers N |", _numbered("{} | ", both=True)),
    Slip("numbers N→", _numbered("{:6d}→", both=True)),
    Slip("numbers N and tab", _numbered("{}\t", both=True)),
    Slip("numbers N|, old only", _numbered("{}|", both=False)),
    Slip("line forgotten", _without_line),
    Slip("line doubled", _doubled_line),
    Slip("lines exchanged", _swapped_lines),
    Slip("lines merged", _merged_lines),
    Slip("line split", _split_line),
    Slip("dots for lines", _dots_for_lines("...", both=False)),
    Slip("dots for lines, both", _dots_for_lines("    ...", both=True)),
    Slip("placeholder, both", _dots_for_lines("// ... existing code ...", both=True)),
    Slip(
        "placeholder in the new text",
        _placeholder_in_new("    # ... rest of the code unchanged ..."),
        quotes_exactly=True,
    ),
    Slip("quote cut at both ends", _truncated(both=True)),
    Slip("quote cut at both ends, old only", _truncated(both=False)),
    Slip("last line cut, with its end", _part_of_line),
    Slip("line end, both", _whole_lines(old_end="\n", new_end="\n")),
    Slip("line end, old only", _whole_lines(old_end="\n", new_end="")),
    Slip("line ends before and after", _both(lambda text: f"\n\n{text}\n\n")),
    Slip("other case", _old(str.upper)),
    Slip("other case, both", _both(str.upper)),
    Slip("kept line misquoted", _misquoted_kept),
    Slip("changed line misquoted", _misquoted_changed),
    Slip("blanks around operators, old only", _old(lambda text: re.sub(r"(?<=\S) = (?=\S)", "  =  ", text))),
)
