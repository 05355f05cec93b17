"""Terminals of the server: OpenCode's `/pty` routes, over a real WebSocket."""

import asyncio
import os
import signal
from collections.abc import AsyncGenerator
from contextlib import suppress
from pathlib import Path
from typing import Any

import psutil
import pytest
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidStatus

from tests.support.world.server import PASSWORD, HttpFace
from tests.support.world.waiting import PATIENCE_S
from tests.support.world.waiting import until as wait_for

ENVIRON = {"PATH": os.environ["PATH"], "SHELL": "/bin/sh", "OPENCODE_SERVER_PASSWORD": PASSWORD}


@pytest.fixture
async def face(serve) -> AsyncGenerator[HttpFace]:
    async with serve(terminals=ENVIRON) as face:
        yield face


async def start(face: HttpFace, **fields: Any) -> dict[str, Any]:
    answer = await face.http.post("/pty", json=fields)
    assert answer.status_code == 200, answer.text
    return answer.json()


def joined(face: HttpFace, name: str, *, password: str = PASSWORD, **more: Any) -> connect:
    address = face.address.url.replace("http://", f"ws://opencode:{password}@")
    return connect(f"{address}/pty/{name}/connect", proxy=None, **more)


async def until(socket: ClientConnection, words: str) -> str:
    """Read until these words came, and return all that did."""
    text = ""
    async with asyncio.timeout(PATIENCE_S):
        while words not in text:
            text += str(await socket.recv())
    return text


async def test_a_shell_answers_replays_resizes_and_ends(face: HttpFace) -> None:
    async with face.events() as events:
        made = await start(face, command="/bin/sh", title="mine", env={"GIVEN": "yes"})
        name = made["id"]
        assert (made["title"], made["status"], (await face.http.get("/pty")).json()) == ("mine", "running", [made])
        async with joined(face, name) as socket:
            await socket.send("echo $GIVEN-$((40+2)) pass=$OPENCODE_SERVER_PASSWORD.\n")
            assert "yes-42 pass=.\r\n" in await until(socket, "yes-42 pass=.")
            resized = await face.http.put(f"/pty/{name}", json={"title": "new", "size": {"rows": 7, "cols": 33}})
            await socket.send("stty size\n")
            await until(socket, "7 33")
            async with joined(face, name) as second:
                assert "yes-42" in await until(second, "7 33")
            await socket.send("exit 3\n")
            with pytest.raises(ConnectionClosed):
                await until(socket, "nothing like this")
        seen = await events.until("pty.exited")
        assert resized.json()["title"] == "new"
        assert (await face.http.get(f"/pty/{name}")).json()["status"] == "exited"
        assert (await face.http.delete(f"/pty/{name}")).json() is True
        seen = await events.until("pty.deleted")
    kinds = [one["type"] for one in seen if one["type"].startswith("pty.")]
    assert kinds == ["pty.created", "pty.updated", "pty.exited", "pty.deleted"]
    assert next(one for one in seen if one["type"] == "pty.exited")["properties"] == {"id": name, "exitCode": 3}
    assert (await face.http.get(f"/pty/{name}")).status_code == 404


@pytest.mark.slow
async def test_removing_a_terminal_ends_all_that_it_started(face: HttpFace) -> None:
    made = await start(face, command="/bin/bash", args=["-i"])
    async with joined(face, made["id"]) as socket:
        await socket.send("trap '' HUP; sleep 4301 & sleep 4301 & echo on-$((1+1))\n")
        await until(socket, "on-2")
        children = [one for one in psutil.Process(made["pid"]).children(recursive=True) if one.is_running()]
        assert len(children) >= 2
        await face.http.delete(f"/pty/{made['id']}")
    _, alive = psutil.wait_procs(children, timeout=PATIENCE_S)
    assert (alive, psutil.pid_exists(made["pid"])) == ([], False)


async def test_removing_a_terminal_ends_what_its_program_starts_when_it_is_hung_up(face: HttpFace) -> None:
    script = "trap 'nohup sleep 4304 & exit' HUP; echo on; while :; do sleep 0.02; done"
    made = await start(face, command="/bin/sh", args=["-c", script])
    async with joined(face, made["id"]) as socket:
        await until(socket, "on")
    assert (await face.http.delete(f"/pty/{made['id']}")).json() is True
    await wait_for(lambda: not [one.pid for one in psutil.process_iter() if "4304" in _words(one)])


def _words(process: psutil.Process) -> list[str]:
    with suppress(psutil.Error):
        return process.cmdline() if process.status() != psutil.STATUS_ZOMBIE else []
    return []


@pytest.mark.slow
async def test_a_program_that_cannot_be_killed_is_hung_up(face: HttpFace, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(process: psutil.Process, _: int) -> None:
        raise psutil.AccessDenied(process.pid)

    made = await start(face, command="/bin/sh", args=["-c", "trap '' HUP; echo on; sleep 4302; sleep 4302"])
    try:
        async with joined(face, made["id"]) as socket:
            await until(socket, "on")
            monkeypatch.setattr(psutil.Process, "send_signal", refuse)  # as for a program of another user
            async with asyncio.timeout(PATIENCE_S):
                assert (await face.http.delete(f"/pty/{made['id']}")).json() is True
                with pytest.raises(ConnectionClosed):
                    await until(socket, "nothing like this")
        assert psutil.pid_exists(made["pid"])
    finally:
        os.killpg(made["pid"], signal.SIGKILL)


@pytest.mark.slow
async def test_a_page_that_closes_takes_back_what_the_program_did_not_read(face: HttpFace, tmp_path: Path) -> None:
    go = tmp_path / "go"
    count = 'while read -r line; do n=$((n+1)); [ "$line" = END ] && break; done; echo got-$n.'
    script = f"stty -echo; echo on; until test -e {go}; do sleep 0.02; done; {count}; sleep 4303"
    made = await start(face, command="/bin/sh", args=["-c", script])
    async with joined(face, made["id"]) as socket:
        await until(socket, "on")
        await socket.send("x\n" * 50_000)
    go.touch()
    async with joined(face, made["id"]) as socket:
        await socket.send("END\n")
        seen = await until(socket, ".")
    assert 0 < int(seen.rpartition("got-")[2].partition(".")[0]) < 50_000


async def test_only_the_password_from_an_allowed_origin_connects(face: HttpFace) -> None:
    made = await start(face, command="/bin/cat")
    for more, status in (({"password": "wrong"}, 401), ({"origin": "https://evil.example"}, 403)):
        with pytest.raises(InvalidStatus) as refused:
            async with joined(face, made["id"], **more):
                pass
        assert refused.value.response.status_code == status
    bare = face.address.url.replace("http://", "ws://")
    with pytest.raises(InvalidStatus) as refused:
        async with connect(f"{bare}/pty/{made['id']}/connect", proxy=None):
            pass
    assert refused.value.response.status_code == 401
    async with joined(face, made["id"], origin="http://localhost:3000") as socket:
        await socket.send("hello\n")
        await until(socket, "hello")


@pytest.mark.fast_cases("more2")
@pytest.mark.parametrize(
    "more",
    [
        {"origin": "null"},
        {"origin": "http://127.0.0.1.evil.example"},
        {"origin": "http://localhost@evil.example"},
    ],
)
async def test_a_foreign_origin_opens_no_socket_with_the_right_password(face: HttpFace, more: dict[str, Any]) -> None:
    made = await start(face, command="/bin/cat")
    with pytest.raises(InvalidStatus) as refused:
        async with joined(face, made["id"], **more):
            pass
    assert refused.value.response.status_code == 403


@pytest.mark.parametrize("name", ["evil.example", "127.0.0.1.evil.example"])
async def test_a_name_that_was_bound_again_opens_no_socket_with_the_right_password(face: HttpFace, name: str) -> None:
    made = await start(face, command="/bin/cat")
    port = int(face.address.url.rpartition(":")[2].strip("/"))
    address = f"ws://opencode:{PASSWORD}@{name}:{port}/pty/{made['id']}/connect"
    with pytest.raises(InvalidStatus) as refused:
        async with connect(address, proxy=None, host="127.0.0.1", port=port):
            pass
    assert refused.value.response.status_code == 403


async def test_without_the_setting_there_are_no_terminals(serve) -> None:
    async with serve() as face:
        created = await face.http.post("/pty", json={})
        with pytest.raises(InvalidStatus) as refused:
            async with joined(face, "pty_1"):
                pass
    assert (created.status_code, refused.value.response.status_code) == (403, 403)
    assert "set server.pty to true" in created.text


async def test_what_cannot_be_started_or_is_unknown_is_an_error(face: HttpFace) -> None:
    nowhere = await face.http.post("/pty", content=b'{"cwd": "no such folder"}')  # without a content type
    plain = await face.http.get(f"/pty/{(await start(face, command='/bin/cat'))['id']}/connect")
    assert (nowhere.status_code, (await face.http.get("/pty/pty_1")).status_code, plain.status_code) == (400, 404, 426)
