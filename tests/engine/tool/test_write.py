from pathlib import Path

import pytest

from opencode_tui.engine.tool.builtin.write import WriteTool
from opencode_tui.schema.error import RejectedError, ToolError
from tests.support.world.tools import Workbench, tree


@pytest.fixture
def write(bench: Workbench) -> WriteTool:
    return WriteTool(editor=bench.editor)


async def test_new_file_is_written_and_may_be_written_again(bench: Workbench, write: WriteTool) -> None:
    result = await bench.call(write, filePath="d/a.txt", content="one\n")
    assert (result.title, result.output) == ("d/a.txt", "Wrote d/a.txt (new file).")
    assert result.metadata["exists"] is False
    again = await bench.call(write, filePath="d/a.txt", content="two\n")
    assert again.metadata["exists"] is True
    assert (bench.folder / "d/a.txt").read_text() == "two\n"


async def test_unread_file_is_not_overwritten(bench: Workbench, write: WriteTool) -> None:
    (bench.folder / "a").write_text("mine")
    with pytest.raises(ToolError, match="has not been read in this session; read it"):
        await bench.call(write, filePath="a", content="x")
    assert (bench.folder / "a").read_text() == "mine"
    assert bench.asked == []


async def test_refusal_leaves_nothing(bench: Workbench, write: WriteTool) -> None:
    bench.refused.add("edit")
    with pytest.raises(RejectedError):
        await bench.call(write, filePath="d/a", content="x")
    assert tree(bench.folder) == {}


async def test_link_is_written_through_to_where_permission_was_asked(
    bench: Workbench, write: WriteTool, tmp_path: Path
) -> None:
    (tmp_path / "outside").mkdir()
    target = tmp_path / "outside" / "a"
    target.write_text("old")
    (bench.folder / "link").symlink_to(target)
    await bench.read("link")
    bench.asked.clear()
    result = await bench.call(write, filePath="link", content="new")
    assert result.output == f"Wrote link (replaced).\nNote: link is a link; {target} was written."
    assert (target.read_text(), (bench.folder / "link").is_symlink()) == ("new", True)
    assert [(asked.permission, asked.patterns) for asked in bench.asked] == [
        ("external_directory", [str(tmp_path / "outside" / "*")]),
        ("edit", ["link", "../outside/a"]),
    ]


async def test_dangling_link_makes_its_target(bench: Workbench, write: WriteTool) -> None:
    (bench.folder / "link").symlink_to("made")
    await bench.call(write, filePath="link", content="new")
    assert (bench.folder / "made").read_text() == "new"
    assert bench.asks("edit") == [["link", "made"]]


@pytest.mark.parametrize(
    ("old", "content", "new"),
    [
        (b"a\r\nb\r\n", "x\ny\n", b"x\r\ny\r\n"),
        (b"a\n", "x\r\ny\r\n", b"x\r\ny\r\n"),
        (b"\xef\xbb\xbfa\n", "x\n", b"\xef\xbb\xbfx\n"),
        ("ä\n".encode("latin-1"), "ö\n", "ö\n".encode("latin-1")),
        ("ä\n".encode("latin-1"), "€\n", "€\n".encode()),
        ("it’s\n".encode("windows-1252"), "“ö”\n", "“ö”\n".encode("windows-1252")),
    ],
)
async def test_replaced_file_keeps_its_format(
    bench: Workbench, write: WriteTool, old: bytes, content: str, new: bytes
) -> None:
    (bench.folder / "a").write_bytes(old)
    await bench.read("a")
    result = await bench.call(write, filePath="a", content=content)
    assert (bench.folder / "a").read_bytes() == new
    assert ("it is UTF-8 now" in result.output) == (content == "€\n")


@pytest.mark.parametrize(
    ("old", "content", "new"),
    [
        (b"Ren\xe9\nb\n", "Ren\ufffd\nB\n", b"Ren\xe9\nB\n"),
        (b"a\xe9 b\xff\nc\n", "a\ufffd b\ufffd\nC\nd\n", b"a\xe9 b\xff\nC\nd\n"),
        (b"a\xe9\nb\xff\n", "new\na\ufffd\nb\ufffd\n", b"new\na\xe9\nb\xff\n"),
        (b"a\xe9\r\nb\r\n", "a\ufffd\nB\n", b"a\xe9\r\nB\r\n"),
        (b"a\xe9\nb\n", "b\n", b"b\n"),
    ],
)
async def test_broken_bytes_stay_where_the_text_around_them_does(
    bench: Workbench, write: WriteTool, old: bytes, content: str, new: bytes
) -> None:
    head = "größe – Länge – Zürich\n"  # enough of UTF-8 that the bytes are broken UTF-8
    end = "\r\n" if b"\r\n" in old else "\n"
    before = head.replace("\n", end).encode()
    (bench.folder / "a").write_bytes(before + old)
    await bench.read("a")
    await bench.call(write, filePath="a", content=head + content)
    assert (bench.folder / "a").read_bytes() == before + new


async def test_text_that_no_encoding_holds_is_refused(bench: Workbench, write: WriteTool) -> None:
    with pytest.raises(ToolError, match="cannot store"):
        await bench.call(write, filePath="a", content="\ud800")
    assert tree(bench.folder) == {}
