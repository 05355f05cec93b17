"""What version 2 of the protocol says otherwise: in the models of the library, which accept nothing that is not valid."""

import subprocess
from pathlib import Path
from typing import Any

import pytest
from acp.exceptions import RequestError
from acp.experimental.v2 import schema
from acp.schema import (
    AudioContentBlock,
    ContentToolCallContent,
    CurrentModeUpdate,
    EmbeddedResourceContentBlock,
    FileEditToolCallContent,
    ImageContentBlock,
    PlanEntry,
    ResourceContentBlock,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    TextContentBlock,
    ToolCallProgress,
    ToolCallUpdate,
    UserMessageChunk,
)
from pydantic import TypeAdapter

from opencode_tui.acp.content import read_prompt
from opencode_tui.acp.servers import config_of
from opencode_tui.acp.updates import message, plan_of, thought
from opencode_tui.acp.v2.translation import (
    MAX_LETTERS,
    V2Block,
    V2Server,
    answer_of,
    blocks_of,
    options_of,
    plain,
    servers_of,
    subject_of,
    update_of,
)

OPTION = SessionConfigSelectOption(value="plan", name="plan")
BLOCKS: TypeAdapter[Any] = TypeAdapter(list[V2Block])
SERVERS: TypeAdapter[Any] = TypeAdapter(list[V2Server])


def sent(update: Any) -> dict[str, Any]:
    found = update_of(update)
    assert found is not None
    return plain(found)


def test_each_text_of_the_program_is_a_message_of_its_own():
    texts = [sent(message("one")), sent(message("two")), sent(thought("three"))]
    assert len({one["messageId"] for one in texts}) == 3
    assert [one["content"]["text"] for one in texts] == ["one", "two", "three"]


def test_a_request_keeps_the_id_of_its_message():
    block = TextContentBlock(type="text", text="hi")
    given = UserMessageChunk(session_update="user_message_chunk", content=block, message_id="msg_1")
    assert sent(given)["messageId"] == "msg_1"


def test_a_mode_is_no_update_and_an_option_has_another_name():
    assert update_of(CurrentModeUpdate(session_update="current_mode_update", current_mode_id="plan")) is None
    select = SessionConfigOptionSelect(
        type="select", id="mode", name="Mode", category="mode", current_value="plan", options=[OPTION]
    )
    switch = SessionConfigOptionBoolean(type="boolean", id="fast", name="Fast", current_value=True)
    assert [(plain(one)["configId"], plain(one)["currentValue"]) for one in options_of([select, switch])] == [
        ("mode", "plan"),
        ("fast", True),
    ]
    assert options_of(None) == []


def test_a_field_of_a_call_that_is_not_set_is_left_as_it_is_at_the_client():
    given = ToolCallProgress(session_update="tool_call_update", tool_call_id="call_1", status="completed")
    assert sent(given) == {"sessionUpdate": "tool_call_update", "toolCallId": "call_1", "status": "completed"}


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (None, "one\n"),
        (None, ""),
        ("one\n", "two\n"),
        ("one", "one\n"),
        ("one\n", "one"),
        ("a\nb\nc\n", "a\nB\nc\nd"),
        ("form\ffeed\rreturn\u2028line\n", "form\ffeed\rreturn\u2028line 2\n"),
        ('with "quotes" and \\\n', ""),
        ("\n".join(map(str, range(200))), "\n".join(map(str, range(1, 201)))),
    ],
)
def test_a_change_of_a_file_is_a_patch_that_git_applies(tmp_path: Path, old: str | None, new: str):
    path = tmp_path / "a file.txt"
    if old is not None:
        path.write_bytes(old.encode())
    content = FileEditToolCallContent(type="diff", path=str(path), old_text=old, new_text=new)
    [diff] = plain(subject_of(ToolCallUpdate(tool_call_id="call_1", content=[content])))["toolCall"]["content"]
    assert diff["changes"] == [{"operation": "add" if old is None else "modify", "path": str(path)}]
    text = diff["patch"]["text"]
    assert diff["patch"]["format"] == "git_patch"
    git = ["git", "apply", "--unsafe-paths", f"-p{len(tmp_path.parts)}", f"--directory={tmp_path}", "-"]
    done = subprocess.run(git, input=text.encode(), cwd=tmp_path, capture_output=True, check=False)
    assert (done.returncode, done.stderr.decode()) == (0, "")
    assert path.read_bytes() == new.encode()


def test_a_large_change_has_the_path_alone():
    content = FileEditToolCallContent(type="diff", path="/x", old_text="a" * MAX_LETTERS, new_text="b")
    [diff] = plain(subject_of(ToolCallUpdate(tool_call_id="call_1", content=[content])))["toolCall"]["content"]
    assert diff == {"type": "diff", "changes": [{"operation": "modify", "path": "/x"}]}


def test_other_content_of_a_call_is_as_it_was():
    image = ImageContentBlock(type="image", mime_type="image/png", data="eA==")
    content = ContentToolCallContent(type="content", content=image)
    given = ToolCallUpdate(tool_call_id="call_1", title="reads", content=[content])
    assert plain(subject_of(given))["toolCall"]["content"] == [plain(content)]


def test_the_content_of_a_prompt_is_read_and_of_what_is_unknown_its_kind():
    given = [
        {"type": "text", "text": "look"},
        {"type": "image", "data": "eA==", "mimeType": "image/png"},
        {"type": "resource_link", "uri": "file:///tmp/a.py", "name": "a.py"},
        {"type": "resource", "resource": {"uri": "file:///tmp/b.py", "text": "b = 1"}},
        {"type": "audio", "data": "eA==", "mimeType": "audio/wav"},
        {"type": "_hologram", "depth": 3},
    ]
    blocks = blocks_of(BLOCKS.validate_python(given))
    assert [type(one) for one in blocks] == [
        TextContentBlock,
        ImageContentBlock,
        ResourceContentBlock,
        EmbeddedResourceContentBlock,
        AudioContentBlock,
        TextContentBlock,
    ]
    prompt = read_prompt(blocks)
    assert prompt.text.splitlines()[-1] == "[content of the kind _hologram, which cannot be read]"
    assert [one.filename for one in prompt.files] == [None, "a.py", "/tmp/b.py"]


def test_servers_are_started_as_those_of_version_1():
    stdio, http = servers_of(
        SERVERS.validate_python(
            [
                {"type": "stdio", "name": "a", "command": "/bin/a", "env": [{"name": "K", "value": "v"}]},
                {"type": "http", "name": "b", "url": "https://b.example/mcp"},
            ]
        )
    )
    assert config_of(stdio) == {"type": "local", "command": ["/bin/a"], "environment": {"K": "v"}}
    assert config_of(http) == {"type": "remote", "url": "https://b.example/mcp", "headers": {}}
    with pytest.raises(RequestError, match="MCP servers of the kind '_pigeon' cannot be used"):
        servers_of(SERVERS.validate_python([{"type": "_pigeon", "name": "c"}]))


@pytest.mark.parametrize(
    ("outcome", "chosen"),
    [
        ({"outcome": "selected", "optionId": "once"}, "once"),
        ({"outcome": "cancelled"}, None),
        ({"outcome": "_postponed", "optionId": "once"}, None),
        ({"outcome": "approved", "optionId": "always"}, None),
    ],
)
def test_an_outcome_that_is_not_understood_is_no_approval(outcome: dict[str, str], chosen: str | None):
    answer = answer_of(schema.RequestPermissionResponse.model_validate({"outcome": outcome}))
    assert getattr(answer.outcome, "option_id", None) == chosen


def test_a_plan_has_an_id():
    given = plan_of([{"content": "one", "status": "cancelled", "priority": "high"}])
    assert given.entries == [PlanEntry(content="one", status="completed", priority="high")]
    assert sent(given) == {
        "sessionUpdate": "plan_update",
        "plan": {
            "type": "items",
            "planId": "todos",
            "entries": [{"content": "one", "status": "completed", "priority": "high"}],
        },
    }
