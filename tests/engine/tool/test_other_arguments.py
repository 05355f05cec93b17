"""Arguments that other agents' tools have are honored, corrected or named; none is dropped without a word."""

import os
from pathlib import Path
from typing import Any

import pytest

from opencode_tui.engine.tool.builtin.apply_patch import ApplyPatchParameters
from opencode_tui.engine.tool.builtin.bash import BashParameters
from opencode_tui.engine.tool.builtin.bash_output import BashOutputParameters
from opencode_tui.engine.tool.builtin.edit import EditParameters
from opencode_tui.engine.tool.builtin.glob import GlobParameters, GlobTool
from opencode_tui.engine.tool.builtin.grep import GrepParameters, GrepTool
from opencode_tui.engine.tool.builtin.list import ListParameters
from opencode_tui.engine.tool.builtin.multiedit import MultieditParameters
from opencode_tui.engine.tool.builtin.read import ReadParameters
from opencode_tui.engine.tool.builtin.skill import SkillParameters
from opencode_tui.engine.tool.builtin.task import TaskParameters
from opencode_tui.engine.tool.builtin.todowrite import TodowriteParameters
from opencode_tui.engine.tool.builtin.webfetch import WebfetchParameters
from opencode_tui.engine.tool.builtin.write import WriteParameters
from opencode_tui.engine.tool.parameter_schema import describe, parse, unused
from opencode_tui.engine.tool.registry import read_specs
from opencode_tui.engine.tool.search.search import FileSearch
from opencode_tui.engine.tool.tool import Parameters
from opencode_tui.engine.tool.wrong_call import describe_unknown
from opencode_tui.schema.error import ToolError
from tests.support.provider.model_script import Answer, Call, content_text
from tests.support.rows import each
from tests.support.world.engine import opened
from tests.support.world.tools import Workbench

TASK = {"description": "d", "prompt": "p", "subagent_type": "x"}


@each(
    ("parameters", "written", "expected"),
    [
        (BashParameters, {"command": "ls", "run_in_background": True}, {"background": True}),
        (TaskParameters, {**TASK, "run_in_background": True}, {"background": True}),
        (BashParameters, {"command": ["ls", "-l", "a b"]}, {"command": "ls -l 'a b'"}),
        (BashParameters, {"command": ["bash", "-lc", "ls | wc"]}, {"command": "ls | wc"}),
        (BashParameters, {"command": ["/bin/sh", "-c", "ls"]}, {"command": "ls"}),
        (BashParameters, {"command": '["ls", "-l"]'}, {"command": '["ls", "-l"]'}),  # it may be meant
        (BashParameters, {"cmd": "ls", "cwd": "src"}, {"workdir": "src"}),
        (ReadParameters, {"path": "f", "line_offset": 5, "n_lines": 10}, {"offset": 5, "limit": 10}),
        (ReadParameters, {"filePath": ["f"]}, {"file_path": "f"}),
        (SkillParameters, {"skill": "x"}, {"name": "x"}),
        (BashOutputParameters, {"bash_id": "b1"}, {"id": "b1"}),
        (ListParameters, {"ignore": "node_modules"}, {"ignore": ["node_modules"]}),
        (WebfetchParameters, {"url": "https://x", "format": "MARKDOWN"}, {"format": "markdown"}),
        (EditParameters, {"path": "f", "old_str": "a", "new_str": "b", "replace_all": "true"}, {"replace_all": True}),
        (GrepParameters, {"pattern": "x", "-i": True, "-A": 2, "-B": "1"}, {"ignore_case": True, "after": 2, "before": 1}),
        (GrepParameters, {"pattern": "x", "head_limit": "5"}, {"head_limit": 5}),
        (GrepParameters, {"pattern": "x", "-C": 3, "output_mode": "COUNT"}, {"context": 3, "output_mode": "count"}),
    ],
)  # fmt: skip
def test_another_form_of_an_argument_is_honored(
    parameters: type[Parameters], written: dict[str, Any], expected: dict[str, Any]
) -> None:
    parsed = parse(parameters, written)
    assert isinstance(parsed, Parameters)
    assert {name: parsed.__dict__[name] for name in expected} == expected
    assert unused(parameters, written) == []


def test_one_object_is_a_list_of_edits() -> None:
    parsed = parse(MultieditParameters, {"filePath": "f", "edits": {"oldString": "a", "newString": "b"}})
    assert isinstance(parsed, MultieditParameters)
    assert [(one.old_string, one.new_string) for one in parsed.edits] == [("a", "b")]


@each(
    ("parameters", "written", "faults"),
    [
        (WriteParameters, {"filePath": "f", "content": {"a": 1}}, ["content must be a string, not {'a': 1}"]),
        (ReadParameters, {"filePath": ["f", "g"]}, ["filePath must be a string, not ['f', 'g']"]),
        (WebfetchParameters, {"url": "https://x", "format": "pdf"}, ["format should be 'text', 'markdown' or 'html', not 'pdf'"]),
    ],
)  # fmt: skip
def test_what_cannot_be_honored_is_answered(
    parameters: type[Parameters], written: dict[str, Any], faults: list[str]
) -> None:
    assert parse(parameters, written) == faults


@each(
    ("parameters", "written", "names"),
    [
        (WebfetchParameters, {"url": "https://x", "prompt": "what?"}, ["prompt"]),
        (TaskParameters, {**TASK, "model": "small"}, ["model"]),
        (WriteParameters, {"filePath": "f", "content": "x", "description": "d", "mode": "append"}, ["mode"]),
        (EditParameters, {"filePath": "f", "oldString": "a", "newString": "b", "times": 2}, ["times"]),
        (MultieditParameters, {"filePath": "f", "edits": [{"oldString": "a", "newString": "b", "count": 2}]}, ["edits.count"]),
        (GrepParameters, {"pattern": "x", "-n": True, "multiline": False, "invert": True}, ["invert"]),
        (GrepParameters, {"pattern": "x", "-n": False}, ["-n"]),
        (TodowriteParameters, {"todos": [{"content": "a", "activeForm": "Doing a"}]}, []),
        (BashParameters, {"command": "ls", "explanation": "why", "justification": "why", "sudo": None}, []),
        (ApplyPatchParameters, {"patch": "*** Begin Patch", "dry_run": True}, ["dry_run"]),
    ],
)  # fmt: skip
def test_an_argument_without_effect_is_named_unless_nobody_misses_it(
    parameters: type[Parameters], written: dict[str, Any], names: list[str]
) -> None:
    assert unused(parameters, written) == names


def test_no_request_says_more_than_before() -> None:
    listed = {"grep": GrepParameters, "bash": BashParameters, "read": ReadParameters, "glob": GlobParameters}
    fields = {name: list(describe(one)["properties"]) for name, one in listed.items()}
    assert fields == {
        "grep": ["pattern", "path", "include"],
        "bash": ["command", "timeout", "workdir", "description", "background"],
        "read": ["filePath", "offset", "limit"],
        "glob": ["pattern", "path"],
    }


@each(("verb", "tool"), [("view", "read"), ("create", "write"), ("str_replace", "edit"), ("ls", "edit")])
def test_an_editor_with_commands_names_the_tool_for_each(verb: str, tool: str) -> None:
    answer = describe_unknown("str_replace_editor", list(read_specs().values()), {"command": verb, "path": "f"})
    assert f"; call {tool} {{" in answer


@pytest.fixture
def grep(bench: Workbench) -> GrepTool:
    (bench.folder / "a.py").write_text("one\nTwo\nthree\nfour\nfive\nsix\ntwo\nseven\n")
    (bench.folder / "b.js").write_text("two\nend\n")
    return GrepTool(search=FileSearch(bench.folder, os.environ))


@pytest.mark.parametrize(
    ("written", "lines"),
    [
        ({"pattern": "TWO", "-i": True, "path": "a.py"}, ["  Line 2: Two", "  Line 7: two"]),
        ({"pattern": "TWO", "case_sensitive": False, "path": "b.js"}, ["  Line 1: two"]),
        ({"pattern": "Two", "-A": 1, "path": "a.py"}, ["  Line 2: Two", "  Line 3- three"]),
        ({"pattern": "Two", "-B": 1, "path": "a.py"}, ["  Line 1- one", "  Line 2: Two"]),
        (
            {"pattern": "two", "-i": True, "-C": 1, "path": "a.py"},
            ["  Line 1- one", "  Line 2: Two", "  Line 3- three", "  --", "  Line 6- six", "  Line 7: two", "  Line 8- seven"],
        ),
        (
            {"pattern": "three|four", "context": 1, "path": "a.py"},
            ["  Line 2- Two", "  Line 3: three", "  Line 4: four", "  Line 5- five"],
        ),
        ({"pattern": "Two.three", "multiline": True, "path": "a.py"}, ["  Line 2: Two", "  Line 3: three"]),
        ({"pattern": "two", "type": "js"}, ["  Line 1: two"]),
        ({"pattern": "two|end", "head_limit": 1, "path": "b.js"}, ["  Line 1: two"]),
        ({"pattern": "two|end", "offset": 1, "path": "b.js"}, ["  Line 2: end"]),
    ],
)  # fmt: skip
async def test_a_search_does_what_its_arguments_say(
    bench: Workbench, grep: GrepTool, written: dict[str, Any], lines: list[str]
) -> None:
    output = (await bench.call(grep, **written)).output
    assert [line for line in output.split("\n") if line.startswith("  ")] == lines


async def test_a_search_lists_files_or_counts(bench: Workbench, grep: GrepTool) -> None:
    found = (await bench.call(grep, pattern="t[wh]", output_mode="files_with_matches")).output.split("\n")
    assert (found[0], sorted(found[1:])) == ("Found 2 files", [f"{bench.folder}/a.py", f"{bench.folder}/b.js"])
    found = (await bench.call(grep, pattern="t[wh]", output_mode="count")).output.split("\n")
    assert (found[0], sorted(found[1:])) == ("Found 2 files", [f"{bench.folder}/a.py: 2", f"{bench.folder}/b.js: 1"])
    one = (await bench.call(grep, pattern="two", output_mode="count", path="b.js")).output
    assert one == f"Found 1 files\n{bench.folder}/b.js: 1"
    assert (await bench.call(grep, pattern="nothing", output_mode="count")).output == "No files found"


async def test_what_is_cut_by_the_models_own_limit_is_said(bench: Workbench, grep: GrepTool) -> None:
    output = (await bench.call(grep, pattern="e", head_limit=2, path="a.py")).output
    assert output.startswith("Found 4 matches")
    assert output.endswith("(Only the first 2 are shown; use a narrower path or pattern.)")
    output = (await bench.call(grep, pattern="e", head_limit=2, offset=2, path="a.py")).output
    assert output.endswith("(Only 2 from 3 on are shown; use a narrower path or pattern.)")


async def test_an_unknown_type_of_files_is_named(bench: Workbench, grep: GrepTool) -> None:
    with pytest.raises(ToolError, match="nosuch"):
        await bench.call(grep, pattern="two", type="nosuch")


async def test_files_that_git_ignores_are_found_if_asked_for(bench: Workbench) -> None:
    (bench.folder / ".gitignore").write_text("built\n")
    (bench.folder / "built").write_text("x")
    glob = GlobTool(search=FileSearch(bench.folder, os.environ))
    assert "No files" in (await bench.call(glob, pattern="built")).output
    assert "No files" in (await bench.call(glob, pattern="built", respect_git_ignore=True)).output
    assert (await bench.call(glob, pattern="built", respect_git_ignore=False)).output == f"{bench.folder}/built"


@pytest.mark.parametrize(
    ("written", "numbers"),
    [
        ({"start_line": 2, "end_line": 3}, [2, 3]),
        ({"offset": 3, "endLine": 3}, [3]),
        ({"end_line": 2}, [1, 2]),
        ({"view_range": [2, 3]}, [2, 3]),
        ({"view_range": [4, -1]}, [4, 5]),
        ({"line_offset": 2, "n_lines": 1}, [2]),
    ],
)
async def test_a_range_of_lines_is_read(bench: Workbench, written: dict[str, Any], numbers: list[int]) -> None:
    (bench.folder / "f").write_text("a\nb\nc\nd\ne\n")
    output = (await bench.call(bench.reader, path="f", **written)).output
    assert [int(line.partition(":")[0]) for line in output.split("\n") if line[:1].isdigit()] == numbers


async def test_a_range_that_ends_before_it_begins_is_refused(bench: Workbench) -> None:
    with pytest.raises(ToolError, match="the last line, 2, is before the first, 3"):
        await bench.call(bench.reader, path="f", start_line=3, end_line=2)


async def test_the_result_names_what_was_ignored(environ: dict[str, str], tmp_path: Path) -> None:
    search = Call("Glob", {"pattern": "*.nothing", "case_sensitive": True, "description": "d"})
    async with opened(environ, tmp_path, Answer(calls=(search,)), Answer(text="done")) as world:
        await world.prompt("go")
        results = [one["content"] for one in world.server.bodies[-1]["messages"] if one["role"] == "tool"]
        assert [content_text(one) for one in results] == ["No files found\n\nIgnored: case_sensitive."]
