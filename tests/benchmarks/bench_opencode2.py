"""OpenCode 2's API beside the real one: the same scenarios against `lildax` and our server, with the scripted model.

Compared are the status of each answer, its form (OpenCode 2's own description must hold for both), and the kinds of the durable
events in their order. A difference is justified by a row of `JUSTIFIED`; any other one is a failure. Needs the program `lildax`,
which a network namespace with a loopback keeps from reaching anything else:

    npm install --prefix FOLDER --ignore-scripts @opencode-ai/cli-linux-x64@1.18.18
    unshare -rn sh -c 'ip link set lo up && python -m tests.benchmarks.bench_opencode2 PROGRAM'

PROGRAM is FOLDER/node_modules/@opencode-ai/cli-linux-x64/bin/lildax.
"""

import asyncio
import json
import os
import re
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from tests.conftest import isolated_environment
from tests.support.opencode2.client import Newer, kinds, numbers
from tests.support.opencode2.description import operation_at, problems_of
from tests.support.provider.model_server import ModelServer
from tests.support.world.repo import make_repo
from tests.support.world.server import PASSWORD, served

LIMIT_S = 60.0
SECRET = "a.env"

JUSTIFIED: dict[str, str] = {
    r"v2\.session\.(compact|wait) 204 for 503": "we compact and wait; the preview says that it cannot yet",
    r"order of text\.ended": "our text ends before the call that follows it: that is when it is complete",
    r"v2\.\S+ 400 for 500": "what the client got wrong is an invalid request, not a failure of the server",
    r"v2\.session\.prompt 400 for 200": "a prompt for an agent or model that does not exist is refused when it is sent",
    r"events after commit": "a commit removes the message itself too, and a prompt commits what is staged",
    r"'tool\.failed', 'step\.ended'\] for .*'tool\.failed'\]": "our step ends after a refused call; the preview leaves it open",
    r"events of compaction": "we compact; the preview cannot yet",
    r"v2\.pty\.\S+": "terminals are off in our server unless its user switches them on; a socket takes the password, no ticket",
    r"v2\.credential\S* |v2\.integration\S* |v2\.projectCopy\S* ": "has no meaning here: docs/server.md#opencode-2",
}
"""What may differ, as a regular expression of the line about it, and why."""


@dataclass
class Side:
    """One server, and what the current scenario saw."""

    name: str
    http: httpx.AsyncClient
    folder: Path
    seen: list[str] = field(default_factory=list)
    wrong: list[str] = field(default_factory=list)
    told: list[list[str]] = field(default_factory=list)

    async def ask(self, method: str, path: str, body: Any = None) -> Any:
        """Send a request; its status and form are noted. Return its JSON."""
        sent: dict[str, Any] = {}
        if body is not None:
            sent = {"content": body} if isinstance(body, bytes) else {"json": body}
            sent["headers"] = {"content-type": "application/json"}
        got = await self.http.request(method, path.replace("LOCATION", f"location[directory]={self.folder}"), **sent)
        name = operation_at(method, path)["operationId"]
        self.seen.append(f"{name} {got.status_code}")
        if got.status_code != 500:
            self.wrong += problems_of(method, path, got.status_code, got.content)
        return got.json() if got.headers.get("content-type", "").startswith("application/json") else None

    async def session(self, **fields: Any) -> str:
        """Create a session and return its ID."""
        body = {"location": {"directory": str(self.folder)}, **fields}
        return (await self.ask("POST", "/api/session", body))["data"]["id"]

    async def prompt(self, session_id: str, text: str, **fields: Any) -> dict[str, Any]:
        """Send a prompt; return the answer's data."""
        answer = await self.ask("POST", f"/api/session/{session_id}/prompt", {"prompt": {"text": text}, **fields})
        return answer.get("data", {})

    async def idle(self, session_id: str) -> None:
        """Wait until a session has run."""
        async with asyncio.timeout(LIMIT_S):
            quiet = 0
            while quiet < 5:
                active = (await self.http.get("/api/session/active")).json()["data"]
                quiet = 0 if session_id in active else quiet + 1
                await asyncio.sleep(0.1)

    async def say(self, session_id: str, text: str, **fields: Any) -> dict[str, Any]:
        """Send a prompt, and wait until the session has run."""
        data = await self.prompt(session_id, text, **fields)
        await self.idle(session_id)
        return data

    async def events(self, session_id: str, after: int = 0) -> list[dict[str, Any]]:
        """Return the durable events of a session; their kinds are noted, and a gap or a double is wrong."""
        history = await Newer(self.http).history(session_id, after)
        if numbers(history) != list(range(after + 1, after + 1 + len(history))):
            self.wrong.append(f"numbers of events: {numbers(history)}")
        self.told.append([kind for kind in kinds(history) if kind != "context.updated"])
        return history

    async def waiting(self, path: str) -> dict[str, Any]:
        """Wait until a list is not empty, and return its first item."""
        async with asyncio.timeout(LIMIT_S):
            while not (found := (await self.http.get(path)).json()["data"]):
                await asyncio.sleep(0.05)
        return found[0]


Scenario = Callable[[Side], Awaitable[None]]
SCENARIOS: dict[str, Scenario] = {}


def scenario(run: Scenario) -> Scenario:
    """Add a scenario."""
    SCENARIOS[run.__name__] = run
    return run


READS = (
    "health", "location?LOCATION", "agent?LOCATION", "model?LOCATION", "provider?LOCATION", "provider/fake?LOCATION",
    "provider/none?LOCATION", "integration?LOCATION", "integration/openai?LOCATION", "integration/none?LOCATION",
    "command?LOCATION", "skill?LOCATION", "reference?LOCATION", "permission/request?LOCATION", "permission/saved",
    "question/request?LOCATION", "pty?LOCATION", "pty/pty_none?LOCATION", "session", "session?limit=1&order=asc",
    "session?limit=0", "session?cursor=wrong", "session/active", "session/ses_none", "session/wrong",
    "fs/list?LOCATION", "fs/list?LOCATION&path=src", "fs/list?LOCATION&path=..", "fs/find?LOCATION&query=py",
    "fs/find?LOCATION", "fs/read/a.py?LOCATION", "fs/read/none?LOCATION", "location?location[directory]=/none",
)  # fmt: skip
"""Single requests, each a scenario."""

for read in READS:

    def _make(path: str) -> Scenario:
        async def run(side: Side) -> None:
            await side.ask("GET", f"/api/{path}")

        return run

    SCENARIOS[f"get {read}"] = _make(read)


@scenario
async def create_and_read(side: Side) -> None:
    """A session is created, read, and listed."""
    session_id = await side.session()
    await side.ask("GET", f"/api/session/{session_id}")
    await side.ask("GET", "/api/session?limit=1")
    await side.events(session_id)


@scenario
async def create_with_choices(side: Side) -> None:
    """A session has an ID, an agent and a model from the beginning; the same ID again is the same session."""
    name = "ses_" + os.urandom(8).hex()
    fields = {"id": name, "agent": "build", "model": {"id": "fake-model", "providerID": "fake"}}
    await side.session(**fields)
    await side.session(**fields)
    await side.say(name, "hello")


@scenario
async def wrong_bodies(side: Side) -> None:
    """Bodies that are not as described."""
    session_id = await side.session()
    home = f"/api/session/{session_id}"
    for path, body in (
        ("/agent", {}), ("/model", {"model": {}}), ("/prompt", {}), ("/prompt", {"prompt": {"text": 1}}),
        ("/prompt", {"prompt": {"text": "x"}, "delivery": "never"}), ("/revert/stage", {}), ("/permission", {}),
        ("/question/que_none/reply", {}),
    ):  # fmt: skip
        await side.ask("POST", home + path, body)
    await side.ask("POST", "/api/session", b"{wrong")
    await side.ask("POST", "/api/session", {"location": {"directory": "relative"}})


@scenario
async def one_prompt(side: Side) -> None:
    """A prompt is answered; its messages are read in both orders, one by one, and as context."""
    session_id = await side.session()
    data = await side.say(session_id, "hello")
    home = f"/api/session/{session_id}"
    for path in ("/message", "/message?order=asc", "/message?limit=1", f"/message/{data['id']}", "/context"):
        await side.ask("GET", home + path)
    await side.ask("GET", f"{home}/message/msg_none")
    await side.ask("GET", f"{home}/message/wrong")
    await side.ask("GET", f"{home}/message?cursor=wrong")
    await side.events(session_id)


@scenario
async def pages_of_messages(side: Side) -> None:
    """Pages follow each other."""
    session_id = await side.session()
    await side.say(session_id, "one")
    await side.say(session_id, "two")
    path = f"/api/session/{session_id}/message"
    first = await side.ask("GET", f"{path}?limit=2")
    second = await side.ask("GET", f"{path}?limit=2&cursor={first['cursor']['next']}")
    side.seen.append(f"messages {[one['type'] for one in first['data'] + second['data']]}")


@scenario
async def a_tool(side: Side) -> None:
    """A file is read."""
    session_id = await side.session()
    await side.say(session_id, '<<tool read {"path": "a.py"}>>')
    await side.ask("GET", f"/api/session/{session_id}/message")
    await side.events(session_id)


@scenario
async def tools_of_all_kinds(side: Side) -> None:
    """A file is written, a command runs, a call fails, the model reasons."""
    session_id = await side.session()
    text = '<<reason why>> <<tool write {"path": "made.txt", "content": "x"}>> <<tool read {"path": "none"}>>'
    await side.say(session_id, text + ' <<tool bash {"command": "echo hi"}>>')
    await side.ask("GET", f"/api/session/{session_id}/message")
    await side.events(session_id)


@scenario
async def two_calls_at_once(side: Side) -> None:
    """Two calls of one step."""
    session_id = await side.session()
    await side.say(session_id, '<<par>> <<tool read {"path": "a.py"}>> <<tool read {"path": "src/b.py"}>>')
    await side.ask("GET", f"/api/session/{session_id}/message")
    history = await side.events(session_id)
    side.told[-1] = [kind for kind in kinds(history) if not kind.startswith("tool.")]  # calls run at once
    side.seen.append(f"calls {sorted(Counter(kinds(history)).items())}")


@scenario
async def a_failing_provider(side: Side) -> None:
    """The provider refuses the request."""
    session_id = await side.session()
    await side.say(session_id, "<<error 400 bad>>")
    await side.ask("GET", f"/api/session/{session_id}/message")
    await side.events(session_id)


@scenario
async def an_attachment(side: Side) -> None:
    """A prompt with an agent."""
    session_id = await side.session()
    await side.say(session_id, "x", prompt={"text": "look", "agents": [{"name": "plan"}]})
    await side.ask("GET", f"/api/session/{session_id}/message")
    await side.events(session_id)


@scenario
async def a_permission_once(side: Side) -> None:
    """A permission is asked for, and given."""
    await _permission(side, "once")


@scenario
async def a_permission_always(side: Side) -> None:
    """A permission is given for good, found among the saved ones, and removed."""
    await _permission(side, "always")
    saved = (await side.ask("GET", "/api/permission/saved"))["data"]
    for one in saved:
        await side.ask("DELETE", f"/api/permission/saved/{one['id']}")
    await side.ask("DELETE", "/api/permission/saved/none")


@scenario
async def a_permission_refused(side: Side) -> None:
    """A permission is refused."""
    await _permission(side, "reject")


async def _permission(side: Side, reply: str) -> None:
    session_id = await side.session()
    home = f"/api/session/{session_id}"
    await side.prompt(session_id, f'<<tool read {{"path": "{SECRET}"}}>>')
    asked = await side.waiting(f"{home}/permission")
    await side.ask("GET", "/api/permission/request?LOCATION")
    await side.ask("GET", f"{home}/permission/{asked['id']}")
    await side.ask("POST", f"{home}/permission/{asked['id']}/reply", {"reply": "wrong"})
    await side.ask("POST", f"{home}/permission/{asked['id']}/reply", {"reply": reply})
    await side.ask("POST", f"{home}/permission/{asked['id']}/reply", {"reply": reply})
    await side.idle(session_id)
    await side.events(session_id)


@scenario
async def a_permission_of_a_client(side: Side) -> None:
    """A client asks for itself: what is allowed, and what the user decides."""
    session_id = await side.session()
    home = f"/api/session/{session_id}/permission"
    allowed = await side.ask("POST", home, {"action": "read", "resources": ["a.py"]})
    asked = await side.ask("POST", home, {"action": "read", "resources": [SECRET], "save": [SECRET]})
    side.seen.append(f"effects {allowed['data']['effect']} {asked['data']['effect']}")
    await side.ask("GET", home)
    await side.ask("POST", f"{home}/{asked['data']['id']}/reply", {"reply": "once"})
    await side.ask("GET", f"{home}/per_none")


@scenario
async def a_question_answered(side: Side) -> None:
    """A question is answered."""
    await _question(side, "reply", {"answers": [["A"]]})


@scenario
async def a_question_dismissed(side: Side) -> None:
    """A question is dismissed, which ends the turn."""
    await _question(side, "reject", None)


async def _question(side: Side, verb: str, body: Any) -> None:
    session_id = await side.session()
    home = f"/api/session/{session_id}"
    option = '{"label": "A", "description": "a"}'
    question = f'{{"question": "Which?", "header": "H", "options": [{option}]}}'
    await side.prompt(session_id, f'<<tool question {{"questions": [{question}]}}>>')
    asked = await side.waiting(f"{home}/question")
    await side.ask("GET", "/api/question/request?LOCATION")
    await side.ask("POST", f"{home}/question/que_none/{verb}", body)
    await side.ask("POST", f"{home}/question/{asked['id']}/{verb}", body)
    await side.idle(session_id)
    await side.events(session_id)


@scenario
async def an_interruption(side: Side) -> None:
    """A running answer is interrupted; the next prompt goes on."""
    session_id = await side.session()
    await side.prompt(session_id, "<<slow 100>> <<words 200>>")
    await _begun(side, session_id)
    await side.ask("GET", "/api/session/active")
    await side.ask("POST", f"/api/session/{session_id}/interrupt")
    await side.idle(session_id)
    await side.ask("POST", f"/api/session/{session_id}/interrupt")
    await side.say(session_id, "after")
    await side.ask("GET", f"/api/session/{session_id}/message")
    await side.events(session_id)


async def _begun(side: Side, session_id: str) -> None:
    async with asyncio.timeout(LIMIT_S):
        while "text.started" not in kinds(await Newer(side.http).history(session_id)):
            await asyncio.sleep(0.05)


@scenario
async def steering(side: Side) -> None:
    """A prompt joins the turn at its next step."""
    session_id = await side.session()
    await side.prompt(session_id, '<<tool bash {"command": "sleep 2"}>>')
    async with asyncio.timeout(LIMIT_S):
        while "tool.called" not in kinds(await Newer(side.http).history(session_id)):
            await asyncio.sleep(0.05)
    await side.prompt(session_id, "and this")
    await side.idle(session_id)
    await side.events(session_id)


@scenario
async def queuing(side: Side) -> None:
    """Two prompts wait for the end of the turn, each has a turn of its own."""
    session_id = await side.session()
    await side.prompt(session_id, "<<slow 50>> <<words 40>>")
    await _begun(side, session_id)
    await side.prompt(session_id, "later", delivery="queue")
    await side.prompt(session_id, "last", delivery="queue")
    await side.idle(session_id)
    await side.ask("GET", f"/api/session/{session_id}/message")
    await side.events(session_id)


@scenario
async def queued_and_interrupted(side: Side) -> None:
    """An interruption leaves what waits; it is read after the next prompt."""
    session_id = await side.session()
    await side.prompt(session_id, "<<slow 100>> <<words 200>>")
    await _begun(side, session_id)
    await side.prompt(session_id, "later", delivery="queue")
    await side.prompt(session_id, "joined")
    await side.ask("POST", f"/api/session/{session_id}/interrupt")
    await side.idle(session_id)
    await side.say(session_id, "after")
    await side.events(session_id)


@scenario
async def the_same_prompt_twice(side: Side) -> None:
    """An ID that is in use: the same text is the same prompt, another one a conflict."""
    session_id = await side.session()
    name = "msg_20f43ec8f001" + os.urandom(7).hex()
    await side.prompt(session_id, "stored", id=name, resume=False)
    await side.prompt(session_id, "stored", id=name, resume=False)
    await side.prompt(session_id, "other", id=name, resume=False)
    await side.ask("GET", f"/api/session/{session_id}/message/{name}")
    await side.say(session_id, "go on")
    await side.events(session_id)


@scenario
async def another_agent_and_model(side: Side) -> None:
    """The agent and the model are changed between prompts."""
    session_id = await side.session()
    await side.ask("POST", f"/api/session/{session_id}/agent", {"agent": "plan"})
    await side.ask("POST", f"/api/session/{session_id}/model", {"model": {"id": "fake-model", "providerID": "fake"}})
    await side.say(session_id, "hello")
    await side.ask("GET", f"/api/session/{session_id}")
    await side.ask("GET", f"/api/session/{session_id}/message")
    await side.events(session_id)


@scenario
async def an_unknown_agent(side: Side) -> None:
    """An agent that does not exist."""
    session_id = await side.session()
    await side.ask("POST", f"/api/session/{session_id}/agent", {"agent": "none"})
    await side.say(session_id, "hello")


@scenario
async def compaction_and_wait(side: Side) -> None:
    """A session is compacted, and waited for."""
    session_id = await side.session()
    await side.say(session_id, "one")
    await side.say(session_id, "two")
    await side.ask("POST", f"/api/session/{session_id}/wait")
    await side.ask("POST", f"/api/session/{session_id}/compact")
    await side.ask("GET", f"/api/session/{session_id}/message")
    await side.events(session_id)


@scenario
async def undo_and_redo(side: Side) -> None:
    """An undo is staged and cleared."""
    session_id, first, _ = await _changed(side)
    home = f"/api/session/{session_id}"
    await side.ask("POST", f"{home}/revert/stage", {"messageID": first})
    await side.ask("GET", home)
    await side.ask("POST", f"{home}/revert/clear")
    await side.ask("POST", f"{home}/revert/clear")
    await side.ask("POST", f"{home}/revert/stage", {"messageID": "msg_none"})
    await side.events(session_id)


@scenario
async def undo_and_commit(side: Side) -> None:
    """An undo of the conversation is committed; another one is staged when the session goes on."""
    session_id, first, second = await _changed(side)
    home = f"/api/session/{session_id}"
    await side.ask("POST", f"{home}/revert/stage", {"messageID": second, "files": False})
    await side.ask("POST", f"{home}/revert/commit")
    await side.ask("POST", f"{home}/revert/commit")
    await side.events(session_id)
    await side.ask("POST", f"{home}/revert/stage", {"messageID": first})
    await side.say(session_id, "after")
    await side.ask("GET", f"{home}/message")
    history = await side.events(session_id)
    side.told[-1] = ["events after commit", *kinds(history)]


async def _changed(side: Side) -> tuple[str, str, str]:
    session_id = await side.session()
    made = f"undo-{os.urandom(4).hex()}.txt"
    first = await side.say(session_id, f'<<tool write {{"path": "{made}", "content": "one"}}>>')
    second = await side.say(session_id, "second")
    return session_id, first["id"], second["id"]


@scenario
async def events_from_a_number(side: Side) -> None:
    """Events after a number, in pages and as a stream, which goes on with what follows."""
    session_id = await side.session()
    await side.say(session_id, "one")
    path = f"/api/session/{session_id}"
    for query in ("limit=2", "limit=2&after=2", "after=6", "after=-1", "after=x", "limit=0", "limit=101"):
        await side.ask("GET", f"{path}/history?{query}")
    newer = Newer(side.http)
    async with newer.events(f"{path}/event", after=4) as stream:
        await stream.until("session.next.step.ended")
        await side.prompt(session_id, "two")
        await stream.until("session.next.step.ended")
    side.wrong += newer.problems
    side.seen.append(f"stream {numbers(stream.seen)} {kinds(stream.seen)}")


@scenario
async def two_streams_and_one_again(side: Side) -> None:
    """A client that comes again reads on where it was."""
    session_id = await side.session()
    path = f"/api/session/{session_id}/event"
    newer = Newer(side.http)
    await side.prompt(session_id, "<<slow 20>> <<words 40>>")
    async with newer.events(path) as stream:
        await stream.until("session.next.text.started")
    async with newer.events(path, after=numbers(stream.seen)[-1]) as again:
        await again.until("session.next.step.ended")
    side.wrong += newer.problems
    side.seen.append(f"stream {numbers(stream.seen + again.seen)}")
    await side.idle(session_id)


@scenario
async def the_stream_of_everything(side: Side) -> None:
    """A session is created and prompted while a client follows all events."""
    newer = Newer(side.http)
    async with newer.events() as stream:
        session_id = await side.session()
        await side.prompt(session_id, "hello")
        await stream.until("session.next.step.ended")
    side.wrong += newer.problems
    own = [one for one in stream.seen if one.get("durable", {}).get("aggregateID") == session_id]
    side.seen.append(f"stream {numbers(own)} {kinds(own)}")
    await side.idle(session_id)


@scenario
async def keys(side: Side) -> None:
    """A key is stored, named and deleted."""
    await side.ask("POST", "/api/integration/openai/connect/key?LOCATION", {"key": "sk-test"})
    shown = await side.ask("GET", "/api/integration/openai?LOCATION")
    for one in shown["data"]["connections"]:
        await side.ask("PATCH", f"/api/credential/{one['id']}?LOCATION", {"label": "mine"})
        await side.ask("DELETE", f"/api/credential/{one['id']}?LOCATION")
    await side.ask("DELETE", "/api/credential/none?LOCATION")
    await side.ask("POST", "/api/integration/openai/connect/oauth?LOCATION", {"methodID": "none", "inputs": {}})
    await side.ask("DELETE", "/api/integration/attempt/none?LOCATION")


@scenario
async def a_terminal(side: Side) -> None:
    """A terminal is started, changed and removed."""
    data = (await side.ask("POST", "/api/pty?LOCATION", {"command": "cat"})).get("data", {"id": "pty_none"})
    path = f"/api/pty/{data['id']}"
    await side.ask("GET", f"{path}?LOCATION")
    await side.ask("PUT", f"{path}?LOCATION", {"title": "t", "size": {"rows": 10, "cols": 20}})
    await side.ask("POST", f"{path}/connect-token?LOCATION")
    await side.ask("DELETE", f"{path}?LOCATION")
    await side.ask("DELETE", f"{path}?LOCATION")


@scenario
async def copies_of_a_project(side: Side) -> None:
    """Copies that neither makes."""
    body = {"strategy": "git_worktree", "directory": "/none/copy"}
    await side.ask("POST", "/experimental/project/none/copy?LOCATION", body)
    await side.ask("DELETE", "/experimental/project/none/copy?LOCATION", {"directory": "/none/copy", "force": False})


@dataclass
class Seen:
    """What one scenario saw on one side."""

    seen: list[str]
    wrong: list[str]
    told: list[list[str]]


async def run_all(side: Side) -> dict[str, Seen]:
    """Run every scenario on one side."""
    found: dict[str, Seen] = {}
    for name, run in SCENARIOS.items():
        side.seen, side.wrong, side.told = [], [], []
        try:
            async with asyncio.timeout(4 * LIMIT_S):
                await run(side)
        except (
            TimeoutError,
            LookupError,
            TypeError,
            EOFError,
            httpx.HTTPError,
        ) as error:  # a difference of this scenario
            side.wrong.append(f"{type(error).__name__}: {error}")
        found[name] = Seen(side.seen, side.wrong, side.told)
        print(f"{side.name}: {name}: {len(side.seen)} answers, {len(side.wrong)} wrong", flush=True)
    return found


def differences(theirs: Seen, ours: Seen) -> list[str]:
    """Return a line for each difference."""
    lines = [f"ours: {text}" for text in ours.wrong]
    lines += [f"{text} (theirs)" for text in theirs.wrong]
    for left, right in zip(theirs.seen, ours.seen, strict=False):
        if left != right:
            name, _, _ = right.rpartition(" ")
            is_status = left.rpartition(" ")[0] == name
            lines.append(f"{right} for {left.rpartition(' ')[2]}" if is_status else _order(left, right))
    if len(theirs.seen) != len(ours.seen):
        lines.append(f"{len(ours.seen)} answers for {len(theirs.seen)}: {ours.seen[len(theirs.seen) :]}")
    for left, right in zip(theirs.told, ours.told, strict=False):
        if left != right:
            lines.append(_order(str(left), str(right)))
    return lines


def _order(left: str, right: str) -> str:
    """Return what differs in two lists of events."""
    ended = re.compile(r"'text\.ended',? ?")
    if ended.sub("", left) == ended.sub("", right) and left.count("text.ended") == right.count("text.ended"):
        return "order of text.ended"
    if "events after commit" in left:
        return "events after commit"
    if "compaction" in right and "compaction" not in left:
        return "events of compaction"
    return f"events {right} for {left}"


@asynccontextmanager
async def theirs(program: str, folder: Path, model: ModelServer) -> AsyncGenerator[Side]:
    """Serve with the real program, in a home of its own."""
    home = folder / "home"
    names = {"XDG_STATE_HOME": "state", "XDG_DATA_HOME": "data", "XDG_CONFIG_HOME": "config", "XDG_CACHE_HOME": "cache"}
    environ = {"PATH": os.environ["PATH"], "HOME": str(home), "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    environ |= {name: str(home / kind) for name, kind in names.items()}
    settings = home / "config" / "opencode" / "opencode.json"
    settings.parent.mkdir(parents=True)
    settings.write_text(json.dumps({"model": "fake/fake-model", "provider": model.config()}))
    repo = _project(folder)
    process = await asyncio.create_subprocess_exec(
        program, "serve", "--port", "0", "--register", cwd=repo, env=environ, stdout=asyncio.subprocess.PIPE
    )
    assert process.stdout is not None
    try:
        url = (await asyncio.wait_for(process.stdout.readline(), LIMIT_S)).decode().split()[-1]
        password = (home / "state" / "opencode" / "password").read_text()
        async with httpx.AsyncClient(
            base_url=url, auth=("opencode", password), trust_env=False, timeout=LIMIT_S
        ) as http:
            yield Side("theirs", http, repo)
    finally:
        process.terminate()
        await process.wait()


@asynccontextmanager
async def our_side(folder: Path, model: ModelServer) -> AsyncGenerator[Side]:
    """Serve with our program, in a home of its own."""
    repo = _project(folder)
    environ = isolated_environment(folder / "home")
    settings = {"model": "fake/fake-model"}
    async with served(repo, environ, provider=model.config(), settings=settings) as face:
        assert PASSWORD
        yield Side("ours", face.http, repo)


def _project(folder: Path) -> Path:
    repo = make_repo(folder / "project")
    repo.write(SECRET, "KEY=1\n")
    repo.commit("begin", **{"a.py": "x = 1\n", "src/b.py": "y = 2\n"})
    return repo.path


async def main(program: str) -> int:
    """Run the scenarios on both sides and print what differs; return 1 for a difference that nothing justifies."""
    with tempfile.TemporaryDirectory() as name, ModelServer() as model:
        folder = Path(name)
        async with AsyncExitStack() as stack:
            real = await run_all(await stack.enter_async_context(theirs(program, folder / "theirs", model)))
        async with our_side(folder / "ours", model) as side:
            ours = await run_all(side)
    used: Counter[str] = Counter()
    unjustified: list[str] = []
    for one in SCENARIOS:
        for line in differences(real[one], ours[one]):
            reason = next((why for form, why in JUSTIFIED.items() if re.search(form, line)), None)
            if reason is None:
                unjustified.append(f"{one}: {line}")
            else:
                used[reason] += 1
    print(f"\n{len(SCENARIOS)} scenarios, {sum(len(one.seen) for one in ours.values())} answers")
    for reason, count in used.most_common():
        print(f"  {count:3} justified: {reason}")
    for line in unjustified:
        print(f"  NOT justified: {line[:600]}")
    return 1 if unjustified or len(used) > 10 else 0


if __name__ == "__main__":
    sys.exit(asyncio.run(main(sys.argv[1])))
