import pytest

from opencode_tui.engine.tool.builtin.multiedit import MultieditTool
from opencode_tui.schema.error import ToolError
from tests.support.world.tools import Workbench


@pytest.fixture
def multiedit(bench: Workbench) -> MultieditTool:
    return MultieditTool(editor=bench.editor)


async def test_each_edit_works_on_the_one_before(bench: Workbench, multiedit: MultieditTool) -> None:
    (bench.folder / "a").write_text("one\ntwo\n")
    await bench.read("a")
    edits = [{"oldString": "one", "newString": "three"}, {"oldString": "three\ntwo", "newString": "four"}]
    result = await bench.call(multiedit, filePath="a", edits=edits)
    assert (bench.folder / "a").read_text() == "four\n"
    assert result.output == "Edited a (2 replacements)."
    assert len(bench.asks("edit")) == 1


async def test_one_that_does_not_fit_stops_all(bench: Workbench, multiedit: MultieditTool) -> None:
    (bench.folder / "a").write_text("one\n")
    await bench.read("a")
    edits = [{"oldString": "one", "newString": "two"}, {"oldString": "one", "newString": "x"}]
    with pytest.raises(ToolError, match=r"edit 2 \(nothing was written\)"):
        await bench.call(multiedit, filePath="a", edits=edits)
    assert (bench.folder / "a").read_text() == "one\n"
    assert bench.asks("edit") == []


async def test_empty_old_text_first_creates_the_file(bench: Workbench, multiedit: MultieditTool) -> None:
    edits = [{"oldString": "", "newString": "one\n"}, {"oldString": "one", "newString": "two"}]
    await bench.call(multiedit, filePath="a", edits=edits)
    assert (bench.folder / "a").read_text() == "two\n"


async def test_empty_old_text_first_fills_an_empty_file_alone(bench: Workbench, multiedit: MultieditTool) -> None:
    edits = [{"oldString": "", "newString": "one\n"}, {"oldString": "one", "newString": "two"}]
    (bench.folder / "a").write_text("")
    await bench.read("a")
    await bench.call(multiedit, filePath="a", edits=edits)
    assert (bench.folder / "a").read_text() == "two\n"
    with pytest.raises(ToolError, match=r"edit 1 .*oldString is empty"):
        await bench.call(multiedit, filePath="a", edits=edits)
    assert (bench.folder / "a").read_text() == "two\n"


async def test_the_result_names_the_edits_that_were_adapted(bench: Workbench, multiedit: MultieditTool) -> None:
    (bench.folder / "a").write_text("if x:\n    one\n    two\nthree\n")
    await bench.read("a")
    edits = [{"oldString": "three", "newString": "3"}, {"oldString": "one\ntwo\n", "newString": "one\n2\n"}]
    result = await bench.call(multiedit, filePath="a", edits=edits)
    assert (bench.folder / "a").read_text() == "if x:\n    one\n    2\n3\n"
    assert result.output.startswith("Edited a (2 replacements).\nNote: edit 2: oldString is indented differently")


async def test_an_ambiguous_or_repeated_edit_stops_all(bench: Workbench, multiedit: MultieditTool) -> None:
    content = "a\nb\nc\n\n  a\n  b\n  d\n"
    (bench.folder / "a").write_text(content)
    await bench.read("a")
    first = {"oldString": "c", "newString": "C"}
    for wrong in (
        {"oldString": " a\n b", "newString": "x"},
        {"oldString": "C", "newString": "C"},
        {"oldString": "", "newString": "x"},
    ):
        with pytest.raises(ToolError, match=r"^edit 2"):
            await bench.call(multiedit, filePath="a", edits=[first, wrong])
    assert (bench.folder / "a").read_text() == content
