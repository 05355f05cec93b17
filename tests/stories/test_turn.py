"""The main use: one command, and the agent reads, edits and runs code in the folder."""

import pytest

from tests.support.sessions.stored import read_store
from tests.support.world.in_process import in_process

pytestmark = pytest.mark.slow


WORK = (
    'double x <<tool read {"filePath":"a.py"}>>'
    ' <<tool edit {"filePath":"a.py","oldString":"x = 1","newString":"x = 2"}>>'
    ' <<tool bash {"command":"grep -c \'x = 2\' a.py","description":"Count"}>>'
)
TOOL_NAMES = {"bash", "read", "write", "edit", "glob", "grep", "list", "todowrite"}


@pytest.fixture
def here(line, monkeypatch, capsys):
    """The same commands without a process for each."""
    return in_process(line, monkeypatch, capsys)


def results_of(body: dict) -> list[str]:
    """Return the ids of the calls that have a result in a request, of either wire format."""
    blocks = [
        block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]
    ]
    used = [block["tool_use_id"] for block in blocks if block["type"] == "tool_result"]
    return used + [message["tool_call_id"] for message in body["messages"] if message["role"] == "tool"]


def calls_of(body: dict) -> list[str]:
    """Return the ids of the calls in a request, of either wire format."""
    blocks = [
        block for message in body["messages"] if isinstance(message["content"], list) for block in message["content"]
    ]
    used = [block["id"] for block in blocks if block["type"] == "tool_use"]
    return used + [call["id"] for message in body["messages"] for call in message.get("tool_calls") or []]


def tool_names(body: dict) -> set[str]:
    return {tool.get("name") or tool["function"]["name"] for tool in body["tools"]}


@pytest.mark.parametrize("provider", ["fake", "fake-anthropic"])
def test_a_prompt_reads_edits_runs_and_answers(line, project, server, paths, provider):
    done = line.turn(WORK, "-m", f"{provider}/fake-model")
    assert (done.code, done.stderr) == (0, "")
    assert (project.path / "a.py").read_text() == "x = 2\n"
    tools = [(part["tool"], part["state"]["status"]) for part in done.parts("tool_use")]
    assert tools == [("read", "completed"), ("edit", "completed"), ("bash", "completed")]
    assert done.parts("tool_use")[-1]["state"]["output"].strip() == "1"
    assert done.parts("text")[-1]["text"] == "Done: double x | tool: 1"

    bodies = server.bodies
    assert len(bodies) == 4 and all(tool_names(body) >= TOOL_NAMES for body in bodies)
    assert [len(results_of(body)) for body in bodies] == [0, 1, 2, 3]
    assert all(results_of(body) == calls_of(body) for body in bodies)

    stored = read_store(paths.storage)
    assert [part["state"]["status"] for part in stored.parts("tool")] == ["completed"] * 3
    assert [message["finish"] for message in stored.of_kind("message")[1:]] == ["tool-calls"] * 3 + ["stop"]


def test_calls_of_one_step_run_at_the_same_time(here):
    others = "until test -e at0 && test -e at1 && test -e at2; do sleep 0.02; done"
    calls = [f'<<tool bash {{"command":"touch at{n}; {others}; echo {n}","description":"wait"}}>>' for n in range(3)]
    done = here.turn(f"wait <<par>> {' '.join(calls)}")
    states = [part["state"] for part in done.parts("tool_use")]
    assert (done.code, sorted(state["output"].strip() for state in states)) == (0, ["0", "1", "2"])
    assert max(state["time"]["start"] for state in states) < min(state["time"]["end"] for state in states)


def test_the_answer_is_on_stdout_and_the_progress_on_stderr(here):
    done = here.run("run", "-m", here.model, 'look <<tool read {"filePath":"a.py"}>>')
    assert done.stdout.splitlines()[-1].startswith("Done: look | tool:")
    assert "read" in done.stderr.lower() and "a.py" in done.stderr and "Done" in done.stderr


def test_an_invalid_call_is_reported_to_the_model_and_the_turn_continues(here, server):
    done = here.turn('look <<tool read {"nonsense":1}>> <<tool fly {}>>')
    errors = [part["state"]["error"] for part in done.parts("tool_use")]
    assert done.code == 0 and "filePath" in errors[0] and "'fly'" in errors[1]
    assert results_of(server.bodies[2]) == calls_of(server.bodies[2]) != []
