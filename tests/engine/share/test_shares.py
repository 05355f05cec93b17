"""Sharing through a real share server: what it gets and what it never gets, and what happens while it is away."""

import asyncio
import json
import threading
from pathlib import Path

import pytest

from opencode_tui.bus.bus import QUEUE_BOUND
from opencode_tui.engine.share import shares as shares_module
from opencode_tui.schema.api.request import CreateSession, UpdateSession
from opencode_tui.schema.error import OpencodeError, SessionError
from opencode_tui.schema.event.event import PartGrowth, SessionUpdated
from opencode_tui.schema.event.screen_event import ScreenToastShown
from tests.redaction.test_detectors import SECRETS
from tests.support.browser.chromium import ABSENT, PROGRAM, Chromium
from tests.support.provider.model_script import Answer
from tests.support.sessions.records import assistant, session_info, user, write_records
from tests.support.share.server import recorded_server
from tests.support.world.engine import opened, react
from tests.support.world.waiting import PATIENCE_S


def _settings(url: str, **more) -> dict:
    return {"enterprise": {"url": url}, **more}


def _texts(data) -> list[str]:
    return [item["data"]["text"] for item in data if item["type"] == "part" and item["data"]["type"] == "text"]


@pytest.mark.slow
async def test_a_shared_session_is_sent_whole_and_kept_up_to_date(environ, tmp_path: Path):
    async with (
        recorded_server(tmp_path) as server,
        opened(
            environ, tmp_path, Answer(text="first answer"), Answer(text="second answer"), settings=_settings(server.url)
        ) as world,
    ):
        session = await world.prompt("first prompt")
        shared = await world.client.sharing.share(session.id)
        assert shared.share is not None and shared.to_dict()["share"] == {"url": shared.share.url}
        data = await server.data(shared.share.url)
        assert _texts(data) == ["first prompt", "first answer"]
        assert [item["type"] for item in data][-2:] == ["session_diff", "model"]
        await world.prompt("second prompt", session=session)
        data = await server.until(shared.share.url, "second answer")
        await world.client.sessions.update(session.id, UpdateSession(title="Renamed"))
        data = await server.until(shared.share.url, "Renamed")
        assert _texts(data) == ["first prompt", "first answer", "second prompt", "second answer"]
        again = await world.client.sharing.share(session.id)
        assert again.share == shared.share


@pytest.mark.slow
async def test_the_secret_is_in_the_share_record_only(environ, tmp_path: Path):
    async with (
        recorded_server(tmp_path) as server,
        opened(environ, tmp_path, Answer(text="x"), settings=_settings(server.url)) as world,
    ):
        with world.client.events() as events:
            session = await world.prompt("hello")
            await world.client.sharing.share(session.id)
            seen = []
            while (envelope := events.poll()) is not None:
                seen.append(envelope.event)
        updates = [event for event in seen if isinstance(event, SessionUpdated) and event.info.share]
        assert updates and all(event.info.to_dict()["share"].keys() == {"url"} for event in updates)
        data = Path(environ["XDG_DATA_HOME"]) / "opencode-tui"
        record = data / "storage" / "share" / f"{session.id}.json"
        secret = json.loads(record.read_text())["secret"]
        assert record.stat().st_mode & 0o777 == 0o600
        holding = [path for path in data.rglob("*") if path.is_file() and secret.encode() in path.read_bytes()]
        assert holding == [record]


async def test_unshare_removes_the_session_from_the_server(environ, tmp_path: Path):
    async with (
        recorded_server(tmp_path) as server,
        opened(environ, tmp_path, Answer(text="x"), settings=_settings(server.url)) as world,
    ):
        session = await world.prompt("hello")
        shared = await world.client.sharing.share(session.id)
        assert shared.share is not None
        assert (await world.client.sharing.unshare(session.id)).share is None
        assert await server.data(shared.share.url) == []
        assert (await world.client.sharing.unshare(session.id)).share is None
        assert not (
            Path(environ["XDG_DATA_HOME"]) / "opencode-tui" / "storage" / "share" / f"{session.id}.json"
        ).exists()


@pytest.mark.slow
async def test_unshare_without_the_server_says_so_sends_nothing_more_and_can_be_repeated(environ, tmp_path: Path):
    async with (
        recorded_server(tmp_path) as server,
        opened(environ, tmp_path, Answer(text="x"), Answer(text="later"), settings=_settings(server.url)) as world,
    ):
        session = await world.prompt("hello")
        shared = await world.client.sharing.share(session.id)
        assert shared.share is not None
        await server.cut()
        with pytest.raises(SessionError, match=r"cannot be reached.*still shows the session: unshare it again later"):
            await world.client.sharing.unshare(session.id)
        assert (await world.client.sessions.get(session.id)).share is not None
        server.is_up = True
        sent = len(server.sent)
        await world.prompt("not for them", session=session)
        await asyncio.sleep(1.3)
        assert len(server.sent) == sent
        assert (await world.client.sharing.unshare(session.id)).share is None
        assert await server.data(shared.share.url) == []


@pytest.mark.slow
async def test_changes_while_the_server_is_away_are_sent_when_it_is_back(environ, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(shares_module, "GATHER_S", 0.05)
    async with (
        recorded_server(tmp_path) as server,
        opened(environ, tmp_path, Answer(text="one"), Answer(text="two"), settings=_settings(server.url)) as world,
    ):
        session = await world.prompt("hello")
        shared = await world.client.sharing.share(session.id)
        assert shared.share is not None
        await server.cut()
        before = server.attempts
        await world.prompt("while away", session=session)
        async with asyncio.timeout(PATIENCE_S):
            while server.attempts < before + 3:
                await asyncio.sleep(0.02)
        server.is_up = True
        data = await server.until(shared.share.url, "two")
        assert _texts(data) == ["hello", "one", "while away", "two"]


@pytest.mark.slow
async def test_what_was_not_sent_before_the_end_is_sent_by_the_next_process(environ, tmp_path: Path):
    async with recorded_server(tmp_path) as server:
        async with opened(
            environ, tmp_path, Answer(text="one"), Answer(text="two"), settings=_settings(server.url)
        ) as world:
            session = await world.prompt("hello")
            shared = await world.client.sharing.share(session.id)
            assert shared.share is not None
            await server.cut()
            await world.prompt("while away", session=session)
        assert _texts(await server.data(shared.share.url)) == ["hello", "one"]
        server.is_up = True
        async with opened(environ, tmp_path, settings=_settings(server.url)):
            await server.until(shared.share.url, "two")
        async with opened(environ, tmp_path, settings=_settings(server.url)) as world:
            sent = len(server.sent)
            await world.client.sessions.list()
        assert len(server.sent) == sent


async def test_the_last_changes_are_sent_at_the_end(environ, tmp_path: Path):
    async with recorded_server(tmp_path) as server:
        async with opened(environ, tmp_path, Answer(text="the end"), settings=_settings(server.url)) as world:
            session = await world.new_session()
            shared = await world.client.sharing.share(session.id)
            await world.prompt("hello", session=session)
        assert shared.share is not None
        assert _texts(await server.data(shared.share.url)) == ["hello", "the end"]


@pytest.mark.slow
async def test_new_sessions_are_shared_with_the_setting_auto_but_not_those_of_agents(environ, tmp_path: Path):
    async with recorded_server(tmp_path) as server:
        async with opened(
            environ, tmp_path, Answer(text="auto"), settings=_settings(server.url, share="auto")
        ) as world:
            session = await world.prompt("hello")
            child = await world.client.sessions.create(CreateSession(parent_id=session.id))
        async with opened(environ, tmp_path, settings=_settings(server.url)) as world:
            info = await world.client.sessions.get(session.id)
            assert info.share is not None and _texts(await server.data(info.share.url)) == ["hello", "auto"]
            assert (await world.client.sessions.get(child.id)).share is None


async def test_without_a_server_or_when_disabled_sharing_explains_why(environ, tmp_path: Path):
    async with opened(environ, tmp_path) as world:
        session = await world.new_session()
        with pytest.raises(SessionError, match=r"no share server is set; set enterprise.url .*export --html FILE"):
            await world.client.sharing.share(session.id)
        assert (await world.client.sharing.status()).server is None
    for settings, variables in (
        (_settings("http://127.0.0.1:9", share="disabled"), {}),
        (_settings("http://127.0.0.1:9", share="auto"), {"OPENCODE_DISABLE_SHARE": "1"}),
    ):
        async with opened({**environ, **variables}, tmp_path, settings=settings) as world:
            session = await world.new_session()
            with pytest.raises(SessionError, match="sharing is disabled"):
                await world.client.sharing.share(session.id)
            assert "disabled" in ((await world.client.sharing.status()).obstacle or "")


async def test_a_server_that_cannot_be_reached_is_named_and_nothing_is_stored(environ, tmp_path: Path):
    async with opened(environ, tmp_path, settings=_settings("http://127.0.0.1:9")) as world:
        session = await world.new_session()
        with pytest.raises(OpencodeError, match=r"the share server 127\.0\.0\.1:9 cannot be reached"):
            await world.client.sharing.share(session.id)
        assert (await world.client.sessions.get(session.id)).share is None
        assert not (await world.client.sharing.status()).is_known


async def test_the_first_share_makes_the_server_known(environ, tmp_path: Path):
    async with (
        recorded_server(tmp_path) as server,
        opened(environ, tmp_path, settings=_settings(server.url)) as world,
    ):
        status = await world.client.sharing.status()
        assert (status.server, status.obstacle, status.is_known) == (server.url, None, False)
        await world.client.sharing.share((await world.new_session()).id)
        assert (await world.client.sharing.status()).is_known


@pytest.mark.slow
async def test_nothing_that_redaction_removes_reaches_the_server(environ, tmp_path: Path):
    home = environ["HOME"]
    secrets = [secret for _, secret in SECRETS.values()]
    script = "\n".join(text for text, _ in SECRETS.values())
    environ = {**environ, "USER": "ada-l", "MY_API_KEY": "value-of-a-known-key-7"}
    async with (
        recorded_server(tmp_path) as server,
        opened(
            environ,
            tmp_path,
            Answer(text=f"{script}\nof ada-l in {home}/x"),
            Answer(text="ok"),
            settings=_settings(server.url),
        ) as world,
    ):
        session = await world.new_session()
        shared = await world.client.sharing.share(session.id)
        assert shared.share is not None
        await world.prompt(f"{script}\nin {home}/x by ada-l", session=session)
        await world.client.sessions.update(session.id, UpdateSession(title=f"{home} {SECRETS['github app'][0]}"))
        await world.prompt("value-of-a-known-key-7", session=session)
        await server.until(shared.share.url, '"ok"')
        await world.client.sharing.share(session.id)
        sent = server.sent.decode()
        assert len(sent) > 10_000
        assert [secret for secret in secrets if secret in sent or json.dumps(secret)[1:-1] in sent] == []
        assert home not in sent and "ada-l" not in sent and "value-of-a-known-key-7" not in sent


@pytest.mark.slow
async def test_changed_instructions_stay_here_like_the_system_text(environ, tmp_path: Path):
    (tmp_path / "AGENTS.md").write_text("Say please.\n")
    async with (
        recorded_server(tmp_path) as server,
        opened(environ, tmp_path, *[Answer(text="ok")] * 2, settings=_settings(server.url)) as world,
    ):
        session = await world.prompt("go")
        shared = await world.client.sharing.share(session.id)
        assert shared.share is not None
        (tmp_path / "AGENTS.md").write_text("Say the private word.\n")
        await world.prompt("the last prompt", session=session)
        assert "private word" in world.sent()
        await server.until(shared.share.url, "the last prompt")
        await world.client.sharing.share(session.id)
        assert b"private word" not in server.sent and b"the last prompt" in server.sent


@pytest.mark.slow
async def test_a_growing_text_is_sent_by_lines_while_the_turn_runs(environ, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(shares_module, "GATHER_S", 0.05)
    secret = "glpat-" + "q7Zr2Vx9Kd4Tn8Bs6Wm1"
    text = "a first line that is complete\n" + f"the key is {secret} and\n" * 20 + "end"
    async with (
        recorded_server(tmp_path) as server,
        opened(
            environ, tmp_path, Answer(text=text, delta_size=4, delay_ms=15), settings=_settings(server.url)
        ) as world,
    ):
        session = await world.new_session()
        shared = await world.client.sharing.share(session.id)
        assert shared.share is not None
        url = shared.share.url
        growing = asyncio.create_task(react(world, PartGrowth, lambda _: server.until(url, "a first line")))
        await asyncio.sleep(0)
        turn = asyncio.create_task(world.prompt("hello", session=session))
        await growing
        assert not turn.done()
        await turn
        await server.until(url, "end")
        sent = server.sent.decode()
        pieces = [secret[:size] for size in range(9, len(secret) + 1)]
        assert [piece for piece in pieces if piece in sent] == []


@pytest.mark.skipif(PROGRAM is None, reason=ABSENT)
async def test_an_open_page_shows_a_turn_while_it_runs(environ, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(shares_module, "GATHER_S", 0.05)
    gate = threading.Event()
    text = "The first line.\n\nThe second **line**.\n\nlast words"
    async with (
        recorded_server(tmp_path) as server,
        opened(environ, tmp_path, Answer(text=text, holds=(("last", gate),)), settings=_settings(server.url)) as world,
    ):
        session = await world.new_session()
        shared = await world.client.sharing.share(session.id)
        assert shared.share is not None
        url = shared.share.url

        def open_page():
            browser = Chromium(tmp_path)
            page = browser.open(url)
            page.wait(lambda: page.value("document.getElementById('live').textContent") == "Live")
            return browser, page

        browser, page = await asyncio.to_thread(open_page)
        with browser:
            turn = asyncio.create_task(world.prompt("Write three lines", session=session))
            words = "document.getElementById('log').textContent"
            await asyncio.to_thread(page.wait, lambda: "The second line." in page.value(words))
            assert not turn.done() and "last words" not in await asyncio.to_thread(page.value, words)
            gate.set()
            await turn
            await asyncio.to_thread(page.wait, lambda: "last words" in page.value(words))
            assert await asyncio.to_thread(page.value, "document.querySelectorAll('strong').length") == 1
            assert page.reports == [] and [one for one in page.requests if not one.startswith(url)] == []
            await world.client.sharing.unshare(session.id)
            ended = "document.getElementById('live').textContent"
            await asyncio.to_thread(page.wait, lambda: page.value(ended) == "No longer shared")


@pytest.mark.slow
async def test_four_thousand_parts_are_sent_in_few_requests_while_the_loop_goes_on(environ, tmp_path: Path, paths):
    messages = []
    for number in range(200):
        request = user(f"prompt {number}")
        messages += [request, assistant(*(f"part {number} {at} " + "word " * 20 for at in range(19)), parent=request)]
    info = session_info("ses_e0480000ffffAAAAAAAAAAAAAA", directory=str(tmp_path))
    messages = [
        one.changed(
            info=one.info.changed(session_id=info.id), parts=[part.changed(session_id=info.id) for part in one.parts]
        )
        for one in messages
    ]
    write_records(paths, info, messages)
    async with (
        recorded_server(tmp_path) as server,
        opened(environ, tmp_path, Answer(text="x"), settings=_settings(server.url)) as world,
    ):
        ticks = 0

        async def tick() -> None:
            nonlocal ticks
            while True:
                await asyncio.sleep(0.005)
                ticks += 1

        await world.client.messages.list(info.id)
        ticking = asyncio.create_task(tick())
        shared = await world.client.sharing.share(info.id)
        ticking.cancel()
        assert shared.share is not None
        assert len([one for one in await server.data(shared.share.url) if one["type"] == "part"]) == 4_000
        assert server.sent.count(b"POST /api/share/") <= 5
        assert ticks > 10


@pytest.mark.slow
async def test_a_share_that_the_server_lost_is_cleared(environ, tmp_path: Path, monkeypatch):
    monkeypatch.setattr(shares_module, "GATHER_S", 0.05)
    async with (
        recorded_server(tmp_path) as server,
        opened(environ, tmp_path, Answer(text="x"), settings=_settings(server.url)) as world,
    ):
        session = await world.new_session()
        await world.client.sharing.share(session.id)
        for path in (tmp_path / "share-server").rglob("*.*"):
            path.unlink()
        async with recorded_server(tmp_path / "other") as other:
            server.target = other.target
            for writer in tuple(server.open):
                writer.close()
            await world.prompt("hello", session=session)
            async with asyncio.timeout(PATIENCE_S):
                while (await world.client.sessions.get(session.id)).share is not None:
                    await asyncio.sleep(0.05)


async def test_a_deleted_session_is_removed_from_the_server(environ, tmp_path: Path):
    async with (
        recorded_server(tmp_path) as server,
        opened(environ, tmp_path, settings=_settings(server.url)) as world,
    ):
        session = await world.new_session()
        shared = await world.client.sharing.share(session.id)
        assert shared.share is not None and await server.data(shared.share.url)
        await world.client.sessions.remove(session.id)
        async with asyncio.timeout(PATIENCE_S):
            while await server.data(shared.share.url):
                await asyncio.sleep(0.05)


@pytest.mark.slow
async def test_after_lost_events_the_other_sessions_are_sent_though_one_was_deleted(
    environ, tmp_path: Path, monkeypatch
):
    monkeypatch.setattr(shares_module, "GATHER_S", 0.05)
    async with (
        recorded_server(tmp_path) as server,
        opened(environ, tmp_path, settings=_settings(server.url)) as world,
    ):
        gone, kept = await world.new_session(), await world.new_session()
        await world.client.sharing.share(gone.id)
        shared = await world.client.sharing.share(kept.id)
        assert shared.share is not None
        folder = Path(environ["XDG_DATA_HOME"]) / "opencode-tui" / "storage"
        [record] = folder.glob(f"session/*/{gone.id}.json")
        record.unlink()  # by another process
        [record] = folder.glob(f"session/*/{kept.id}.json")
        record.write_text(record.read_text().replace(f'"{kept.title}"', '"Renamed elsewhere"'))
        for _ in range(QUEUE_BOUND + 1):  # without a pause, so that the reader gets none of them
            await world.client.screen.publish(ScreenToastShown.model_validate({"message": "x", "variant": "info"}))
        await server.until(shared.share.url, "Renamed elsewhere")
