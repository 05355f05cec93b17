import json

import pytest

from opencode_tui.engine.tool.builtin.apply_patch import ApplyPatchTool
from opencode_tui.engine.tool.builtin.edit import EditParameters, EditTool
from opencode_tui.engine.tool.builtin.glob import GlobTool
from opencode_tui.engine.tool.builtin.grep import GrepTool
from opencode_tui.engine.tool.builtin.list import ListTool
from opencode_tui.engine.tool.builtin.multiedit import MultieditParameters, MultieditTool
from opencode_tui.engine.tool.builtin.read import ReadParameters
from opencode_tui.engine.tool.builtin.todoread import TodoreadTool
from opencode_tui.engine.tool.builtin.todowrite import TodowriteTool
from opencode_tui.engine.tool.builtin.webfetch import WebfetchTool
from opencode_tui.engine.tool.builtin.write import WriteTool
from opencode_tui.engine.tool.registry import AnyTool, ToolRegistry
from opencode_tui.engine.tool.search.search import FileSearch
from opencode_tui.engine.tool.todo_store import SessionTodos
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths
from opencode_tui.storage.storage import Storage
from tests.support.world.tools import Workbench


def file_tools(bench: Workbench, paths: Paths) -> list[AnyTool]:
    todos = SessionTodos(storage=Storage(paths), locks=Locks(paths), publish=lambda _event: None)
    search = FileSearch(bench.folder, {})
    return [
        bench.reader,
        GlobTool(search=search),
        GrepTool(search=search),
        ListTool(search=search),
        EditTool(editor=bench.editor),
        MultieditTool(editor=bench.editor),
        WriteTool(editor=bench.editor),
        ApplyPatchTool(files=bench.files, stamps=bench.stamps, permission=bench.permission),
        TodowriteTool(store=todos),
        TodoreadTool(store=todos),
        WebfetchTool(),
    ]


@pytest.fixture
def registry(bench: Workbench, paths: Paths) -> ToolRegistry:
    return ToolRegistry(file_tools(bench, paths))


def everything(name: str) -> bool:
    return True


def test_names_are_found_also_in_other_cases(registry: ToolRegistry) -> None:
    found = registry.get("Read")
    assert found is registry.get("read")
    assert found is not None
    assert registry.get("nothing") is None


def test_only_enabled_tools_are_shown_in_order(registry: ToolRegistry) -> None:
    assert [spec.name for spec in registry.specs(lambda name: name.startswith("todo"))] == ["todowrite", "todoread"]
    assert registry.specs(everything)[0] is registry.specs(everything)[0]


def test_all_file_tools_fit_into_4000_bytes(registry: ToolRegistry) -> None:
    shown = [
        {"name": spec.name, "description": spec.description, "parameters": spec.parameters}
        for spec in registry.specs(everything)
    ]
    assert len(json.dumps(shown)) < 4_000


def test_schema_is_plain(registry: ToolRegistry) -> None:
    [edit] = registry.specs(lambda name: name == "edit")
    assert edit.parameters == {
        "type": "object",
        "properties": {
            "filePath": {"type": "string"},
            "oldString": {"type": "string"},
            "newString": {"type": "string"},
            "replaceAll": {"type": "boolean"},
        },
        "required": ["filePath", "oldString", "newString"],
    }
    specs = registry.specs(everything)
    assert specs
    for spec in specs:
        text = json.dumps(spec.parameters)
        assert not any(word in text for word in ("$ref", "$defs", '"title"', "anyOf", '"null"')), spec.name


def test_parameters_have_the_names_that_models_know(registry: ToolRegistry) -> None:
    names = {spec.name: list(spec.parameters.get("properties", {})) for spec in registry.specs(everything)}
    assert names == {
        "read": ["filePath", "offset", "limit"],
        "glob": ["pattern", "path"],
        "grep": ["pattern", "path", "include"],
        "list": ["path", "ignore"],
        "edit": ["filePath", "oldString", "newString", "replaceAll"],
        "multiedit": ["filePath", "edits"],
        "write": ["filePath", "content"],
        "apply_patch": ["patchText"],
        "todowrite": ["todos"],
        "todoread": [],
        "webfetch": ["url", "format", "timeout"],
    }


@pytest.mark.parametrize(
    "written",
    [
        {"filePath": "a", "offset": 3, "limit": None},
        {"path": "a", "offset": "3"},
        {"file_path": "a", "offset": 3.0, "unknown": True},
    ],
)
def test_input_is_taken_as_it_was_meant(registry: ToolRegistry, written: dict[str, object]) -> None:
    tool = registry.get("read")
    assert tool is not None
    assert registry.validate(tool, written) == ReadParameters(file_path="a", offset=3)


def test_aliases_and_json_in_strings_are_understood(registry: ToolRegistry) -> None:
    edit, multiedit, glob = (registry.get(name) for name in ("edit", "multiedit", "glob"))
    assert edit is not None
    assert multiedit is not None
    assert glob is not None
    assert registry.validate(edit, {"file": "a", "old_str": "[1]", "new_string": "{}"}) == EditParameters(
        file_path="a", old_string="[1]", new_string="{}"
    )
    parsed = registry.validate(multiedit, {"filePath": "a", "edits": '[{"oldString": "x", "newString": "y"}]'})
    assert isinstance(parsed, MultieditParameters)
    assert parsed.edits[0].new_string == "y"


def test_wrong_input_names_the_field_and_the_remedy(registry: ToolRegistry) -> None:
    tool = registry.get("read")
    assert tool is not None
    assert registry.validate(tool, {"offset": "many"}) == (
        "The input of read does not fit: filePath is missing; offset must be an integer, not 'many'. "
        "Write {filePath: string, offset?: integer, limit?: integer}."
    )
