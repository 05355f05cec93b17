import asyncio
from functools import partial
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from opencode_tui.engine.tool.builtin.edit import EditTool
from opencode_tui.engine.tool.edit.edit_text import replace_text
from opencode_tui.engine.tool.files.files import TextFile
from opencode_tui.engine.tool.files.read_guard import Stamp
from opencode_tui.engine.tool.files.text_format import decode
from opencode_tui.schema.error import ToolError
from tests.support.world.tools import Workbench


@pytest.fixture
def edit(bench: Workbench) -> EditTool:
    return EditTool(editor=bench.editor)


async def edited(bench: Workbench, edit: EditTool, content: str | bytes, old: str, new: str, **more: bool) -> bytes:
    path = bench.folder / "a.txt"
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    await bench.read("a.txt")
    await bench.call(edit, filePath="a.txt", oldString=old, newString=new, **more)
    return path.read_bytes()


async def test_replaces_the_quoted_text_and_tells_the_diff(bench: Workbench, edit: EditTool) -> None:
    path = bench.folder / "a.txt"
    path.write_text("one\ntwo\nthree\n")
    await bench.read("a.txt")
    result = await bench.call(edit, filePath="a.txt", oldString="two", newString="2\n2b")
    assert path.read_text() == "one\n2\n2b\nthree\n"
    assert result.metadata["filediff"] == {
        "file": str(path),
        "before": "one\ntwo\nthree\n",
        "after": "one\n2\n2b\nthree\n",
        "additions": 2,
        "deletions": 1,
    }
    ask = bench.asked[-1]
    assert (ask.permission, ask.patterns, ask.always) == ("edit", ["a.txt"], ["*"])
    assert ask.metadata == {"filepath": str(path), "diff": result.metadata["diff"], "exists": True}
    assert bench.edited == [path]


async def test_empty_old_text_creates_also_nested_folders(bench: Workbench, edit: EditTool) -> None:
    await bench.call(edit, filePath="deep/er/a.txt", oldString="", newString="hi\n")
    assert (bench.folder / "deep/er/a.txt").read_text() == "hi\n"


async def test_empty_old_text_fills_an_empty_file_and_replaces_no_other(bench: Workbench, edit: EditTool) -> None:
    assert await edited(bench, edit, "", "", "new\n") == b"new\n"
    for content in ("old\n", "\n", " "):
        with pytest.raises(ToolError, match=r"oldString is empty, but .*a.txt exists and is not; quote the text"):
            await edited(bench, edit, content, "", "new\n")
        assert (bench.folder / "a.txt").read_text() == content


async def test_a_file_outside_the_project_is_not_replaced_either(
    bench: Workbench, edit: EditTool, tmp_path: Path
) -> None:
    outside = tmp_path / "outside.rc"
    outside.write_text("A=1\n")
    await bench.read(str(outside))
    with pytest.raises(ToolError, match="oldString is empty"):
        await bench.call(edit, file_path=str(outside), old_str="", new_str="# x\n")
    assert outside.read_text() == "A=1\n"


async def test_replace_all_takes_every_occurrence(bench: Workbench, edit: EditTool) -> None:
    assert await edited(bench, edit, "foo bar foo baz foo", "foo", "qux", replaceAll=True) == b"qux bar qux baz qux"


@pytest.mark.parametrize(
    ("content", "old", "new", "word"),
    [
        ("a\n", "a", "a", "are the same"),
        ("alpha\nbeta\n", "betta", "x", "line 2 is not the quoted 'betta'"),
        ("x\ny\nx\n", "x", "z", "has oldString 2 times"),
        ("x\ny\nx\n", "x", "z", "lines 1, 3"),
        ("aaa", "aa", "b", "has oldString 2 times"),
        ("a\n", "", "", "both empty"),
    ],
)
async def test_says_why_it_cannot_replace(
    bench: Workbench, edit: EditTool, content: str, old: str, new: str, word: str
) -> None:
    with pytest.raises(ToolError, match=word) as caught:
        await edited(bench, edit, content, old, new)
    assert str(caught.value).partition("\n")[2] in ("", "2: beta")
    assert (bench.folder / "a.txt").read_text() == content


async def test_missing_file_and_folder_are_named(bench: Workbench, edit: EditTool) -> None:
    with pytest.raises(ToolError, match="does not exist"):
        await bench.call(edit, filePath="none.txt", oldString="a", newString="b")
    with pytest.raises(ToolError, match="is a folder"):
        await bench.call(edit, filePath=".", oldString="a", newString="b")


async def test_unread_file_is_refused(bench: Workbench, edit: EditTool) -> None:
    (bench.folder / "a.txt").write_text("a")
    with pytest.raises(ToolError, match="has not been read"):
        await bench.call(edit, filePath="a.txt", oldString="a", newString="b")


async def test_file_that_changed_since_it_was_read_is_refused(bench: Workbench, edit: EditTool) -> None:
    path = bench.folder / "a.txt"
    path.write_text("a")
    await bench.read("a.txt")
    path.write_text("a user's change")
    with pytest.raises(ToolError, match="changed on disk since"):
        await bench.call(edit, filePath="a.txt", oldString="a user", newString="b")


async def test_user_who_edits_while_permission_is_asked_keeps_the_change(bench: Workbench, edit: EditTool) -> None:
    path = bench.folder / "a.txt"
    path.write_text("a")
    await bench.read("a.txt")
    bench.before_answer = partial(path.write_text, "mine")
    with pytest.raises(ToolError, match="changed on disk meanwhile"):
        await bench.call(edit, filePath="a.txt", oldString="a", newString="b")
    assert path.read_text() == "mine"
    assert [entry.name for entry in bench.folder.iterdir()] == ["a.txt"]


async def test_two_edits_at_once_both_survive(bench: Workbench, edit: EditTool) -> None:
    path = bench.folder / "a.txt"
    path.write_text("one\ntwo\n")
    await bench.read("a.txt")
    await asyncio.gather(
        bench.call(edit, filePath="a.txt", oldString="one", newString="1"),
        bench.call(edit, filePath="a.txt", oldString="two", newString="2"),
    )
    assert path.read_text() == "1\n2\n"


@pytest.mark.parametrize("end", ["\n", "\r\n"])
@pytest.mark.parametrize("old_end", ["\n", "\r\n"])
@pytest.mark.parametrize("new_end", ["\n", "\r\n"])
@pytest.mark.parametrize("every", [False, True])
async def test_the_files_own_line_ends_stay(
    bench: Workbench, edit: EditTool, end: str, old_end: str, new_end: str, every: bool
) -> None:
    content = f"a{end}b{end}c{end}"
    after = await edited(bench, edit, content, f"a{old_end}b", f"x{new_end}y{new_end}z", replaceAll=every)
    assert after == f"x{end}y{end}z{end}c{end}".encode()


async def test_one_line_edit_of_a_crlf_file_keeps_it(bench: Workbench, edit: EditTool) -> None:
    assert await edited(bench, edit, "a\r\nb\r\n", "b", "b2\nb3") == b"a\r\nb2\r\nb3\r\n"


async def test_byte_order_mark_is_kept_and_not_shown(bench: Workbench, edit: EditTool) -> None:
    assert await edited(bench, edit, b"\xef\xbb\xbfa\n", "a", "b") == b"\xef\xbb\xbfb\n"
    assert "\ufeff" not in bench.asked[-1].metadata["diff"]


async def test_utf16_and_latin1_files_keep_their_encoding(bench: Workbench, edit: EditTool) -> None:
    utf16 = b"\xff\xfe" + "größe\r\n".encode("utf-16-le")
    assert await edited(bench, edit, utf16, "größe", "weite") == b"\xff\xfe" + "weite\r\n".encode("utf-16-le")
    assert await edited(bench, edit, "größe = 1\n".encode("latin-1"), "= 1", "= ü") == "größe = ü\n".encode("latin-1")


async def test_text_that_the_encoding_cannot_hold_is_refused(bench: Workbench, edit: EditTool) -> None:
    with pytest.raises(ToolError, match="latin-1 cannot store"):
        await edited(bench, edit, b"gr\xf6\xdfe\n", "e", "€")


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("café", "cafés"),  # a line without its punctuation
        ("“quoted”", "‘quoted’"),
        ("it’s", "it’s ‘theirs’ – 5 €…"),
        ("Foo™", "Foo® ™"),
        ("end", "end\nZürich – Œuvre"),
    ],
)
async def test_a_windows_1252_file_is_shown_as_such_and_keeps_its_encoding(
    bench: Workbench, edit: EditTool, old: str, new: str
) -> None:
    text = "café\r\n“quoted”\r\nit’s 1 €\r\nFoo™\r\nend\r\n"
    path = bench.folder / "a.txt"
    path.write_bytes(text.encode("windows-1252"))
    shown = (await bench.call(bench.reader, filePath="a.txt")).output
    assert "1: café\n2: “quoted”\n3: it’s 1 €\n4: Foo™\n5: end\n" in shown
    await bench.call(edit, filePath="a.txt", oldString=old, newString=new)
    assert path.read_bytes() == text.replace(old, new.replace("\n", "\r\n")).encode("windows-1252")


# The five bytes that windows-1252 leaves open, and bytes of latin-1 alone.
@pytest.mark.parametrize("data", [b"\x81 \x92\n", b"\x8d\n", b"\x8f\n", b"\x90\n", b"\x9d \xe9\n", b"\xe9\xa4\n"])
async def test_bytes_of_no_known_encoding_stay(bench: Workbench, edit: EditTool, data: bytes) -> None:
    assert await edited(bench, edit, data + b"end\n", "end", "ende é") == data + b"ende \xe9\n"
    with pytest.raises(ToolError, match="latin-1 cannot store"):
        await edited(bench, edit, data + b"end\n", "end", "’")


async def test_what_windows_1252_cannot_hold_is_refused(bench: Workbench, edit: EditTool) -> None:
    with pytest.raises(ToolError, match="windows-1252 cannot store"):
        await edited(bench, edit, "it’s\n".encode("windows-1252"), "it", "Привет")
    assert (bench.folder / "a.txt").read_bytes() == b"it\x92s\n"


async def test_broken_bytes_elsewhere_in_a_utf8_file_stay(bench: Workbench, edit: EditTool) -> None:
    assert (
        await edited(bench, edit, "größe ".encode() + b"\xff\na\n", "a", "ä")
        == "größe ".encode() + b"\xff\n" + "ä\n".encode()
    )


BROKEN = "größe – Länge – Zürich ".encode()
"""Enough of UTF-8 that the bytes after it are broken UTF-8, not another encoding."""


@pytest.mark.parametrize(
    ("line", "old", "new", "want"),
    [
        (b"Ren\xe9 = 1", "Ren\ufffd = 1", "Ren\ufffd = 2", b"Ren\xe9 = 2"),
        (b"Ren\xe9 = 1", "Ren\ufffd = 1\n", "# Ren\ufffd\nRen\ufffd = 1\n", b"# Ren\xe9\nRen\xe9 = 1"),
        (b"a\xe9b\xffc", "a\ufffdb\ufffdc", "a\ufffdb\ufffdc, d", b"a\xe9b\xffc, d"),
        (b"a\xe9b\xffc", "a\ufffdb\ufffdc", "x", b"x"),
        (b"a\xe9 \xe2\x80\x9cb\xe2\x80\x9d", 'a\ufffd "b"', 'a\ufffd "c"', b"a\xe9 \xe2\x80\x9cc\xe2\x80\x9d"),
    ],
)
async def test_a_line_with_broken_bytes_is_edited_and_keeps_them(
    bench: Workbench, edit: EditTool, line: bytes, old: str, new: str, want: bytes
) -> None:
    before, after = BROKEN + b"\n", b"\nend \xff\n"
    assert await edited(bench, edit, before + line + after, old, new) == before + want + after


async def test_two_lines_that_differ_in_broken_bytes_are_not_told_apart(bench: Workbench, edit: EditTool) -> None:
    data = BROKEN + b"\na\xe9\na\xff\n"
    with pytest.raises(ToolError, match="has text like oldString 2 times"):
        await edited(bench, edit, data, "a\ufffd", "b")
    with pytest.raises(ToolError, match="different texts like oldString"):
        await edited(bench, edit, data, "a\ufffd", "b", replaceAll=True)
    assert (bench.folder / "a.txt").read_bytes() == data


async def test_binary_file_is_refused(bench: Workbench, edit: EditTool) -> None:
    (bench.folder / "a.bin").write_bytes(b"\0\1\2")
    with pytest.raises(ToolError, match="binary"):
        await bench.call(edit, filePath="a.bin", oldString="a", newString="b")


@pytest.mark.parametrize(
    ("content", "old", "new", "after"),
    [
        ("def f():\n    a = 1\n    b = 2\n", "a = 1\nb = 2\n", "a = 3\nb = 4\n", "def f():\n    a = 3\n    b = 4\n"),
        (
            "if x:\n\tfoo()\n\tbar()\n",
            "if x:\n    foo()\n    bar()",
            "if x:\n    foo()\n    if y:\n        bar()",
            "if x:\n\tfoo()\n\tif y:\n\t\tbar()\n",
        ),
        ("a  =   1\n", "a = 1", "a = 2", "a = 2\n"),
        ("foo   \nbar\n", "foo\nbar", "x\ny", "x\ny\n"),
        ('say "hi"\n', 'say \\"hi\\"', 'say \\"bye\\"', 'say "bye"\n'),
        ("a\nb\n", "\n\nb\n\n", "\n\nc\n\n", "a\nc\n"),
        (
            "start\none two three\nfour five six\nseven\nend\n",
            "start\none two three\nfour five sxi\nseven\nend",
            "start\nend",
            "start\nend\n",
        ),
        ("  a\n  b\nc\n", "a\nb\n", "", "c\n"),
        ("  a\n    b\n  a\n  b\n", "a\nb\n", "x\n    y\nz\n", "  a\n    b\n  x\n      y\n  z\n"),
    ],
)
async def test_slips_of_the_model_still_match(
    bench: Workbench, edit: EditTool, content: str, old: str, new: str, after: str
) -> None:
    assert (await edited(bench, edit, content, old, new)).decode() == after


@pytest.mark.parametrize(
    ("content", "old", "new"),
    [
        ("begin\nkeep this work\nand this\nend\n", "begin\nsomething else\nquite other\nend", "begin\nend"),
        ("begin\na\nb\nkeep\nend\n", "begin\na\nb\nend", "begin\nend"),
        ('print("a")\n', 'print(\\"a\\")', 'print(\\"b\\n\\")'),
        ("foobar = 1\n", " foo  bar ", "x"),
        ("xfoo y\n", "foo  y", "z"),
        ("x1 = 2\n", " 1 = 2 ", "3"),
        ("a\n  b\n  c\n  a\n  b\na\n", "  a \n  b\n a", "x\n     y"),
    ],
)
async def test_text_that_was_not_meant_is_never_replaced(
    bench: Workbench, edit: EditTool, content: str, old: str, new: str
) -> None:
    with pytest.raises(ToolError):
        await edited(bench, edit, content, old, new)
    assert (bench.folder / "a.txt").read_text() == content


def text_file(data: bytes) -> TextFile:
    text, form = decode(data)
    return TextFile(Path("a"), text, form, Stamp(0, 0, 0))


@pytest.mark.slow
@given(
    st.lists(st.tuples(st.text("ab ", max_size=4), st.sampled_from([b"\n", b"\r\n"])), min_size=1, max_size=12),
    st.integers(0, 11),
    st.text("ab \n", max_size=8),
)
def test_outside_of_the_replaced_place_no_byte_changes(lines: list[tuple[str, bytes]], chosen: int, new: str) -> None:
    chosen %= len(lines)
    rows = [text.encode() + end for text, end in lines]
    rows[chosen] = b"UNIQUE" + lines[chosen][1]
    after, _ = replace_text(Path("a"), text_file(b"".join(rows)), "UNIQUE", new, replace_all=False)
    head, tail = b"".join(rows[:chosen]).decode(), (lines[chosen][1] + b"".join(rows[chosen + 1 :])).decode()
    assert after.startswith(head)
    assert after.endswith(tail)
    assert after[len(head) : len(after) - len(tail)].replace("\r\n", "\n") == new


@given(st.binary(max_size=200))
def test_every_file_that_can_be_decoded_is_encoded_to_the_same_bytes(data: bytes) -> None:
    try:
        text, form = decode(data)
    except ToolError:
        return
    assert form.encode(text) == data
