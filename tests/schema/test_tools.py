"""The rows of the tools: they are complete, and nothing else names a tool that needs no code of its own elsewhere."""

from pathlib import Path

import pytest

from opencode_tui.engine.tool.tool import TOOL_FILES as FOLDER
from opencode_tui.schema.tools import OLD_TOOLS, TOOLS, permission_of, row_of, tool_with
from tests.support.source.tree import files_naming_tool

ROOT = Path(__file__).parents[2]


@pytest.mark.fast_cases("websearch")
@pytest.mark.parametrize("tool", ["websearch", "plan_exit"])
def test_a_tool_is_named_in_its_row_and_in_its_two_files(tool: str) -> None:
    builtin = f"engine/tool/builtin/{tool}"
    assert files_naming_tool(ROOT, tool) == [f"{builtin}.md", f"{builtin}.py", "schema/tools.py"]


def test_every_row_has_its_two_files_and_no_name_occurs_twice() -> None:
    names = [row.name for row in (*TOOLS, *OLD_TOOLS)]
    assert len(names) > 20 and len(set(names)) == len(names)
    described = {path.stem for path in FOLDER.glob("*.md")}
    assert described == {row.name for row in TOOLS}
    assert described <= {path.stem for path in FOLDER.glob("*.py")}


def test_names_of_other_agents_mean_one_tool_and_none_of_ours() -> None:
    aliases = [alias for row in TOOLS for alias in row.aliases]
    assert len(aliases) > 60 and len(set(aliases)) == len(aliases)
    assert not set(aliases) & {row.name for row in TOOLS}
    foreign = [name for row in TOOLS for name in (row.claude, *row.imported) if name]
    assert len(foreign) > 15 and len(set(foreign)) == len(foreign)


def test_an_unknown_tool_has_its_own_name_and_its_own_permission() -> None:
    row = row_of("my_tool")
    assert (row.shown, row.result, row.edits, permission_of("my_tool")) == ("my_tool", "lines", False, "my_tool")
    assert [permission_of(tool) for tool in ("write", "bash_output", "grep")] == ["edit", "bash", "grep"]


@pytest.mark.parametrize("role", ["search", "plan"])
def test_one_tool_has_each_role(role) -> None:
    assert [row.name for row in TOOLS if row.role == role] == [tool_with(role)]
