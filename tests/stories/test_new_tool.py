"""A tool that is added with its row and its two files: the model sees it, rules know it, and it has words or a form of its own."""

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.source.tree import files_naming_tool
from tests.support.terminal.screen_terminal import ScreenTerminal
from tests.support.world.cli import PACKAGE_ROOT, CommandLine

pytestmark = pytest.mark.slow


ROW = """TOOLS = (
    ToolRow(
        name="linecount",
        shown="Count",
        verb="Counting",
        argument="file",
        counted=("count", "line"),
        words=Words("Count these lines?", "count lines", "counting lines"),
        aliases=("wc",),
    ),"""
MODULE = '''"""The linecount tool."""

from pathlib import Path

from opencode_tui.engine.tool.kit import ToolKit
from opencode_tui.engine.tool.tool import Parameters, ToolContext, ToolResult, read_description


class LinecountParameters(Parameters):
    """The file."""

    file_path: str


class LinecountTool:
    """Counts lines."""

    name = "linecount"
    parameters = LinecountParameters

    def __init__(self) -> None:
        self.description = read_description(self.name)

    async def run(self, arguments: LinecountParameters, context: ToolContext) -> ToolResult:
        """Return the number of lines."""
        await context.ask(self.name, [arguments.file_path], always=["*"])
        count = len(Path(context.directory, arguments.file_path).read_text().splitlines())
        return ToolResult(arguments.file_path, str(count), {"count": count})


def make(kit: ToolKit) -> LinecountTool:
    """Return the tool."""
    return LinecountTool()
'''


@pytest.fixture
def extended(line: CommandLine, tmp_path: Path) -> CommandLine:
    """The program with one tool more."""
    root = tmp_path / "program"
    shutil.copytree(PACKAGE_ROOT / "opencode_tui", root / "opencode_tui")
    rows = root / "opencode_tui/schema/tools.py"
    text = rows.read_text()
    assert text.count('TOOLS = (\n    ToolRow(\n        name="bash"') == 1
    rows.write_text(text.replace("TOOLS = (", ROW, 1))
    (root / "opencode_tui/engine/tool/builtin/linecount.py").write_text(MODULE)
    (root / "opencode_tui/engine/tool/builtin/linecount.md").write_text("Counts the lines of a file.\n")
    return replace(line, root=root)


@pytest.fixture
def extended_by_form(extended: CommandLine) -> CommandLine:
    """The program with that tool, whose results have a form of their own."""
    rows = extended.root / "opencode_tui/schema/tools.py"
    rows.write_text(
        rows.read_text().replace('counted=("count", "line"),', 'counted=("count", "line"), result="rows",', 1)
    )
    module = extended.root / "opencode_tui/engine/tool/builtin/linecount.py"
    form = '{"count": count, "rows": [{"text": "in all", "detail": f"{count} lines"}, {"text": "read", "status": "completed"}]}'
    module.write_text(module.read_text().replace('{"count": count}', form))
    return extended


def test_a_row_and_two_files_are_a_tool_with_a_form_of_its_own(extended_by_form, server, project):
    assert len(files_naming_tool(extended_by_form.root, "linecount")) == 3
    server.script(Answer(calls=(Call("linecount", {"filePath": "a.py"}),)), Answer("counted"))
    done = extended_by_form.run("run", "-m", extended_by_form.model, "count")
    assert done.code == 0
    assert "in all  1 lines" in done.stderr and "✓ read" in done.stderr

    page = project.path.parent / "page.html"
    assert extended_by_form.run("export", "--html", str(page)).code == 0
    assert "in all  1 lines\n✓ read" in page.read_text()

    words = ["-m", "opencode_tui", "-c"]
    with ScreenTerminal(words, folder=project.path, environ=extended_by_form.variables()) as terminal:
        shown = terminal.sees("✓ read")
        assert "1 line" in shown and "in all  1 lines" in shown
        terminal.press("ctrl+d", "ctrl+d")
        assert terminal.ends() == 0


def test_a_row_and_two_files_are_a_tool(extended, server, project):
    assert len(files_naming_tool(extended.root, "linecount")) == 3
    call = Call("linecount", {"filePath": "a.py"})
    server.script(Answer(calls=(call,)), Answer("counted"))
    done = extended.run("run", "-m", extended.model, "count")
    assert done.code == 0
    assert "Count" in done.stderr and "a.py" in done.stderr and "1 line" in done.stderr
    [spec] = [one for one in server.bodies[0]["tools"] if one["function"]["name"] == "linecount"]
    assert spec["function"]["description"] == "Counts the lines of a file."
    assert list(spec["function"]["parameters"]["properties"]) == ["filePath"]

    server.script(Answer(calls=(Call("wc", {"filePath": "a.py"}),)), Answer("read"))
    refused = replace(extended, settings={"permission": {"linecoun": "deny"}}).turn("count")
    assert "did you mean 'linecount'?" in refused.stderr
    assert "call linecount {filePath: string}" in json.dumps(server.bodies[-1])
