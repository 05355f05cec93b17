"""What holds for every edit that is applied: nothing else changes, line ends and marks stay, and it cannot be made twice."""

from pathlib import Path

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from opencode_tui.engine.tool.edit.edit_text import replace_text
from opencode_tui.engine.tool.files.files import Stamp, TextFile
from opencode_tui.engine.tool.files.text_format import decode
from opencode_tui.schema.error import ToolError
from tests.support.source.edit_cases import all_cases, sample_hunks

INDENTS = st.sampled_from(["", "  ", "    ", "\t", "\t\t", "        "])
WORDS = st.sampled_from(["a = 1", "b(x)", "if c:", "}", "", "return d", "it's", 'say "e"', "a - b", "f\\n", "end"])
LINES = st.lists(st.tuples(INDENTS, WORDS).map("".join), min_size=1, max_size=8)
SLIPS = st.sampled_from(
    [
        lambda text: text,
        lambda text: "\n".join(f"{line}  " for line in text.split("\n")),
        lambda text: "\n".join(f"  {line}" for line in text.split("\n")),
        lambda text: "\n".join(line.lstrip() for line in text.split("\n")),
        lambda text: text.replace("\t", "    "),
        lambda text: text.replace("    ", "\t"),
        lambda text: text.replace("'", "\u2019").replace('"', "\u201c"),
        lambda text: text.replace("\n", "\\n"),
        lambda text: "\n".join(f"{number}: {line}" for number, line in enumerate(text.split("\n"), 1)),
        lambda text: f"\n{text}\n\n",
        lambda text: text.replace("a = 1", "a = 1  # one", 1),
    ]
)


def file_of(data: bytes) -> TextFile:
    text, form = decode(data)
    return TextFile(Path("a"), text, form, Stamp(0, 0, 0))


@pytest.mark.slow
@given(
    before=LINES,
    block=LINES,
    after=LINES,
    new=LINES,
    slip=SLIPS,
    end=st.sampled_from(["\n", "\r\n"]),
    mark=st.booleans(),
)
def test_nothing_outside_of_the_matched_lines_changes(
    before: list[str], block: list[str], after: list[str], new: list[str], slip: object, end: str, mark: bool
) -> None:
    """A matched line may be anywhere, but the lines before the first and after the last changed one are those of the file."""
    assert callable(slip)
    lines = [*before, *block, *after]
    data = (b"\xef\xbb\xbf" if mark else b"") + (end.join(lines) + end).encode()
    file = file_of(data)
    old, written = str(slip("\n".join(block))), str(slip("\n".join(new)))
    try:
        text, _ = replace_text(file.path, file, old, written, replace_all=False)
    except ToolError:
        return
    stored = file.format.encode(text)
    assert stored.startswith(b"\xef\xbb\xbf") == mark
    assert stored.replace(b"\r\n", b"").count(b"\n") == (0 if end == "\r\n" else stored.count(b"\n"))
    found = text.replace("\r\n", "\n").split("\n")
    head = next((at for at, line in enumerate(lines) if at >= len(found) or found[at] != line), len(lines))
    tail = next(
        (at for at, line in enumerate([*lines, ""][::-1]) if at >= len(found) or found[-1 - at] != line), len(lines)
    )
    # The changed lines are as many as were quoted, at most, and as many as were written.
    assert len(lines) + 1 - head - tail <= old.replace("\\n", "\n").count("\n") + 1
    assert len(found) - head - tail <= written.replace("\\n", "\n").count("\n") + 1


@pytest.mark.slow
@given(block=LINES, rest=LINES, new=LINES, slip=SLIPS)
def test_an_edit_of_lines_cannot_be_made_twice(block: list[str], rest: list[str], new: list[str], slip: object) -> None:
    assert callable(slip)
    file = file_of(("\n".join([*rest, *block, *rest]) + "\n").encode())
    old, written = str(slip("\n".join(block))), str(slip("\n".join(new)))
    elsewhere = {line.strip() for line in (*new, *rest, "")}
    assume(any(line.strip() not in elsewhere for line in block))  # a line that the edit removes from the file
    try:
        text, _ = replace_text(file.path, file, old, written, replace_all=False)
    except ToolError:
        return
    with pytest.raises(ToolError):
        replace_text(file.path, file_of(text.encode()), old, written, replace_all=False)


@pytest.mark.slow
def test_edits_of_the_samples_are_refused_the_second_time() -> None:
    tried = 0
    for case in all_cases(sample_hunks()):
        file = file_of(case.file.encode())
        try:
            text, _ = replace_text(file.path, file, case.old, case.new, replace_all=case.replace_all)
        except ToolError:
            continue
        again = file_of(file.format.encode(text))
        tried += 1
        with pytest.raises(ToolError, match=r"newString is|oldString was not found|has text like oldString"):
            replace_text(file.path, again, case.old, case.new, replace_all=case.replace_all)
    assert tried > 400
