import os
from pathlib import Path

import pytest

from opencode_tui.engine.tool.builtin.read import ReadTool
from opencode_tui.engine.tool.tool import ToolContext, ToolResult
from opencode_tui.schema.error import RejectedError, ToolError
from tests.support.world.tools import Workbench

PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d49484452000000010000000108060000001f15c4890000000a49444154789c6300010000000500010d0a2db4"
)


async def read(bench: Workbench, name: str, **more: int) -> ToolResult:
    return await bench.call(bench.reader, filePath=name, **more)


async def test_shows_numbered_lines_between_tags(bench: Workbench) -> None:
    path = bench.folder / "a.txt"
    path.write_text("one\r\ntwo\n")
    result = await read(bench, "a.txt")
    assert result.output == (
        f"<path>{path}</path>\n<type>file</type>\n<content>\n1: one\n2: two\n\n(End of file - total 2 lines)\n</content>"
    )
    assert (result.title, result.metadata) == ("a.txt", {"preview": "one\ntwo", "truncated": False, "loaded": []})


async def test_asks_for_the_absolute_path_and_offers_always_for_no_other_file(bench: Workbench) -> None:
    (bench.folder / "sub").mkdir()
    (bench.folder / "sub" / "a.txt").write_text("x")
    await read(bench, str(bench.folder / "sub" / "a.txt"))
    path = [str(bench.folder / "sub" / "a.txt")]
    assert [(asked.permission, asked.patterns, asked.always) for asked in bench.asked] == [("read", path, path)]


async def test_outside_is_asked_first_also_for_what_does_not_exist(bench: Workbench, tmp_path: Path) -> None:
    with pytest.raises(ToolError, match="file not found"):
        await read(bench, "../outside/a.txt")
    pattern = str(tmp_path / "outside" / "*")
    assert [(asked.permission, asked.patterns) for asked in bench.asked] == [
        ("external_directory", [pattern]),
        ("read", [str(tmp_path / "outside" / "a.txt")]),
    ]
    assert bench.asked[0].always == [pattern]


async def test_outside_folder_is_asked_as_itself(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    await read(bench, str(tmp_path / "outside"))
    assert bench.asks("external_directory") == [[str(tmp_path / "outside" / "*")]]


async def test_sibling_in_the_worktree_is_inside(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "a").write_text("x")
    whole = Workbench(bench.folder, worktree=tmp_path)
    await read(whole, "../other/a")
    assert whole.asks("external_directory") == []


async def test_worktree_of_a_folder_without_git_makes_nothing_inside(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "a").write_text("x")
    bare = Workbench(bench.folder, worktree=Path("/"))
    await read(bare, "../a")
    assert bare.asks("external_directory") == [[str(tmp_path / "*")]]


async def test_link_is_asked_for_by_both_names(bench: Workbench, tmp_path: Path) -> None:
    (bench.folder / ".env").write_text("KEY=1")
    (bench.folder / "notes.txt").symlink_to(".env")
    (bench.folder / "away").symlink_to(tmp_path)
    await read(bench, "notes.txt")
    assert bench.asks("read") == [[str(bench.folder / "notes.txt"), str(bench.folder / ".env")]]
    (tmp_path / "secret").write_text("s")
    await read(bench, "away/secret")
    assert bench.asks("external_directory") == [[str(tmp_path / "*")]]


async def test_directory_that_is_reached_by_a_link_is_no_alias(bench: Workbench, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(bench.folder)
    (bench.folder / "a").write_text("x")
    linked = Workbench(tmp_path / "link", worktree=bench.folder)
    result = await read(linked, "a")
    assert (result.title, linked.asks("read")) == ("a", [[str(tmp_path / "link" / "a")]])
    assert linked.asks("external_directory") == []


async def test_refusal_reads_nothing(bench: Workbench) -> None:
    (bench.folder / "a").write_text("x")
    bench.refused.add("read")
    with pytest.raises(RejectedError):
        await read(bench, "a")


async def test_offset_and_limit_choose_lines(bench: Workbench) -> None:
    (bench.folder / "a").write_text("".join(f"line{number}\n" for number in range(1, 101)))
    head = await read(bench, "a", limit=10)
    assert "10: line10\n\n(File has more lines. Read on with offset=11)" in head.output
    assert head.metadata["truncated"] is True
    middle = await read(bench, "a", offset=10, limit=5)
    assert middle.metadata["preview"].split("\n") == [f"line{number}" for number in range(10, 15)]
    tail = await read(bench, "a", offset=96, limit=5)
    assert "(End of file - total 100 lines)" in tail.output


@pytest.mark.parametrize("offset", [0, -1, 3])
async def test_offset_outside_of_the_file_is_an_error(bench: Workbench, offset: int) -> None:
    (bench.folder / "a").write_text("x\ny\n")
    with pytest.raises(ToolError, match="offset"):
        await read(bench, "a", offset=offset)


async def test_empty_file_is_readable(bench: Workbench) -> None:
    (bench.folder / "a").write_text("")
    assert "(End of file - total 0 lines)" in (await read(bench, "a")).output


async def test_long_lines_and_many_bytes_are_cut(bench: Workbench) -> None:
    (bench.folder / "long").write_text("x" * 3000 + "\ny\n")
    assert f"1: {'x' * 2000}...\n2: y\n" in (await read(bench, "long")).output
    (bench.folder / "many").write_text(("z" * 99 + "\n") * 1000)
    result = await read(bench, "many")
    assert "(Output truncated at 51200 bytes. Read on with offset=513)" in result.output
    assert result.metadata["truncated"] is True


@pytest.mark.slow
async def test_line_of_many_megabytes_costs_little_memory(bench: Workbench) -> None:
    with (bench.folder / "huge").open("wb") as file:
        file.write(b"a\n")
        for _ in range(64):
            file.write(b"x" * 1024 * 1024)
        file.write(b"\nend\n")
    result = await read(bench, "huge")
    assert result.output.count("\n") < 12
    assert "3: end" in result.output


async def test_folder_lists_its_entries(bench: Workbench) -> None:
    (bench.folder / "b").mkdir()
    (bench.folder / "a.txt").write_text("x")
    result = await read(bench, ".")
    assert "<type>directory</type>\n<entries>\na.txt\nb/\n\n(2 entries)\n</entries>" in result.output


@pytest.mark.parametrize(("data", "mime"), [(PNG, "image/png"), (b"%PDF-1.7\n\0", "application/pdf")])
async def test_image_and_pdf_are_attached(bench: Workbench, data: bytes, mime: str) -> None:
    (bench.folder / "a.any").write_bytes(data)
    result = await read(bench, "a.any")
    [attachment] = result.attachments
    assert (attachment["type"], attachment["mime"], attachment["filename"]) == ("file", mime, "a.any")
    assert attachment["url"].startswith(f"data:{mime};base64,")
    assert result.metadata["truncated"] is False


async def test_svg_and_unknown_endings_are_text(bench: Workbench) -> None:
    for name in ("a.svg", "a.fbs", "a.bin"):
        (bench.folder / name).write_text("<svg/>")
        assert "1: <svg/>" in (await read(bench, name)).output


async def test_binary_pipe_and_device_are_refused(bench: Workbench) -> None:
    (bench.folder / "a.o").write_bytes(b"\x7fELF\0\0\0")
    os.mkfifo(bench.folder / "pipe")
    with pytest.raises(ToolError, match="binary"):
        await read(bench, "a.o")
    with pytest.raises(ToolError, match="pipe"):
        await read(bench, "pipe")


async def test_missing_file_names_similar_ones(bench: Workbench) -> None:
    (bench.folder / "config.jsonc").write_text("{}")
    with pytest.raises(ToolError, match=r"did you mean .*config\.jsonc"):
        await read(bench, "config.json")


async def test_instructions_near_the_file_are_added_once_given(bench: Workbench) -> None:
    (bench.folder / "a").write_text("x")

    async def nearby(path: Path, context: ToolContext) -> list[tuple[Path, str]]:
        return [(path.parent / "AGENTS.md", "Be brief.")]

    reader = ReadTool(stamps=bench.stamps, instructions=nearby)
    result = await bench.call(reader, filePath="a")
    assert "<system-reminder>\nInstructions from: " in result.output
    assert "Be brief.\n</system-reminder>" in result.output
    assert result.metadata["loaded"] == [str(bench.folder / "AGENTS.md")]
