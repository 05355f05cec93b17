"""Settings that a client changes: in the user's own file only, checked first, used from then on."""

import asyncio
import json
import os

import pytest

from opencode_tui.server.routes.settings import DEFAULT_KEYS

TEXT = """{
  // mine
  "username": "me", // shown
  "provider": {"x": {"options": {"apiKey": "sk-canary-1234"}}}
}
"""


@pytest.fixture
def user_file(paths):
    paths.config.mkdir(parents=True)
    path = paths.config / "opencode.jsonc"
    path.write_text(TEXT)
    path.chmod(0o640)
    return path


async def test_a_change_goes_to_the_users_file_and_counts_at_once(serve, project, user_file):
    (project.path / "opencode.json").write_text('{"theme": "nord"}')
    async with serve() as face, face.events() as events:
        change = {"username": "you", "permission": {"webfetch": "deny"}}
        answer = await face.http.patch("/config", json=change)
        seen = await events.until("server.instance.disposed")
        effective = (await face.http.get("/config")).json()
        own = (await face.http.get("/global/config")).json()
    assert user_file.read_text() == TEXT.replace('"me"', '"you"').replace(
        "}}}\n", '}}},\n  "permission": {\n    "webfetch": "deny"\n  }\n'
    )
    assert os.stat(user_file).st_mode & 0o777 == 0o640
    assert (project.path / "opencode.json").read_text() == '{"theme": "nord"}'
    assert answer.json() == effective and effective["theme"] == "nord" and effective["username"] == "you"
    assert effective["permission"]["webfetch"] == "deny" and seen[-1]["properties"]["directory"].endswith("project")
    assert "theme" not in own and "keybinds" not in own and own["username"] == "you"
    assert "canary" not in answer.text and own["provider"]["x"]["options"]["apiKey"] == "[hidden]"


async def test_what_a_client_read_can_be_sent_back(serve, user_file):
    async with serve() as face:
        read = (await face.http.get("/global/config")).json()
        sent = {**read, "keybinds": DEFAULT_KEYS, "theme": "nord"}
        answer = await face.http.patch("/global/config", json=sent)
    assert answer.json() == {**read, "theme": "nord"}
    assert user_file.read_text() == TEXT.replace("}}}\n", '}}},\n  "theme": "nord"\n')


@pytest.mark.slow
async def test_effective_settings_that_are_sent_back_do_not_become_the_users_own(serve, project, paths, user_file):
    text = '{"username": "{file:name.txt}", "command": {"mine": {"template": "x"}}}'
    (paths.config / "name.txt").write_text("canary")
    user_file.write_text(text)
    of_repository = {"theme": "nord", "permission": {"bash": "deny"}, "command": {"theirs": {"template": "y"}}}
    (project.path / "opencode.json").write_text(json.dumps(of_repository))
    async with serve() as face:
        read = (await face.http.get("/config")).json()
        same = await face.http.patch("/config", json=read)
        unchanged = user_file.read_text()
        sent = {**read, "share": "disabled", "permission": {**read["permission"], "webfetch": "ask"}}
        changed = (await face.http.patch("/config", json=sent)).json()
        back = await face.http.patch("/config", json={"share": "manual"})
    assert read["username"] == "canary" and read["theme"] == "nord" and same.json() == read and unchanged == text
    assert changed == sent and back.json()["share"] == "manual"
    assert json.loads(user_file.read_text()) == {
        **json.loads(text), "share": "manual", "permission": {"webfetch": "ask"}
    }  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize(
    ("own", "theirs", "wanted", "expected"),
    [
        (["a"], ["r"], ["a", "r", "n"], ["a", "n"]),
        (["a"], ["r"], ["r", "a"], ["a"]),
        (["a", "b"], ["r"], ["b", "r"], ["b"]),
        (["a"], ["r"], ["r"], []),
        (["a", "r"], ["r"], ["a", "r", "n"], ["a", "r", "n"]),
        (["b", "a"], [], ["a", "b"], ["a", "b"]),
        ([], ["r"], ["r", "n"], ["n"]),
        (["{env:HOME}/x.md"], ["r"], ["HOME/x.md", "r", "n"], ["{env:HOME}/x.md", "n"]),
        (["a"], ["r"], ["only"], ["only"]),
    ],
)
@pytest.mark.parametrize("route", ["/config", "/global/config"])
async def test_a_changed_list_of_all_sources_leaves_other_members_out_of_the_users_file(
    serve, project, environ, user_file, own, theirs, wanted, expected, route
):
    user_file.write_text(json.dumps({"instructions": own}))
    (project.path / "opencode.json").write_text(json.dumps({"instructions": theirs}))
    async with serve() as face:
        sent = [one.replace("HOME", environ["HOME"]) for one in wanted]
        answer = await face.http.patch(route, json={"instructions": sent})
    assert answer.status_code == 200
    assert json.loads(user_file.read_text()) == {"instructions": expected}


@pytest.mark.fast_cases("change0-the change: modle: ")
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"modle": "a/b"}, "the change: modle: "),
        ({"share": "sometimes"}, "the change: share: "),
        ({"theme": None}, "null has no effect"),
        ({"model": "no slash"}, "provider/model"),
    ],
)
async def test_a_wrong_change_is_refused_in_one_line_and_nothing_is_written(serve, user_file, change, message):
    async with serve() as face:
        answer = await face.http.patch("/config", json=change)
        other = await face.http.patch("/global/config", json=change)
    assert (answer.status_code, other.status_code, user_file.read_text()) == (400, 400, TEXT)
    error = answer.json()
    assert error["name"] == "ConfigInvalidError" and message in error["data"]["message"]
    assert "\n" not in error["data"]["message"]


@pytest.mark.slow
async def test_a_running_turn_is_not_ended_by_a_change(serve, paths):
    async with serve() as face, face.events() as events:
        session_id = await face.session()
        turn = asyncio.create_task(face.say(session_id, "x <<slow 50>> <<words 20>>"))
        await events.until("session.status")
        changed = await face.http.patch("/config", json={"theme": "nord"})
        before = (await face.http.get("/config")).json()
        answer = (await turn).json()
        await events.until("session.idle")
        after = (await face.http.get("/config")).json()
    assert (changed.json()["theme"], before.get("theme"), after["theme"]) == ("nord", None, "nord")
    assert "error" not in answer["info"]
    assert json.loads((paths.config / "opencode.jsonc").read_text()) == {"theme": "nord"}
    assert os.stat(paths.config / "opencode.jsonc").st_mode & 0o777 == 0o600
