"""A call that cannot run is answered with the right form, in at most 200 bytes."""

from opencode_tui.engine.provider.call_assembly import parse_arguments
from opencode_tui.engine.provider.llm import ToolSpec
from opencode_tui.engine.tool.parameter_schema import describe, parse
from opencode_tui.engine.tool.registry import read_specs
from opencode_tui.engine.tool.tool import Parameters
from opencode_tui.engine.tool.wrong_call import ANSWER_BYTES, describe_misfit, describe_unknown, form_of
from opencode_tui.schema.field import Field
from tests.support.rows import each

SPECS = list(read_specs().values())

READ = "call read {filePath: string, offset?: integer, limit?: integer}."
EDIT = "call edit {filePath: string, oldString: string, newString: string, replaceAll?: boolean}."
BASH = "call bash {command: string, "


@each(
    ("name", "words"),
    [
        ("read_file", READ),
        ("ReadFile", READ),
        ("functions.read_file", READ),
        ("view", READ),
        ("cat", READ),
        ("reads", READ),
        ("raed", READ),
        ("str_replace_based_edit_tool", EDIT),
        ("str_replace", EDIT),
        ("search_replace", EDIT),
        ("edit_file", EDIT),
        ("Edit Tool", EDIT),
        ("write_to_file", "call write {filePath: string, content: string}."),
        ("create_file", "call write {filePath: string, content: string}."),
        ("shell", BASH),
        ("run_terminal_cmd", BASH),
        ("run_shell_command", BASH),
        ("execute_command", BASH),
        ("ls", "call list {path?: string, ignore?: [string]}."),
        ("list_dir", "call list {path?: string, ignore?: [string]}."),
        ("grep_search", "call grep {pattern: string, path?: string, include?: string}."),
        ("ripgrep", "call grep {pattern: string, path?: string, include?: string}."),
        ("file_search", "call glob {pattern: string, path?: string}."),
        ("web_fetch", "call webfetch {url: string, "),
        ("update_plan", "call todowrite {todos: ["),
        ("ask_followup_question", "call question {questions: ["),
        ("spawn_agent", "call task {description: string, prompt: string, subagent_type: string"),
        ("applypatch", "call apply_patch {patchText: string}."),
        ("todo_read", "call todoread {}."),
        *(
            (name, "call todowrite {todos: [")
            for name in ("TaskCreate", "TaskUpdate", "TaskList", "TaskGet", "SetTodoList")
        ),
        ("ExitPlanMode", "call plan_exit {}."),
        *((name, BASH) for name in ("execute_bash", "shell_command", "run_ipython", "run_commands", "run")),
        *(
            (name, "call bash_output {id: string")
            for name in ("BashOutput", "KillShell", "TaskOutput", "TaskStop", "write_stdin")
        ),
        ("StrReplaceFile", EDIT),
        ("read_files", READ),
        ("multi_tool_use.parallel", "several calls in one answer run side by side."),
        ("parallel", "several calls in one answer run side by side."),
        ("calculator", "Use one of: bash, bash_output, read"),
        ("", "Use one of: bash"),
        ("x" * 5_000, "Use one of: bash"),
        ("über-🎉-tool", "Use one of: bash"),
    ],
)
def test_an_unknown_tool_brings_the_one_that_is_meant(name: str, words: str) -> None:
    answer = describe_unknown(name, SPECS)
    assert words in answer
    assert len(answer.encode()) <= ANSWER_BYTES


def test_only_tools_that_are_there_are_suggested() -> None:
    specs = [spec for spec in SPECS if spec.name in ("read", "grep")]
    assert describe_unknown("shell", specs) == "There is no tool 'shell'. Use one of: read, grep."
    assert "read, grep." in describe_unknown("edit", specs)


class Nested(Parameters):
    """A nested value."""

    name: str
    count: int = 0


class Everything(Parameters):
    """Fields of all kinds."""

    text: str
    number: int = 0
    share: float = 0.0
    flag: bool = False
    names: list[str] = Field(default_factory=list[str])
    items: list[Nested] = Field(default_factory=list[Nested])
    inner: Nested | None = None


@each(
    ("written", "words"),
    [
        ({}, "text is missing. Write {text: string"),
        ({"number": 1}, "text is missing"),
        ({"text": 1}, "text must be a string, not 1."),
        ({"text": ["a"]}, "text must be a string, not ['a']."),
        ({"text": None}, "text is missing"),
        ({"text": "a", "number": "many"}, "number must be an integer, not 'many'."),
        ({"text": "a", "number": 1.5}, "number must be an integer, not 1.5."),
        ({"text": "a", "share": "half"}, "share must be a number, not 'half'."),
        ({"text": "a", "flag": "perhaps"}, "flag must be true or false, not 'perhaps'."),
        ({"text": "a", "names": "one, two"}, "names must be a list, not 'one, two'."),
        ({"text": "a", "names": [1]}, "names.0 must be a string, not 1."),
        ({"text": "a", "names": {"a": 1}}, "names must be a list, not {'a': 1}."),
        ({"text": "a", "items": "x"}, "items must be a list, not 'x'."),
        ({"text": "a", "items": ["x"]}, "items.0 must be an object, not 'x'."),
        ({"text": "a", "items": [{}]}, "items.0.name is missing."),
        ({"text": "a", "items": {"nam": "x"}}, "items.0.name is missing."),
        ({"text": "a", "inner": "x"}, "inner must be an object, not 'x'."),
        ({"text": "a", "items": [1, 2, 3, 4, 5]}, "items.2 must be an object, not 3 and 2 more."),
        ({"text": "a", "names": "x," * 5_000}, "names must be a list, not 'x,x"),
    ],
)
def test_a_wrong_input_names_the_field_and_the_form(written: dict[str, object], words: str) -> None:
    faults = parse(Everything, written)
    assert isinstance(faults, list)
    answer = describe_misfit("everything", faults, describe(Everything))
    assert words in answer
    assert "{text: string" in answer
    assert len(answer.encode()) <= ANSWER_BYTES


@each("spec", SPECS, ids=lambda spec: spec.name)
def test_a_missing_field_of_each_tool_is_answered_briefly(spec: ToolSpec) -> None:
    required = spec.parameters.get("required", [])
    for name in required:
        answer = describe_misfit(spec.name, [f"{name} is missing"], spec.parameters)
        assert [field for field in required if field not in answer] == []
        assert len(answer.encode()) <= ANSWER_BYTES
    answer = describe_misfit(spec.name, ["input must be an object, not 'x'"], spec.parameters)
    assert f"input of {spec.name} does not fit" in answer


def test_the_form_of_a_nested_schema() -> None:
    assert form_of(read_specs()["multiedit"].parameters) == (
        "{filePath: string, edits: [{oldString: string, newString: string, replaceAll?: boolean}]}"
    )
    assert form_of({"type": "string", "enum": ["a", "b"]}) == "'a' | 'b'"
    assert form_of({}) == "value"


@each(
    ("raw", "words"),
    [
        ('{"filePath": "a"}{"filePath": "b"}', "one tool, one JSON object"),
        ('{"filePath": "a"}\n{"filePath": "b"}', "one tool, one JSON object"),
        ('{"filePath": "a"}, {"filePath": "b"}', "one tool, one JSON object"),
        ('{"filePath": "a"}[]', "one tool, one JSON object"),
        ('{"filePath": "a"} and more', "Write one complete JSON object."),
        ('[{"filePath": "a"}, {"filePath": "b"}]', "Write one JSON object."),
        ('{"filePath": "a"', "Write one complete JSON object."),
        ('{"filePath": "a" "offset": 1}', "Write one complete JSON object."),
        ("{'filePath': 'a'}", "Write one complete JSON object."),
        ('{"filePath": "a",}', "Write one complete JSON object."),
        ("filePath=a", "Write one complete JSON object."),
        ('"a"', "Write one JSON object."),
        ("7", "Write one JSON object."),
        ('{"a": NaN}', "Write one complete JSON object."),
        ('{"a": "one\ntwo"}', "Write one complete JSON object."),
        ("<filePath>a</filePath>", "Write one complete JSON object."),
        ('```json\n{"filePath": "a"}\n```', "Write one complete JSON object."),
    ],
)
def test_arguments_that_are_not_one_object_are_answered_with_the_form(raw: str, words: str) -> None:
    arguments, answer = parse_arguments(raw)
    assert arguments == {}
    assert answer is not None
    assert words in answer
    assert len(answer.encode()) <= ANSWER_BYTES
