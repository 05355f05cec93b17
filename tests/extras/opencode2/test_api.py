"""OpenCode 2's API: what its clients send and read, each answer compared with OpenCode 2's own description."""

import asyncio
import subprocess
import sys

import pytest

from opencode_tui.extras.opencode2.operations import OPERATIONS
from tests.support.opencode2.client import Newer, kinds, numbers
from tests.support.opencode2.description import operations
from tests.support.world.server import http_client
from tests.support.world.waiting import PATIENCE_S

pytestmark = pytest.mark.slow


STEP = ["step.started", "text.started", "text.ended", "step.ended"]
CALL = ["tool.input.started", "tool.input.ended", "tool.called", "tool.success"]


async def test_a_prompt_is_admitted_read_and_answered(serve):
    async with serve() as face:
        newer = Newer(face.http)
        session_id = await newer.session()
        async with newer.events() as events:
            admitted = await newer.say(session_id, "hello")
            await events.until("session.next.step.ended")
        history = await newer.history(session_id)
        user, answer = await newer.messages(session_id)
        live = [one for one in events.seen if "durable" in one and one["durable"]["aggregateID"] == session_id]
        async with newer.events(f"/api/session/{session_id}/event", after=3) as later:
            await later.until("session.next.step.ended")
    assert newer.problems == []
    assert kinds(history) == ["prompt.admitted", "prompted", *STEP]
    assert numbers(history) == [1, 2, 3, 4, 5, 6] and admitted["admittedSeq"] == 1
    assert [one["id"] for one in live] == [one["id"] for one in history]
    assert later.seen == history[3:]
    assert (user["id"], user["type"], user["text"]) == (admitted["id"], "user", "hello")
    assert answer["content"][0]["text"] == "Echo: hello"


async def test_events_continue_after_a_restart_without_gap_or_double(serve):
    async with serve() as face:
        newer = Newer(face.http)
        session_id = await newer.session()
        await newer.say(session_id, 'one <<reason why>> <<tool read {"path": "a.py"}>>')
        before = await newer.history(session_id)
    async with serve() as face:
        older = await face.http.post(  # by OpenCode 1's API, before any request to this one
            f"/session/{session_id}/message", json={"parts": [{"type": "text", "text": "two"}]}
        )
        assert older.status_code == 200
        again = Newer(face.http)
        await again.say(session_id, "three")
        after = await again.history(session_id)
    assert newer.problems == again.problems == []
    assert after[: len(before)] == before
    assert numbers(after) == list(range(1, len(after) + 1))
    assert kinds(after[len(before) :]) == ["prompt.admitted", "prompted", *STEP] * 2
    assert kinds(before)[2:] == [
        "step.started", "reasoning.started", "reasoning.ended", "text.started", "text.ended", *CALL, "step.ended",
        "step.started", "reasoning.started", "reasoning.ended", "text.started", "text.ended", "step.ended",
    ]  # fmt: skip


async def test_undo_is_staged_cleared_and_committed(serve, project):
    async with serve() as face:
        newer = Newer(face.http)
        session_id = await newer.session()
        first = await newer.say(session_id, '<<tool write {"path": "new.txt", "content": "one"}>>')
        await newer.say(session_id, "second")
        path = f"/api/session/{session_id}/revert"
        staged = (await newer.ask("POST", f"{path}/stage", {"messageID": first["id"]}))["data"]
        is_undone = not (project.path / "new.txt").exists()
        await newer.ask("POST", f"{path}/clear")
        is_redone = (project.path / "new.txt").exists()
        await newer.ask("POST", f"{path}/stage", {"messageID": first["id"], "files": False})
        shown = (await newer.ask("GET", f"/api/session/{session_id}"))["data"]
        context = (await newer.ask("GET", f"/api/session/{session_id}/context"))["data"]
        await newer.ask("POST", f"{path}/commit")
        await newer.ask("POST", f"{path}/commit")
        left, history = await newer.messages(session_id), await newer.history(session_id)
        missing = await newer.answer("POST", f"{path}/stage", {"messageID": "msg_none"})
    assert newer.problems == []
    assert [(one["path"], one["status"], one["deletions"]) for one in staged["files"]] == [("new.txt", "deleted", 1)]
    assert is_undone and is_redone and shown["revert"]["messageID"] == first["id"] and context == []
    undo = [kind for kind in kinds(history) if kind.startswith("revert")]
    assert undo == ["revert.staged", "revert.cleared", "revert.staged", "revert.committed"]
    assert left == [] and numbers(history) == list(range(1, len(history) + 1))
    assert missing[0] == 404 and missing[1]["_tag"] == "MessageNotFoundError"


async def test_permissions_and_questions_are_asked_and_answered(serve):
    async with serve() as face:
        newer = Newer(face.http)
        session_id = await newer.session()
        home = f"/api/session/{session_id}"
        async with newer.events() as events:
            await newer.prompt(session_id, '<<tool read {"path": "a.env"}>>')
            asked = (await events.until("permission.v2.asked"))[-1]["data"]
            listed = (await newer.ask("GET", "/api/permission/request"))["data"]
            one = (await newer.ask("GET", f"{home}/permission/{asked['id']}"))["data"]
            await newer.ask("POST", f"{home}/permission/{asked['id']}/reply", {"reply": "always"})
            gone = await newer.answer("POST", f"{home}/permission/{asked['id']}/reply", {"reply": "once"})
            await events.until("permission.v2.replied")
            await newer.ask("POST", f"{home}/wait")
            saved = (await newer.ask("GET", "/api/permission/saved"))["data"]
            await newer.ask("DELETE", f"/api/permission/saved/{saved[0]['id']}")
            left = (await newer.ask("GET", "/api/permission/saved"))["data"]
            question = '{"question": "Which?", "header": "H", "options": [{"label": "A", "description": "a"}]}'
            await newer.prompt(session_id, f'<<tool question {{"questions": [{question}]}}>>')
            asking = (await events.until("question.v2.asked"))[-1]["data"]
            waiting = (await newer.ask("GET", f"{home}/question"))["data"]
            await newer.ask("POST", f"{home}/question/{asking['id']}/reply", {"answers": [["A"]]})
            await events.until("question.v2.replied")
            await newer.ask("POST", f"{home}/wait")
        own = {"action": "read", "resources": ["b.env"], "save": ["b.env"], "metadata": {"why": 1}}
        decided = (await newer.ask("POST", f"{home}/permission", own))["data"]
        pending = (await newer.ask("GET", f"{home}/permission"))["data"]
        await newer.ask("POST", f"{home}/permission/{decided['id']}/reply", {"reply": "reject"})
        allowed = (await newer.ask("POST", f"{home}/permission", {"action": "read", "resources": ["a.py"]}))["data"]
    assert newer.problems == []
    assert listed == [one] and one == asked and gone[0] == 404
    assert len(saved) == 1 and left == []
    assert waiting == [asking] and asking["questions"][0]["options"] == [{"label": "A", "description": "a"}]
    assert (decided["effect"], allowed["effect"]) == ("ask", "allow")
    assert [(one["id"], one["action"], one["save"]) for one in pending] == [(decided["id"], "read", ["b.env"])]


async def test_prompts_wait_for_the_turn_or_join_it_and_an_interruption_ends_it(serve):
    async with serve() as face:
        newer = Newer(face.http)
        session_id = await newer.session()
        home = f"/api/session/{session_id}"
        async with newer.events() as events:
            await newer.prompt(session_id, "<<slow 50>> <<words 2000>>")
            await events.until("session.next.text.started")
            active = (await newer.ask("GET", "/api/session/active"))["data"]
            queued = await newer.prompt(session_id, "later", delivery="queue")
            hidden = [one["id"] for one in await newer.messages(session_id)]
            await newer.ask("POST", f"{home}/interrupt")
            await events.until("session.next.step.failed")
            await newer.ask("POST", f"{home}/wait")
        await newer.ask("POST", f"{home}/interrupt")

        await newer.say(session_id, "after")
        async with asyncio.timeout(PATIENCE_S):
            while len(await newer.messages(session_id)) < 6:  # the queued prompt has a turn of its own
                await newer.ask("POST", f"{home}/wait")
        history, messages = await newer.history(session_id), await newer.messages(session_id)
    assert newer.problems == []
    assert active == {session_id: {"type": "running"}} and queued["id"] not in hidden
    assert queued["delivery"] == "queue" and queued["admittedSeq"] == 5
    told = [one for one in history if one["data"].get("messageID") == queued["id"]]
    assert kinds(told) == ["prompt.admitted", "prompted"]
    assert [one["type"] for one in messages] == ["user", "assistant"] * 3
    assert messages[1]["error"]["message"] == "Provider turn interrupted"
    assert [one["text"] for one in messages if one["type"] == "user"][1:] == ["after", "later"]
    assert messages[4]["id"] == queued["id"] and numbers(history) == list(range(1, len(history) + 1))


async def test_the_same_prompt_again_changes_nothing_and_another_one_conflicts(serve):
    async with serve() as face:
        newer = Newer(face.http)
        model = {"id": "fake-model", "providerID": "fake", "unknown": 1}  # which no answer may have
        session_id = await newer.session(agent="build", model=model)
        name = "msg_20f43ec8f0015FKP5mdTP716zz"
        first = await newer.prompt(session_id, "stored", id=name, resume=False)
        again = await newer.prompt(session_id, "stored", id=name, resume=False)
        body = {"id": name, "prompt": {"text": "other"}}
        status, error = await newer.answer("POST", f"/api/session/{session_id}/prompt", body)
        waiting = await newer.messages(session_id)
        await newer.say(session_id, "go on")
        told = kinds(await newer.history(session_id))
        same = await newer.session(id=session_id)
    assert newer.problems == []
    assert first == again and same == session_id
    assert (status, error["_tag"], error["resource"]) == (409, "ConflictError", name)
    assert [one["type"] for one in waiting] == ["agent-switched", "model-switched"]
    begin = ["agent.switched", "model.switched", "prompt.admitted", "prompt.admitted", "prompted", "prompted"]
    assert told == [*begin, *STEP]


async def test_a_place_that_no_text_has_is_refused_and_the_session_goes_on(serve):
    async with serve() as face:
        newer = Newer(face.http)
        session_id = await newer.session()
        answers = []
        for number in (1e308, -1e308, 2.0**63, 2**53 + 2):
            for start, end in ((number, 1), (0, number)):
                source = {"start": start, "end": end, "text": "@plan"}
                for named in (
                    {"agents": [{"name": "plan", "source": source}]},
                    {"files": [{"uri": "file:///a", "source": source}]},
                ):
                    body = {"prompt": {"text": "@plan", **named}}
                    answers.append(await newer.answer("POST", f"/api/session/{session_id}/prompt", body))
        source = {"start": 0.0, "end": 2**53, "text": "@plan"}
        body = {"prompt": {"text": "@plan", "agents": [{"name": "plan", "source": source}]}, "resume": False}
        status, _ = await newer.answer("POST", f"/api/session/{session_id}/prompt", body)
        await newer.say(session_id, "go on")
        *_, answer = await newer.messages(session_id)
    assert newer.problems == []
    assert len(answers) == 16 and {(code, error["_tag"]) for code, error in answers} == {(400, "InvalidRequestError")}
    assert status == 200 and answer["content"][0]["text"] == "Echo: @plan go on"


async def test_lists_and_errors_are_as_described(serve, project):
    project.write("src/b.py", "y = 2\n")
    async with serve(settings={"command": {"greet": {"template": "Hi $ARGUMENTS"}}}) as face:
        newer = Newer(face.http)
        sessions = [await newer.session() for _ in range(3)]
        here = {"location[directory]": str(project.path)}
        names = (
            "location",
            "agent",
            "model",
            "provider",
            "integration",
            "command",
            "skill",
            "reference",
            "pty",
            "fs/list",
        )
        lists = {name: await newer.ask("GET", f"/api/{name}", **here) for name in names}
        found = await newer.ask("GET", "/api/fs/find", query="b.py", **here)
        content = await newer.ask("GET", "/api/fs/read/src/b.py", **here)
        one = await newer.ask("GET", "/api/provider/fake", **here)
        pages: list[str] = []
        cursor: dict[str, str] = {"limit": "2"}
        while True:
            page = await newer.ask("GET", "/api/session", **cursor)
            pages += [each["id"] for each in page["data"]]
            if not page["data"]:
                break
            cursor = {"cursor": page["cursor"]["next"], "limit": "2"}
        bad = [
            await newer.answer(method, path, body)
            for method, path, body in (
                ("GET", "/api/session/ses_none", None),
                ("GET", "/api/session/wrong", None),
                ("GET", "/api/session?cursor=zz", None),
                ("GET", f"/api/session/{sessions[0]}/history?after=x", None),
                ("GET", f"/api/session/{sessions[0]}/message/msg_none", None),
                ("POST", f"/api/session/{sessions[0]}/prompt", {"prompt": {}}),
                ("POST", "/api/session", {"location": {"directory": "relative"}}),
                ("GET", "/api/provider/none", None),
                ("GET", "/api/fs/read/none", None),
                ("GET", "/api/fs/list?path=..", None),
                ("GET", "/api/pty/pty_none", None),
                ("POST", "/api/integration/fake/connect/oauth", {"methodID": "a", "inputs": {}}),
                ("POST", "/experimental/project/x/copy", {"strategy": "a", "directory": "/b"}),
            )
        ]
    assert newer.problems == []
    assert [one["id"] for one in lists["agent"]["data"]][:2] == ["build", "plan"]
    assert [one["name"] for one in lists["command"]["data"]].count("greet") == 1
    assert {"path": "src/", "type": "directory"} in lists["fs/list"]["data"]
    assert found["data"][0] == {"path": "src/b.py", "type": "file"} and content == b"y = 2\n"
    assert "apiKey" not in str(one) and pages == sessions[::-1]
    assert [status for status, _ in bad] == [404, 400, 400, 400, 404, 400, 400, 404, 400, 400, 404, 400, 400]


async def test_a_session_of_before_has_events_too_also_when_it_was_compacted(serve):
    async with serve() as face:
        session_id = await face.session()
        for text in ("one", "two", "three"):
            await face.say(session_id, text)
        newer = Newer(face.http)
        first = await newer.history(session_id)
        await newer.ask("POST", f"/api/session/{session_id}/compact")
        history, context = await newer.history(session_id), await newer.ask("GET", f"/api/session/{session_id}/context")
    assert newer.problems == []
    assert kinds(first) == ["prompt.admitted", "prompted", *STEP] * 3
    assert kinds(history[len(first) :]) == ["compaction.started", "compaction.ended"]
    assert context["data"][0]["type"] == "compaction" and context["data"][0]["summary"].startswith("SUMMARY")


async def test_a_request_without_the_password_is_refused_in_this_form(serve):
    async with serve() as face, http_client(face.address.url) as stranger:
        refused = await stranger.get("/api/health")
    assert refused.status_code == 401 and refused.json()["_tag"] == "UnauthorizedError"


async def test_streams_end_with_the_server(serve):
    async with serve() as face:
        newer = Newer(face.http)
        session_id = await newer.session()
        async with newer.events() as everything, newer.events(f"/api/session/{session_id}/event") as own:
            await newer.say(session_id, "hello")
            await own.until("session.next.step.ended")
            reading = asyncio.create_task(everything.until("never"))
            await asyncio.sleep(0)
            assert not reading.done()
            reading.cancel()


def test_every_operation_has_its_name():
    described = {(method, path.replace("/*", "/{path}")): name for name, (method, path) in operations().items()}
    assert described == OPERATIONS


def test_a_server_without_such_a_request_loads_none_of_it():
    code = "import sys, opencode_tui.server.serving as _; print([one for one in sys.modules if 'opencode2' in one])"
    answer = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert answer.stdout.strip() == "[]"
