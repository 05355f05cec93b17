"""Edits as models write them, made of the differences between two versions of a text, or of our own modules.

A hunk of a difference with three lines of context is an edit: the old text occurs once in the old file. Each hunk is disturbed
in one way, as models disturb what they quote; `want` is the file afterwards, None where the edit must be refused.
"""

import difflib
import random
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from opencode_tui.engine.tool.edit.edit_text import replace_text
from opencode_tui.engine.tool.files.files import Stamp, TextFile
from opencode_tui.engine.tool.files.text_format import decode
from opencode_tui.schema.error import ToolError

MOST_LINES = 30


@dataclass(frozen=True, slots=True)
class Hunk:
    """One change of a file: `old` occurs once in `file`."""

    name: str
    file: str
    old: str
    new: str


@dataclass(frozen=True, slots=True)
class Case:
    """An edit with one disturbance; `file` and `want` may begin with a byte order mark."""

    kind: str
    name: str
    file: str
    old: str
    new: str
    want: str | None
    replace_all: bool = False


_SAMPLES = Path(__file__).with_name("edit_samples.txt")
"""Files in several languages: a line `@@@@ NAME`, the old text, a line `@@@@ new` and the new text, then a line `@@@@ end`."""


def sample_hunks() -> Iterator[Hunk]:
    """Yield the hunks of the samples."""
    for piece in _SAMPLES.read_text(encoding="utf-8").split("@@@@ end\n")[:-1]:
        name, _, texts = piece.removeprefix("@@@@ ").partition("\n")
        old, _, new = texts.partition("@@@@ new\n")
        yield from _hunks(f"{Path(name).suffix[1:]}/{name}", old, new)


def _hunks(name: str, before: str, after: str) -> Iterator[Hunk]:
    old_lines, new_lines = before.split("\n"), after.split("\n")
    for group in difflib.SequenceMatcher(None, old_lines, new_lines, autojunk=False).get_grouped_opcodes(3):
        old = "\n".join(old_lines[group[0][1] : group[-1][2]])
        new = "\n".join(new_lines[group[0][3] : group[-1][4]])
        if 3 <= old.count("\n") <= MOST_LINES and before.count(old) == 1 and old.strip() and old != new:
            yield Hunk(name, before, old, new)


Disturbance = Callable[[Hunk, random.Random], Case | None]


def _quoted(kind: str, change: Callable[[str], str], *, new_too: bool = True) -> Disturbance:
    """Return a disturbance of the quoted text, and of the new one as a model that makes the same slip in both."""

    def disturb(hunk: Hunk, _rng: random.Random) -> Case | None:
        old, new = change(hunk.old), change(hunk.new) if new_too else hunk.new
        if old == hunk.old:
            return None
        return Case(kind, hunk.name, hunk.file, old, new, hunk.file.replace(hunk.old, hunk.new))

    return disturb


def _each_line(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: "\n".join(change(line) if line else line for line in text.split("\n"))


def _exact(hunk: Hunk, _rng: random.Random) -> Case:
    return Case("exact", hunk.name, hunk.file, hunk.old, hunk.new, hunk.file.replace(hunk.old, hunk.new))


def _trailing(text: str) -> str:
    return "\n".join(f"{line}  " if number % 3 == 1 else line for number, line in enumerate(text.split("\n")))


def _dedented(hunk: Hunk, _rng: random.Random) -> Case | None:
    lines = [line for line in f"{hunk.old}\n{hunk.new}".split("\n") if line.strip()]
    width = min(len(line) - len(line.lstrip(" ")) for line in lines)
    return _quoted("dedented", _each_line(lambda line: line[width:]))(hunk, _rng) if width else None


def _numbered(kind: str, mark: str) -> Disturbance:
    def disturb(hunk: Hunk, _rng: random.Random) -> Case:
        first = hunk.file[: hunk.file.index(hunk.old)].count("\n") + 1
        old, new = (
            "\n".join(mark.format(first + at) + line for at, line in enumerate(text.split("\n")))
            for text in (hunk.old, hunk.new)
        )
        return Case(kind, hunk.name, hunk.file, old, new, hunk.file.replace(hunk.old, hunk.new))

    return disturb


def _numbered_old(hunk: Hunk, rng: random.Random) -> Case:
    case = _numbered("line numbers in the old text only", "{}: ")(hunk, rng)
    assert case is not None
    return Case(case.kind, hunk.name, hunk.file, case.old, hunk.new, case.want)


def _curly(text: str) -> str:
    return text.replace("'", "\u2019").replace('"', "\u201d")


def _context_line(hunk: Hunk, _rng: random.Random) -> Case | None:
    """One line that stays is quoted with a comment that it does not have; the file keeps its own line."""
    old, new = hunk.old.split("\n"), hunk.new.split("\n")
    kept = [at for at in range(1, len(old) - 1) if new.count(old[at]) == 1 and len(old[at].strip()) > 12]
    if not kept:
        return None
    line = old[kept[len(kept) // 2]]
    written = f"{line.rstrip()}  # note"
    old[kept[len(kept) // 2]] = new[new.index(line)] = written
    return Case(
        "one context line differs",
        hunk.name,
        hunk.file,
        "\n".join(old),
        "\n".join(new),
        hunk.file.replace(hunk.old, hunk.new),
    )


def _escaped(hunk: Hunk, _rng: random.Random) -> Case:
    old = hunk.old.replace("\n", "\\n")
    return Case(
        "line ends as two characters", hunk.name, hunk.file, old, hunk.new, hunk.file.replace(hunk.old, hunk.new)
    )


def _escaped_both(hunk: Hunk, _rng: random.Random) -> Case:
    """Both texts are escaped: only certain when neither has escapes of its own."""
    is_plain = re.search(r"\\[ntr'\"`\\$]", hunk.old + hunk.new) is None
    old, new = (text.replace("\n", "\\n") for text in (hunk.old, hunk.new))
    want = hunk.file.replace(hunk.old, hunk.new) if is_plain else None
    return Case("both escaped" if is_plain else "both escaped, with escapes", hunk.name, hunk.file, old, new, want)


def _invented(hunk: Hunk, _rng: random.Random) -> Case | None:
    """The middle half is not in the file."""
    lines = hunk.old.split("\n")
    if len(lines) < 6:
        return None
    quarter = len(lines) // 4
    lines[quarter:-quarter] = [f"        unrelated_call({number})" for number in range(len(lines) - 2 * quarter)]
    return Case("middle half invented", hunk.name, hunk.file, "\n".join(lines), hunk.new, None)


def _renamed(hunk: Hunk, rng: random.Random) -> Case | None:
    """A third of the names differ, as in a block that was never read: refused where the edit changes such a line."""
    names = sorted({name for name in re.findall(r"[A-Za-z_]{4,}", hunk.old)})
    if len(names) < 6:
        return None
    pattern = re.compile(rf"\b(?:{'|'.join(rng.sample(names, len(names) // 3))})\b")
    old, new = hunk.old.split("\n"), hunk.new.split("\n")
    kept = set(old) & set(new)
    if not any(pattern.search(line) for line in old if line not in kept):
        return None
    written_old, written_new = (
        "\n".join(pattern.sub(lambda name: f"{name[0]}_other", line) for line in lines) for lines in (old, new)
    )
    return Case("a third of the names differ", hunk.name, hunk.file, written_old, written_new, None)


def _twice(hunk: Hunk, _rng: random.Random) -> Case:
    """The block occurs twice, and is quoted with another indentation."""
    shift = _each_line(lambda line: f"  {line}")
    return Case("two equal blocks", hunk.name, f"{hunk.file}\n{hunk.old}\n", shift(hunk.old), shift(hunk.new), None)


def _twice_exactly(hunk: Hunk, _rng: random.Random) -> Case:
    file = f"{hunk.file}\n{hunk.old}\n"
    return Case("two equal blocks, exact", hunk.name, file, hunk.old, hunk.new, None)


def _everywhere(hunk: Hunk, _rng: random.Random) -> Case:
    """The block occurs twice, is quoted with another indentation, and all occurrences are meant."""
    shift = _each_line(lambda line: f"  {line}")
    file = f"{hunk.file}\n{hunk.old}\n"
    want = file.replace(hunk.old, hunk.new)
    return Case("replaceAll of two blocks", hunk.name, file, shift(hunk.old), shift(hunk.new), want, replace_all=True)


def _twin(hunk: Hunk, _rng: random.Random) -> Case | None:
    """A block before it differs in one line that stays; it is quoted with another text in that line: which one is meant?"""
    old, new = hunk.old.split("\n"), hunk.new.split("\n")
    kept = [at for at in range(len(old)) if old.count(old[at]) == new.count(old[at]) == 1 and len(old[at].strip()) > 12]
    if not kept or len(old) < 4:
        return None
    at, line = kept[0], old[kept[0]]
    twin, written = [*old], [*old]
    twin[at], written[at] = f"{line.rstrip()}  # one", f"{line.rstrip()}  # two"
    new[new.index(line)] = written[at]
    file = "\n".join([*twin, hunk.file])
    return Case("a twin, and a slip", hunk.name, file, "\n".join(written), "\n".join(new), None)


def _done(hunk: Hunk, _rng: random.Random) -> Case | None:
    """The edit was made before."""
    file = hunk.file.replace(hunk.old, hunk.new)
    return None if hunk.old in file else Case("made before", hunk.name, file, hunk.old, hunk.new, None)


def _marked(hunk: Hunk, _rng: random.Random) -> Case:
    """The file begins with a byte order mark, and the text is quoted with two blanks more."""
    shift = _each_line(lambda line: f"  {line}")
    want = "\ufeff" + hunk.file.replace(hunk.old, hunk.new)
    return Case("byte order mark", hunk.name, f"\ufeff{hunk.file}", shift(hunk.old), shift(hunk.new), want)


def _unended(hunk: Hunk, _rng: random.Random) -> Case:
    """The block is the file's end, without a line end, which both texts have."""
    file = hunk.file[: hunk.file.index(hunk.old) + len(hunk.old)]
    want = file.removesuffix(hunk.old) + hunk.new
    return Case("no line end at the end", hunk.name, file, f"{hunk.old}\n", f"{hunk.new}\n", want)


def _carriage_shifted(hunk: Hunk, _rng: random.Random) -> Case:
    shift = _each_line(lambda line: f"  {line}")
    file, want = hunk.file.replace("\n", "\r\n"), hunk.file.replace(hunk.old, hunk.new).replace("\n", "\r\n")
    return Case("file with CRLF, two blanks more", hunk.name, file, shift(hunk.old), shift(hunk.new), want)


def _padded_file(hunk: Hunk, _rng: random.Random) -> Case | None:
    """The file has blanks at the ends of the first and last lines that stay, which the model does not see."""
    old, new = hunk.old.split("\n"), hunk.new.split("\n")
    shorter = min(len(old), len(new))
    head = next(at for at in range(shorter + 1) if at == shorter or old[at] != new[at])
    tail = next(at for at in range(shorter + 1) if at == shorter - head or old[-1 - at] != new[-1 - at])
    for lines in (old, new):
        for at in (*range(head), *range(-tail, 0)):
            lines[at] = f"{lines[at]} \t" if lines[at].strip() else lines[at]
    before, after = "\n".join(old), "\n".join(new)
    file = hunk.file.replace(hunk.old, before)
    return Case("file with blanks at line ends", hunk.name, file, hunk.old, hunk.new, file.replace(before, after))


def _carriage(hunk: Hunk, _rng: random.Random) -> Case:
    file, want = hunk.file.replace("\n", "\r\n"), hunk.file.replace(hunk.old, hunk.new).replace("\n", "\r\n")
    return Case("file with CRLF", hunk.name, file, hunk.old, hunk.new, want)


def _typographic(hunk: Hunk, _rng: random.Random) -> Case | None:
    """The file has curly apostrophes and dashes, the model quotes plain ones; lines that stay keep the file's."""
    change = str.maketrans({"'": "\u2019", "-": "\u2013"})
    old_lines = set(hunk.old.split("\n"))
    if hunk.old.translate(change) == hunk.old or any(
        line not in old_lines and line.translate(change) != line for line in hunk.new.split("\n")
    ):
        return None
    old, new = hunk.old.translate(change), hunk.new.translate(change)
    file = hunk.file.replace(hunk.old, old)
    return Case("file with curly quotes", hunk.name, file, hunk.old, hunk.new, file.replace(old, new))


def _runs(text: str) -> str:
    return "\n".join(re.sub(r"(?<=\S) {1,}(?=[=+*/-])", "  ", line) for line in text.split("\n"))


def _without_last_blank(hunk: Hunk, _rng: random.Random) -> Case | None:
    """A blank line at the edge of the quoted text is additional."""
    if hunk.old.startswith("\n"):
        return None
    return Case(
        "additional blank edges",
        hunk.name,
        hunk.file,
        f"\n\n{hunk.old}\n\n\n",
        f"\n\n{hunk.new}\n\n\n",
        hunk.file.replace(hunk.old, hunk.new),
    )


def _first_line(hunk: Hunk, _rng: random.Random) -> Case | None:
    """The first line, which stays, lacks its last word; it is the file's that stays."""
    old, new = hunk.old.split("\n"), hunk.new.split("\n")
    if old[0] != new[0] or len(old[0].split()) < 4 or len(old) < 5:
        return None
    old[0] = new[0] = old[0].rstrip().rpartition(" ")[0]
    return Case(
        "first line lacks a word",
        hunk.name,
        hunk.file,
        "\n".join(old),
        "\n".join(new),
        hunk.file.replace(hunk.old, hunk.new),
    )


DISTURBANCES: tuple[Disturbance, ...] = (
    _exact,
    _quoted("trailing blanks", _trailing, new_too=False),
    _dedented,
    _quoted("two blanks more", _each_line(lambda line: f"  {line}")),
    _quoted(
        "tabs for blanks", _each_line(lambda line: re.sub(r"\A(?: {4})+", lambda run: "\t" * (len(run[0]) // 4), line))
    ),
    _quoted("blanks for tabs", _each_line(lambda line: re.sub(r"\A\t+", lambda run: "    " * len(run[0]), line))),
    _quoted("twice the indentation", _each_line(lambda line: re.sub(r"\A +", lambda run: run[0] * 2, line))),
    _context_line,
    _quoted("curly quotes in the old text", _curly, new_too=False),
    _quoted("curly quotes in both", _curly),
    _numbered("line numbers N:", "{}: "),
    _numbered("line numbers N→", "{:6d}→"),
    _numbered("line numbers N and tab", "{:6d}\t"),
    _numbered_old,
    _escaped,
    _escaped_both,
    _invented,
    _renamed,
    _twice,
    _twice_exactly,
    _everywhere,
    _twin,
    _done,
    _marked,
    _unended,
    _carriage,
    _carriage_shifted,
    _padded_file,
    _typographic,
    _quoted("two blanks before operators", _runs, new_too=False),
    _without_last_blank,
    _first_line,
)


def make_cases(hunks: Iterable[Hunk], count: int, seed: int = 11) -> list[Case]:
    """Return cases of different hunks, spread evenly over the disturbances and the packages."""
    rng = random.Random(seed)
    by_package: dict[str, list[Hunk]] = {}
    for hunk in hunks:
        by_package.setdefault(hunk.name.partition("/")[0], []).append(hunk)
    for waiting in by_package.values():
        rng.shuffle(waiting)
    cases: list[Case] = []
    while len(cases) < count and any(by_package.values()):
        for waiting in filter(None, by_package.values()):
            made = (one(waiting[-1], rng) for one in rotated(DISTURBANCES, len(cases)))
            cases += [case for case in made if case is not None and not _is_another(case, waiting[-1])][:1]
            waiting.pop()
    return cases[:count]


def all_cases(hunks: Iterable[Hunk], seed: int = 11) -> list[Case]:
    """Return every disturbance of every hunk that it changes."""
    rng = random.Random(seed)
    made = ((hunk, disturb(hunk, rng)) for hunk in hunks for disturb in DISTURBANCES)
    return [case for hunk, case in made if case is not None and not _is_another(case, hunk)]


def _is_another(case: Case, hunk: Hunk) -> bool:
    """Return whether the disturbed text is in the file as it is quoted: then that is what is meant."""
    return case.old != hunk.old and case.old.strip("\n") != hunk.old and case.old in case.file.replace("\r\n", "\n")


def rotated(items: Sequence[Disturbance], start: int) -> Sequence[Disturbance]:
    """Return the items in order, those before `start` (modulo their number) at the end."""
    start %= len(items)
    return (*items[start:], *items[:start])


def own_hunks(folder: Path, seed: int = 11) -> Iterator[Hunk]:
    """Yield an edit of each module below a folder: some of its lines replaced, deleted, doubled or added."""
    rng = random.Random(seed)
    for path in sorted(folder.rglob("*.py")):
        text = path.read_text(encoding="utf-8")
        lines = text.split("\n")
        if len(lines) < 40:
            continue
        start, size = rng.randrange(len(lines) - 20), rng.randrange(6, 18)
        old, at = lines[start : start + size], rng.randrange(2, size - 2)
        filled = next((line for line in old[at::-1] if line.strip()), "")  # a line for a blank one is in its block
        indent = filled[: len(filled) - len(filled.lstrip())]
        replaced = [f"{indent}value = compute('first', {size})"]
        added = [old[at], f"{indent}# added: {size}", f"{indent}if ready:", f"{indent}    go()"]
        changed = rng.choice((replaced, [], added))
        new = [*old[:at], *changed, *old[at + 1 :]]
        quoted = "\n".join(old)
        if text.count(quoted) == 1 and quoted.strip() and new != old:
            yield Hunk(f"{path.relative_to(folder).parts[0]}/{path.name}", text, quoted, "\n".join(new))


def outcome_of(case: Case) -> str:
    """Return `right`, `refused` (although it could be applied), `refused as it must be` or `wrong`."""
    text, form = decode(case.file.encode())
    file = TextFile(Path("file"), text, form, Stamp(0, 0, 0))
    try:
        after, _ = replace_text(file.path, file, case.old, case.new, replace_all=case.replace_all)
    except ToolError:
        return "refused as it must be" if case.want is None else "refused"
    return "right" if case.want is not None and form.encode(after) == case.want.encode() else "wrong"
