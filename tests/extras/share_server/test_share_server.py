"""The share server over real sockets: its protocol, its pages, its limits, and what it keeps on the disk."""

import asyncio
import json
import os
import re
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from opencode_tui.extras.share_server import app as share_app
from opencode_tui.extras.share_server.app import serving_shares
from opencode_tui.extras.share_server.store import Limits, ShareStore, read_changes
from opencode_tui.server.address import Listening
from opencode_tui.server.serving import open_socket
from tests.support.browser.chromium import ABSENT, PROGRAM, Chromium
from tests.support.hostile.markup import hostile_markup
from tests.support.sessions.records import assistant, call, session_info, text, user
from tests.support.world.waiting import PATIENCE_S


@asynccontextmanager
async def sharing(folder: Path, limits: Limits = Limits()) -> AsyncGenerator[httpx.AsyncClient]:  # noqa: B008 - frozen
    listening = Listening("127.0.0.1", 0)
    store = ShareStore(folder / "shares", limits)
    async with (
        serving_shares(store, open_socket(listening), listening=listening) as address,
        httpx.AsyncClient(base_url=address.url, verify=False, trust_env=False, timeout=PATIENCE_S) as http,
    ):
        yield http


async def create(http: httpx.AsyncClient) -> dict[str, Any]:
    return (await http.post("/api/share", json={"sessionID": "ses_1"})).json()


async def sync(http: httpx.AsyncClient, share: dict[str, Any], *items: dict[str, Any]) -> httpx.Response:
    return await http.post(f"/api/share/{share['id']}/sync", json={"secret": share["secret"], "data": items})


def items_of(*messages, **fields) -> list[dict[str, Any]]:
    items: list[dict[str, Any]] = [{"type": "session", "data": session_info(**fields).to_dict()}]
    items += [{"type": "message", "data": message.info.to_dict()} for message in messages]
    return items + [{"type": "part", "data": part.to_dict()} for message in messages for part in message.parts]


async def test_what_is_synchronized_is_the_data_and_the_page(tmp_path: Path):
    request, diff = user("Make it so"), {"type": "session_diff", "data": [{"file": "a", "before": "", "after": "x"}]}
    async with sharing(tmp_path) as http:
        share = await create(http)
        assert re.fullmatch(r"http://127\.0\.0\.1:\d+/share/[a-zA-Z0-9_-]+", share["url"])
        assert (
            await sync(http, share, *items_of(request, title="Engage"), diff, {"type": "model", "data": [{"a": 1}]})
        ).json() == {}
        assert (await sync(http, share, {"type": "from the future", "data": 1})).status_code == 200
        data = (await http.get(f"/api/share/{share['id']}/data")).json()
        assert [item["type"] for item in data] == ["session", "message", "part", "session_diff", "model"]
        assert data[2]["data"] == request.parts[0].to_dict()
        page = await http.get(f"/share/{share['id']}")
        assert "Make it so" in page.text and "<title>Engage</title>" in page.text
        nonce = re.search(r"script-src 'nonce-([\w-]+)'", page.headers["content-security-policy"])
        assert nonce is not None and f'<script nonce="{nonce[1]}"' in page.text
        assert page.headers["referrer-policy"] == "no-referrer" and page.headers["x-robots-tag"].startswith("noindex")


async def test_a_later_item_replaces_the_one_with_its_id_and_a_removed_one_is_gone(tmp_path: Path):
    request, answer = user("one", "two"), assistant("three")
    async with sharing(tmp_path) as http:
        share = await create(http)
        assert share["removed"] is True
        await sync(http, share, *items_of(request, answer))
        changed = request.parts[0].changed(text="uno")
        gone = {"messageID": request.info.id, "partID": request.parts[1].id}
        await sync(http, share, {"type": "part", "data": changed.to_dict()}, {"type": "removed", "data": gone})
        await sync(http, share, {"type": "removed", "data": {"messageID": answer.info.id}})
        data = (await http.get(f"/api/share/{share['id']}/data")).json()
        assert [item["data"].get("text") for item in data if item["type"] == "part"] == ["uno"]
        assert [item["data"]["id"] for item in data if item["type"] == "message"] == [request.info.id]


async def test_only_the_secret_changes_a_share(tmp_path: Path):
    async with sharing(tmp_path) as http:
        share = await create(http)
        await sync(http, share, *items_of(user("kept")))
        wrong = {**share, "secret": "x"}
        assert (await sync(http, wrong, *items_of(user("evil")))).status_code == 403
        assert (await sync(http, {**share, "secret": None}, *items_of(user("evil")))).status_code == 403
        assert (await http.request("DELETE", f"/api/share/{share['id']}", json=wrong)).status_code == 403
        assert "kept" in (await http.get(f"/share/{share['id']}")).text
        assert share["secret"] not in (await http.get(f"/api/share/{share['id']}/data")).text
        stored = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
        assert share["secret"].encode() not in stored
        assert (await http.request("DELETE", f"/api/share/{share['id']}", json=share)).status_code == 200
        assert (await http.get(f"/share/{share['id']}")).status_code == 404
        assert [path for path in (tmp_path / "shares").rglob("*") if path.is_file()] == []


async def test_nothing_lists_shares_and_unknown_ones_are_not_found(tmp_path: Path):
    async with sharing(tmp_path) as http:
        share = await create(http)
        for path in ("/", "/share", "/share/", "/api/share", "/api/share/", "/data"):
            answer = await http.get(path)
            assert share["id"] not in answer.text
        for name in ("x", "..%2f..%2fetc", "a" * 64, share["id"][:-1], share["id"] + "a"):
            assert (await http.get(f"/share/{name}")).status_code == 404
            assert (await http.get(f"/api/share/{name}/data")).status_code == 404


@pytest.mark.fast_cases("secret=1-application/x-www-form-urlen..-415", "__-application/json-400")
@pytest.mark.parametrize(
    ("body", "kind", "status"),
    [
        (b"{}", "text/plain", 415),
        (b"secret=1", "application/x-www-form-urlencoded", 415),
        (b"{", "application/json", 400),
        (b"[" * 100_000, "application/json", 400),
        (b"[]", "application/json", 400),
        (b'{"sessionID": 3}', "application/json", 400),
        (b'{"sessionID": "../x"}', "application/json", 400),
    ],
)
async def test_a_request_that_is_none_is_refused(tmp_path: Path, body: bytes, kind: str, status: int):
    async with sharing(tmp_path) as http:
        assert (await http.post("/api/share", content=body, headers={"content-type": kind})).status_code == status


async def test_items_with_wrong_data_are_refused_as_a_whole(tmp_path: Path):
    good = items_of(user("fine"))
    async with sharing(tmp_path) as http:
        share = await create(http)
        for kind, data in [
            ("message", {"id": "../../x"}),
            ("message", {"id": 3}),
            ("part", {"id": "prt_1"}),
            ("part", {"id": "prt_1", "messageID": "a/b"}),
            ("session", []),
            ("model", {}),
            ("removed", {}),
        ]:
            answer = await sync(http, share, *good, {"type": kind, "data": data})
            assert (answer.status_code, kind) == (400, kind)
        assert (await sync(http, share, 3)).status_code == 400  # pyright: ignore[reportArgumentType] - hostile
        assert (await http.get(f"/api/share/{share['id']}/data")).json() == []


async def test_a_share_has_a_size_and_a_server_too(tmp_path: Path):
    async with sharing(tmp_path, Limits(share=20_000, total=30_000)) as http:
        share, other = await create(http), await create(http)
        assert (await sync(http, share, *items_of(user("x" * 15_000)))).status_code == 200
        assert (await sync(http, share, *items_of(user("x" * 15_000)))).status_code == 413
        assert (await sync(http, other, *items_of(user("x" * 16_000)))).status_code == 200
        assert (await http.post("/api/share", json={"sessionID": "ses_2"})).status_code == 507
        await http.request("DELETE", f"/api/share/{other['id']}", json=other)
        assert (await http.post("/api/share", json={"sessionID": "ses_2"})).status_code == 200


async def test_too_many_requests_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(share_app.RATES, "create", (3, 60.0))
    async with sharing(tmp_path) as http:
        codes = [(await http.post("/api/share", json={"sessionID": "ses_1"})).status_code for _ in range(5)]
        assert codes == [200, 200, 200, 429, 429]


async def test_a_body_that_is_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(share_app, "BODY_LIMIT", 10_000)
    async with sharing(tmp_path) as http:
        share = await create(http)
        assert (await sync(http, share, *items_of(user("x" * 20_000)))).status_code == 413


async def test_shares_survive_a_restart_and_a_line_that_was_cut_short(tmp_path: Path):
    request = user("first", "second")
    async with sharing(tmp_path) as http:
        share = await create(http)
        await sync(http, share, *items_of(request))
    path = next((tmp_path / "shares").rglob("items.jsonl"))
    whole = path.read_bytes()
    path.write_bytes(whole + b'{"key":"part/msg_x/prt_x","type":"part","da')
    async with sharing(tmp_path) as http:
        assert len((await http.get(f"/api/share/{share['id']}/data")).json()) == 4
        await sync(http, share, {"type": "part", "data": request.parts[0].changed(text="new").to_dict()})
    async with sharing(tmp_path) as http:
        data = (await http.get(f"/api/share/{share['id']}/data")).json()
        assert [item["data"]["text"] for item in data if item["type"] == "part"] == ["new", "second"]


@pytest.mark.slow
def test_cut_at_any_byte_a_share_has_what_was_acknowledged_before(tmp_path: Path):
    store = ShareStore(tmp_path, Limits())
    share_id, _ = store.create("ses_1")
    ends: list[int] = []
    path = next(tmp_path.rglob("items.jsonl"))
    for number in range(5):
        part = text(f"text {number}").to_dict()
        store.apply(store.get(share_id), read_changes([{"type": "part", "data": part}]))
        ends.append(path.stat().st_size)
    whole = path.read_bytes()
    for end in range(len(whole) + 1):
        path.write_bytes(whole[:end])
        assert len(ShareStore(tmp_path, Limits()).get(share_id).items) == sum(one <= end for one in ends)


def test_the_file_of_a_share_stays_small_while_a_text_grows(tmp_path: Path):
    store = ShareStore(tmp_path, Limits())
    share_id, _ = store.create("ses_1")
    part = text("x")
    for size in range(0, 400_000, 10_000):
        store.apply(
            store.get(share_id), read_changes([{"type": "part", "data": part.changed(text="y" * size).to_dict()}])
        )
    path = next(tmp_path.rglob("items.jsonl"))
    assert path.stat().st_size < 2 * 400_000 + 1_100_000
    assert len(ShareStore(tmp_path, Limits()).get(share_id).items[f"part/{part.message_id}/{part.id}"].data) > 390_000


async def test_a_share_expires_after_its_last_change(tmp_path: Path):
    import os
    import time

    async with sharing(tmp_path, Limits(ttl_s=60)) as http:
        share = await create(http)
        await sync(http, share, *items_of(user("x")))
        assert (await http.get(f"/share/{share['id']}")).status_code == 200
    for path in (tmp_path / "shares").rglob("*.*"):
        os.utime(path, (time.time() - 120, time.time() - 120))
    async with sharing(tmp_path, Limits(ttl_s=60)) as http:
        assert (await http.get(f"/share/{share['id']}")).status_code == 404
    assert [path for path in (tmp_path / "shares").rglob("*") if path.is_file()] == []


def test_files_that_were_in_the_folder_before_are_left_alone(tmp_path: Path):
    names = ["pr/project-of-some-kind/a.py", "docs/2020/letter.txt", "xy/short/z", "AB/AB0123456789abcdef0123/share"]
    for name in names:
        (tmp_path / name).parent.mkdir(parents=True)
        (tmp_path / name).write_text("mine")
        os.utime((tmp_path / name).parent, (0, 0))
        os.utime(tmp_path / name, (0, 0))
    store = ShareStore(tmp_path, Limits(ttl_s=1))
    assert store.sweep() == []
    assert [(tmp_path / name).read_text() for name in names] == ["mine"] * len(names)


async def _events(http: httpx.AsyncClient, address: str, count: int, begun: asyncio.Event) -> list[tuple[str, Any]]:
    seen: list[tuple[str, Any]] = []
    async with http.stream("GET", address, timeout=PATIENCE_S) as answer:
        assert answer.headers["content-type"].startswith("text/event-stream")
        name = ""
        async for line in answer.aiter_lines():
            begun.set()
            if line.startswith("event: "):
                name = line.removeprefix("event: ")
            elif line.startswith("data: "):
                seen.append((name, json.loads(line.removeprefix("data: "))))
                if len(seen) == count:
                    break
    return seen


async def test_an_open_page_gets_changed_messages_the_title_and_the_end(tmp_path: Path):
    request = user("before")
    async with sharing(tmp_path) as http:
        share = await create(http)
        await sync(http, share, *items_of(request))
        page = (await http.get(f"/share/{share['id']}")).text
        found = re.search(r'data-events="([^"]+)"', page)
        assert found is not None
        begun = asyncio.Event()
        reading = asyncio.create_task(_events(http, found[1], 5, begun))
        await begun.wait()
        part = request.parts[0]
        await sync(http, share, {"type": "part", "data": part.changed(text="after <b>").to_dict()})
        await sync(http, share, {"type": "session", "data": session_info(title="Renamed").to_dict()})
        await sync(http, share, {"type": "removed", "data": {"messageID": request.info.id}})
        await http.request("DELETE", f"/api/share/{share['id']}", json=share)
        seen = await asyncio.wait_for(reading, PATIENCE_S)
        at = f"m-{request.info.id}"
        assert [name for name, _ in seen] == ["message", "head", "message", "head", "end"]
        assert seen[0][1][0]["at"] == at and "after &lt;b&gt;" in seen[0][1][0]["html"]
        assert "Renamed" in seen[1][1]["html"]
        assert seen[2][1] == [{"at": at, "gone": True}]


async def test_a_page_that_was_away_gets_what_it_missed(tmp_path: Path):
    request, answer = user("old"), assistant("new")
    async with sharing(tmp_path) as http:
        share = await create(http)
        await sync(http, share, *items_of(request))
        found = re.search(r'data-events="([^"]+)"', (await http.get(f"/share/{share['id']}")).text)
        assert found is not None
        await sync(http, share, *items_of(answer)[1:])
        seen = await _events(http, found[1], 1, asyncio.Event())
        assert [one["at"] for one in seen[0][1]] == [f"m-{answer.info.id}"]


@pytest.mark.skipif(PROGRAM is None, reason=ABSENT)
async def test_a_browser_follows_a_hostile_share_without_a_request_elsewhere(tmp_path: Path):
    attacks = hostile_markup(60)
    messages = [
        user(bad, call("1", "bash", given={"command": bad}, output=bad, title=bad), bad, agent=bad) for bad in attacks
    ]
    async with sharing(tmp_path) as http:
        share = await create(http)
        await sync(http, share, *items_of(*messages[:30], title=attacks[0]))

        def open_page() -> tuple[Chromium, Any]:
            browser = Chromium(tmp_path)
            return browser, browser.open(share["url"])

        browser, page = await asyncio.to_thread(open_page)
        with browser:
            await asyncio.to_thread(
                page.wait, lambda: page.value("document.getElementById('live').textContent") == "Live"
            )
            await sync(http, share, *items_of(*messages[30:], title="<img src=x onerror=alert(1)>"))
            await asyncio.to_thread(page.wait, lambda: page.value("document.querySelectorAll('section').length") == 60)
            await asyncio.to_thread(page.wait, lambda: "<img" in page.value("document.querySelector('h1').textContent"))
            counts = await asyncio.to_thread(
                page.value,
                "['script','iframe','object','img','form','link'].map(n => document.querySelectorAll(n).length)",
            )
            assert counts == [1, 0, 0, 0, 0, 0]
            assert page.reports == []
            elsewhere = [one for one in page.requests if not one.startswith(share["url"])]
            assert elsewhere == [] and len(page.requests) == 2
