"""A turn on a server: `run --attach`."""

import asyncio
import json
import subprocess
import sys
import threading

import pytest

from opencode_tui.client.remote import open_remote
from opencode_tui.schema.api.request import PromptInput
from opencode_tui.schema.event.event import PartGrowth, SessionIdle
from opencode_tui.schema.session.message import AssistantMessage
from tests.support.provider.model_script import Answer
from tests.support.world.server import MODEL, PASSWORD, served

pytestmark = pytest.mark.slow


HELLO = {"model": MODEL, "parts": [{"type": "text", "text": "hi"}]}


@pytest.fixture
def attach(environ, tmp_path):
    """Runs the command outside of the project."""

    async def run(face, *words: str, stdin: str = "", password: str = PASSWORD):
        variables = {**environ, "OPENCODE_SERVER_PASSWORD": password}
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", "opencode_tui", "run", "--attach", face.address.url, "-m", "fake/fake-model", *words,
            cwd=tmp_path, env=variables, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        )  # fmt: skip
        out, err = await process.communicate(stdin.encode())
        return process.returncode, out.decode(), err.decode()

    return run


async def test_the_server_does_the_work_and_the_terminal_shows_it(project, environ, server, attach):
    async with served(project.path, environ, provider=server.config()) as face:
        call = '<<tool write {"filePath":"new.txt","content":"made there"}>>'
        code, out, err = await attach(face, "--auto", f"make it {call}")
    assert (code, (project.path / "new.txt").read_text()) == (0, "made there")
    assert "Done: make it" in out and "new.txt" in err


async def test_json_lines_are_those_of_a_run_in_place(project, environ, server, attach):
    async with served(project.path, environ, provider=server.config()) as face:
        code, out, _ = await attach(face, "--format", "json", "hello")
    assert code == 0
    assert [json.loads(line)["type"] for line in out.splitlines()] == ["step_start", "text", "step_finish"]


async def test_files_travel_with_the_request(project, environ, server, attach, tmp_path):
    (tmp_path / "note.txt").write_text("a fact from here\n")
    async with served(project.path, environ, provider=server.config()) as face:
        code, _, err = await attach(face, "-f", str(tmp_path / "note.txt"), "what does it say?")
    assert code == 0, err
    assert "a fact from here" in json.dumps(server.bodies[-1])


async def test_without_a_terminal_what_needs_approval_is_denied_and_reported_to_the_model(
    project, environ, server, attach
):
    rules = {"permission": {"bash": "ask"}}
    async with served(project.path, environ, provider=server.config(), settings=rules) as face:
        code, _, _ = await attach(face, 'do <<tool bash {"command":"echo no","description":"d"}>>')
    assert code == 0 and "no terminal is attached" in json.dumps(server.bodies[-1])


async def test_an_interrupted_terminal_ends_its_turn(project, environ, server, tmp_path):
    variables = {**environ, "OPENCODE_SERVER_PASSWORD": PASSWORD}
    async with (
        served(project.path, environ, provider=server.config()) as face,
        open_remote(face.address.url, password=PASSWORD) as watching,
    ):
        with watching.events() as events:
            process = await asyncio.create_subprocess_exec(
                sys.executable, "-m", "opencode_tui", "run", "--attach", face.address.url, "-m", "fake/fake-model",
                "long <<words 500>> <<slow 50>>", cwd=tmp_path, env=variables, stderr=subprocess.PIPE,
            )  # fmt: skip
            async for envelope in events:
                if isinstance(envelope.event, PartGrowth):
                    break
            process.terminate()
            await process.communicate()
        assert await watching.prompts.status() == {}


async def test_a_wrong_password_is_one_line(project, environ, server, attach):
    async with served(project.path, environ, provider=server.config()) as face:
        code, out, err = await attach(face, "hello", password="wrong")
    assert (code, out) == (1, "") and "OPENCODE_SERVER_PASSWORD" in err and "Traceback" not in err


async def test_two_clients_receive_the_same_turn_and_the_sender_may_disconnect(project, environ, server):
    both_look, one_is_gone = threading.Event(), threading.Event()
    server.script(Answer(text="begun both end", holds=(("both", both_look), ("end", one_is_gone))))
    async with (
        served(project.path, environ, provider=server.config()) as face,
        open_remote(face.address.url, password=PASSWORD) as staying,
    ):
        session = await face.session(title="named")
        with staying.events() as events:
            async with open_remote(face.address.url, password=PASSWORD) as leaving:
                with leaving.events() as others:
                    turn = asyncio.create_task(leaving.prompts.prompt(session, PromptInput.model_validate(HELLO)))
                    for let_go, word in ((None, "begun"), (both_look, "both")):
                        if let_go is not None:
                            let_go.set()
                        assert [await grown(reader) for reader in (events, others)] == [word, word]
                    turn.cancel()
                    await asyncio.wait({turn})
            running = await staying.prompts.status()
            one_is_gone.set()
            async for envelope in events:
                if isinstance(envelope.event, SessionIdle):
                    break
        answer = (await staying.messages.list(session))[-1]
    assert session in running
    assert isinstance(answer.info, AssistantMessage) and answer.info.finish == "stop"
    assert [part.text for part in answer.parts if part.type == "text"] == ["begun both end"]


async def grown(reader) -> str:
    """Wait until text grows and return the new text."""
    async for envelope in reader:
        if isinstance(envelope.event, PartGrowth):
            return envelope.event.delta.strip()
    raise AssertionError("the stream has ended")
