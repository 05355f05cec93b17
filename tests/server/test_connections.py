"""Connections that send nothing are closed, and never keep out a request with the password."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AsyncExitStack, asynccontextmanager

import pytest

from opencode_tui.server.serving import HEADER_S
from tests.support.world.server import HttpFace
from tests.support.world.waiting import PATIENCE_S, advance

Streams = tuple[asyncio.StreamReader, asyncio.StreamWriter]


@asynccontextmanager
async def sending(face: HttpFace, data: bytes) -> AsyncGenerator[Streams]:
    """Connect and send so much."""
    reader, writer = await asyncio.open_connection("127.0.0.1", face.address.port)
    writer.write(data)
    await writer.drain()
    try:
        yield reader, writer
    finally:
        writer.close()


def head(face: HttpFace, *lines: str) -> bytes:
    return "\r\n".join([*lines[:1], f"Host: 127.0.0.1:{face.address.port}", *lines[1:], "", ""]).encode()


async def test_connections_without_a_header_never_keep_out_the_password(serve, monkeypatch):
    monkeypatch.setattr("opencode_tui.server.serving.WAITING_LIMIT", 20)
    async with serve() as face, AsyncExitStack() as idle:
        opened = [await idle.enter_async_context(sending(face, b"GET /session HT")) for _ in range(60)]
        answers = [await face.http.get("/session") for _ in range(3)]
        assert [answer.status_code for answer in answers] == [200, 200, 200]
        async with asyncio.timeout(PATIENCE_S):
            assert await opened[0][0].read() == b""


@pytest.mark.parametrize("start", [b"", b"GET /session HTTP/1.1\r\nHost:"])
async def test_a_header_must_arrive_in_time(serve, monkeypatch, start):
    monkeypatch.setattr("opencode_tui.server.serving.HEADER_S", 0.2)
    async with serve() as face, sending(face, start) as (reader, _), asyncio.timeout(PATIENCE_S):
        assert await reader.read() == b""


async def test_the_next_header_of_a_connection_must_arrive_in_time(serve, monkeypatch):
    monkeypatch.setattr("opencode_tui.server.serving.HEADER_S", 0.2)
    async with serve() as face, sending(face, head(face, "GET /session HTTP/1.1")) as (reader, writer):
        async with asyncio.timeout(PATIENCE_S):
            assert b"401" in await reader.readuntil(b"\r\n\r\n")
            writer.write(b"GET /")
            assert (await reader.read()).count(b"HTTP/1.1") == 0


async def test_a_body_must_arrive_in_time(serve, monkeypatch):
    monkeypatch.setattr("opencode_tui.server.serving.BODY_S", 0.2)
    async with serve() as face:
        authorization = basic(face)
        header = head(face, "POST /session HTTP/1.1", f"Authorization: {authorization}", "Content-Length: 100")
        async with sending(face, header + b"{") as (reader, _), asyncio.timeout(PATIENCE_S):
            assert b" 200 " not in await reader.read()


async def test_a_refused_request_with_a_body_ends_its_connection(serve, monkeypatch):
    monkeypatch.setattr("opencode_tui.server.serving.HEADER_S", 600)
    async with serve() as face:
        header = head(face, "POST /session HTTP/1.1", "Content-Length: 100")
        async with sending(face, header + b"{") as (reader, _), asyncio.timeout(PATIENCE_S):
            assert b" 401 " in await reader.read()


async def test_a_long_response_is_not_a_connection_that_sends_nothing(serve, monkeypatch):
    async with serve() as face, face.events() as events:
        await advance(monkeypatch, 2 * HEADER_S)
        await face.session()
        await events.until("session.created")


async def test_requests_at_a_time_are_bounded_after_the_password_alone(serve, monkeypatch):
    monkeypatch.setattr("opencode_tui.server.guard.REQUEST_LIMIT", 1)
    async with serve() as face, face.events():
        refused = await face.http.get("/session")
        stranger = await face.http.get("/session", auth=("opencode", "wrong"))
        assert (refused.status_code, stranger.status_code) == (503, 401)


def basic(face: HttpFace) -> str:
    auth = face.http.auth
    assert auth is not None
    flow = auth.auth_flow(face.http.build_request("GET", "/"))
    return next(flow).headers["authorization"]
