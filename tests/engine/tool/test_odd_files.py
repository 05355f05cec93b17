"""Files whose names or bytes a model cannot write as they are: they are read and edited, and the result says what was odd."""

import os
import unicodedata

import pytest

from opencode_tui.engine.tool.builtin.apply_patch import ApplyPatchTool
from opencode_tui.engine.tool.builtin.edit import EditTool
from opencode_tui.engine.tool.builtin.glob import GlobTool
from opencode_tui.engine.tool.builtin.grep import GrepTool
from opencode_tui.engine.tool.builtin.write import WriteTool
from opencode_tui.engine.tool.edit.patch import AddFile, parse_patch
from opencode_tui.engine.tool.search.glob_pattern import matcher
from opencode_tui.engine.tool.search.search import FileSearch
from opencode_tui.schema.error import ToolError
from tests.support.rows import each
from tests.support.world.tools import Workbench

SCREENSHOT = "Shot 1.32\u202fPM.txt"


@pytest.mark.parametrize(
    ("name", "written"),
    [(SCREENSHOT, "Shot 1.32 PM.txt"), (unicodedata.normalize("NFD", "\u00e9t.txt"), "\u00e9t.txt")],
)
async def test_the_only_file_whose_name_looks_the_same_is_read_and_edited(
    bench: Workbench, name: str, written: str
) -> None:
    path = bench.folder / name
    path.write_text("hi\n")
    if (bench.folder / written).exists():
        pytest.skip("this file system takes both for one name")
    output = (await bench.call(bench.reader, filePath=written)).output
    assert "1: hi\n" in output
    assert f"this is {name!a}, the only file whose name looks the same" in output
    output = (
        await bench.call(EditTool(editor=bench.editor), filePath=written, oldString="hi", newString="there")
    ).output
    assert path.read_text() == "there\n"
    assert "the only file whose name looks the same" in output
    assert [entry.name for entry in bench.folder.iterdir()] == [name]


async def test_of_two_files_that_look_the_same_none_is_read(bench: Workbench) -> None:
    for name in (SCREENSHOT, "Shot\u00a01.32 PM.txt"):
        (bench.folder / name).write_text("hi\n")
    with pytest.raises(ToolError, match="file not found"):
        await bench.call(bench.reader, filePath="Shot 1.32 PM.txt")


async def test_a_new_file_has_the_name_that_was_written(bench: Workbench) -> None:
    (bench.folder / SCREENSHOT).write_text("hi\n")
    await bench.call(WriteTool(editor=bench.editor), filePath="Shot 1.32 PM.txt", content="new\n")
    assert (bench.folder / SCREENSHOT).read_text() == "hi\n"


async def test_lines_that_end_in_cr_alone_are_lines(bench: Workbench) -> None:
    path = bench.folder / "old.txt"
    path.write_bytes(b"one\rtwo\rthree\rfour\r")
    output = (await bench.call(bench.reader, filePath="old.txt", offset=2)).output
    assert "2: two\n3: three\n4: four\n\n(End of file - total 4 lines)\n(Its lines end in CR alone.)" in output
    edit = EditTool(editor=bench.editor)
    await bench.call(edit, filePath="old.txt", oldString="two\nthree", newString="2\n2b\n3")
    assert path.read_bytes() == b"one\r2\r2b\r3\rfour\r"
    patch = ApplyPatchTool(files=bench.files, stamps=bench.stamps, permission=bench.permission)
    text = "*** Begin Patch\n*** Update File: old.txt\n@@\n 2b\n-3\n+THREE\n+more\n*** End Patch"
    await bench.call(patch, patchText=text)
    assert path.read_bytes() == b"one\r2\r2b\rTHREE\rmore\rfour\r"
    await bench.call(WriteTool(editor=bench.editor), filePath="old.txt", content="a\nb\n")
    assert path.read_bytes() == b"a\rb\r"


@each(
    ("data", "note"),
    [
        ("\u7b2c\u4e00\u884c \u4e2d\u6587\n".encode("gbk"), "(Not UTF-8: read as "),
        ("gr\u00f6\u00dfe\n".encode("latin-1"), "(Not UTF-8: read as latin-1, which may be wrong; "),
        (b"\xff\xfea\0\n\0", "(Read as utf-16-le, as its mark says; an edit keeps it.)"),
        ("gr\u00f6\u00dfe L\u00e4nge\n".encode() + b"\xff\n", "(Some bytes are not UTF-8; they are shown as U+FFFD, "),
        ("gr\u00f6\u00dfe\n".encode(), ""),
        (b"\xef\xbb\xbfa\n", ""),
        (b"a\r\nb\r\n", ""),
    ],
)
async def test_a_text_that_is_not_utf_8_is_read_with_what_it_was_taken_for(
    bench: Workbench, data: bytes, note: str
) -> None:
    (bench.folder / "a").write_bytes(data)
    output = (await bench.call(bench.reader, filePath="a")).output
    end = output.partition("lines)\n")[2]
    assert end.startswith(note) if note else end == "</content>"


@each(
    ("pattern", "found", "left"),
    [
        ("a/[test]/(dash)/c.tsx", ["a/[test]/(dash)/c.tsx", "a/t/(dash)/c.tsx"], ["a/x/(dash)/c.tsx"]),
        ("file[1].txt", ["file[1].txt", "a/file[1].txt", "file1.txt"], ["file2.txt"]),
        ("src/[id]/*.ts", ["src/[id]/a.ts", "src/i/a.ts"], ["src/x/a.ts"]),
        (r"file\[1\].txt", ["file[1].txt"], ["file1.txt"]),
        (r"a\*b", ["a*b"], ["axb"]),
        (r"\{a,b\}", ["{a,b}"], ["a", "b"]),
        (r"a\b", [r"a\b"], ["ab"]),
        ("!file[1].txt", ["file2.txt"], ["file[1].txt", "file1.txt"]),
        ("[ab]*", ["a", "bc", "[ab]x"], ["c"]),
    ],
)  # fmt: skip
def test_brackets_of_a_name_are_found(pattern: str, found: list[str], left: list[str]) -> None:
    accepts = matcher(pattern)
    assert [path for path in found if not accepts(path)] == []
    assert [path for path in left if accepts(path)] == []


async def test_tools_find_a_route_with_brackets(bench: Workbench) -> None:
    path = bench.folder / "app" / "[slug]" / "page.tsx"
    path.parent.mkdir(parents=True)
    path.write_text("route\n")
    search = FileSearch(bench.folder, os.environ)
    assert (await bench.call(GlobTool(search=search), pattern="app/[slug]/page.tsx")).output == str(path)
    assert (await bench.call(GlobTool(search=search), pattern=str(path))).output == str(path)
    assert (
        "Line 1: route" in (await bench.call(GrepTool(search=search), pattern="route", include="app/[slug]/*")).output
    )


def test_a_patch_of_many_lines_is_read_at_once() -> None:
    count = 60_000
    (section,) = parse_patch("*** Begin Patch\n*** Add File: a\n" + "+line\n" * count + "*** End Patch")
    assert isinstance(section, AddFile)
    assert section.content == "line\n" * count


async def test_lines_for_the_end_do_not_keep_a_patch_from_earlier_ones(bench: Workbench) -> None:
    (bench.folder / "a").write_text("one\ntwo\n")
    patch = ApplyPatchTool(files=bench.files, stamps=bench.stamps, permission=bench.permission)
    text = "*** Begin Patch\n*** Update File: a\n@@\n+three\n@@\n-one\n+1\n@@\n+four\n*** End Patch"
    await bench.call(patch, patchText=text)
    assert (bench.folder / "a").read_text() == "1\ntwo\nthree\nfour\n"


@each(
    ("old", "new"),
    [
        (["\tif a {", "\t\tb", "}"], ["\tif a {", "\t\tb", "\t}", "}", "func c() {"]),
        (["  x", "    y"], ["\tq"]),
    ],
)
async def test_a_patch_whose_indentation_is_uncertain_is_refused(
    bench: Workbench, old: list[str], new: list[str]
) -> None:
    before = "\tif a {\n\t\tb\n\t}\n}\n    x\n      y\n"
    (bench.folder / "a").write_text(before)
    patch = ApplyPatchTool(files=bench.files, stamps=bench.stamps, permission=bench.permission)
    lines = "\n".join([*(f"-{line}" for line in old), *(f"+{line}" for line in new)])
    with pytest.raises(ToolError, match="it is not certain how to write the added ones"):
        await bench.call(patch, patchText=f"*** Begin Patch\n*** Update File: a\n@@\n{lines}\n*** End Patch")
    assert (bench.folder / "a").read_text() == before
