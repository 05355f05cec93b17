"""The direct adapters over real connections: what is sent, what is heard, and how connections end."""

import asyncio
import fcntl
import json
import struct
import sys
import termios
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager
from http.client import HTTPConnection
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from msgspec.structs import replace

from opencode_tui.engine.provider.decode.response import describe_text
from opencode_tui.engine.provider.formats import find_format
from opencode_tui.engine.provider.http import DirectLlm
from opencode_tui.engine.provider.llm import FinishStep, TextDelta, ToolCall, Usage
from opencode_tui.engine.provider.provider import Endpoint
from opencode_tui.schema.error import AuthError, ContextOverflowError, split_remedy
from tests.engine.provider.asking import KEY, ask, ask_once, direct, request
from tests.support.provider.model_script import Answer, Api, Call, Fault, equal_deltas, failure, html_page
from tests.support.provider.model_server import ModelServer
from tests.support.provider.stream_format import body_chunks
from tests.support.rows import each
from tests.support.world.waiting import PATIENCE_S

APIS: tuple[Api, ...] = ("openai", "responses", "anthropic", "gemini")
all_formats = pytest.mark.parametrize("adapter", APIS)


@all_formats
async def test_an_answer_is_heard_as_it_was_said(server: ModelServer, adapter: Api) -> None:
    calls = (Call("read", {"path": "a"}, id="call_1"), Call("write", {"path": "b"}, id="call_2"))
    server.script(Answer(text="I will look.", reasoning="where is it", calls=calls, usage=(100, 20, 30)))
    heard = await ask_once(direct(server, adapter), request())
    assert heard.blocks == [("reasoning", "where is it"), ("text", "I will look."), ("tool", "read"), ("tool", "write")]
    assert [(call.id, call.tool, call.input) for call in heard.calls] == [
        ("call_1", "read", {"path": "a"}),
        ("call_2", "write", {"path": "b"}),
    ]
    assert heard.finish == FinishStep("tool-calls", Usage(input=70, output=20, cache_read=30, total=120))


@all_formats
async def test_the_key_goes_where_the_format_wants_it(server: ModelServer, adapter: Api) -> None:
    await ask_once(direct(server, adapter, headers={"X-Team": "blue"}), request())
    headers = server.requests[0].headers
    names = ("authorization", "x-api-key", "x-goog-api-key")
    key = {"openai": 0, "responses": 0, "anthropic": 1, "gemini": 2}[adapter]
    assert [headers.get(name) for name in names] == [None] * key + [KEY if key else f"Bearer {KEY}"] + [None] * (
        2 - key
    )
    assert (headers["x-team"], headers["content-type"]) == ("blue", "application/json")
    assert KEY not in server.requests[0].path


@each(
    ("adapter", "place"),
    [
        ("openai", "tools[1].function.parameters: invalid"),
        ("openai", "Invalid schema at tools.1.function"),
        ("responses", "Invalid 'tools[1].name': string does not match pattern"),
        ("anthropic", "tools.1.custom.input_schema: JSON schema is invalid"),
        ("gemini", "* GenerateContentRequest.tools[0].function_declarations[1].parameters: missing field."),
    ],
)
async def test_a_tool_that_is_rejected_by_its_place_is_named(adapter: Api, place: str) -> None:
    with ModelServer() as server:
        server.script(Answer(status=400, body=json.dumps({"error": {"message": place}}).encode()))
        error = (await ask_once(direct(server, adapter), request())).error
    assert error is not None
    reason, remedy = split_remedy(str(error))
    assert f"{place} (the tool is write) (HTTP 400)" in reason
    assert "tools.write: false" in str(remedy)


@all_formats
async def test_a_models_own_headers_go_with_its_requests(server: ModelServer, adapter: Api) -> None:
    asked = request()
    own = asked.model.changed(headers={"x-tier": "gold"})
    await ask_once(direct(server, adapter), replace(asked, model=own))
    assert server.requests[0].headers["x-tier"] == "gold"
    assert "gold" not in f"{own} {own.to_dict()}"


@all_formats
async def test_one_connection_serves_one_answer_after_the_other(server: ModelServer, adapter: Api) -> None:
    llm = direct(server, adapter)
    first, second = await ask(llm, request("one")), await ask(llm, request("two"))
    await llm.close()
    assert [first.joined("text"), second.joined("text")] == ["Echo: one", "Echo: two"]


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux lets a program acknowledge at once")
async def test_a_server_that_holds_an_answer_back_until_its_headers_are_acknowledged_does_not_wait() -> None:
    """The system acknowledges late for a client that leaves it to it, but for the first packets of a connection."""
    waited_s: list[float] = []
    with _nagle_server(waited_s) as url:
        llm = DirectLlm(Endpoint(provider_id="fake", base_url=url, api_key=KEY), find_format("openai"))
        for _ in range(40):
            assert (await ask(llm, request())).joined("text") == "done"
        await llm.close()
        await asyncio.to_thread(_ask_plainly, url, 40)
    ours, plain = sorted(waited_s[20:40]), sorted(waited_s[60:])
    assert len(ours) == len(plain) == 20
    assert ours[5] < plain[5] / 2  # on a busy machine a few of the plain ones do not wait


def _ask_plainly(url: str, times: int) -> None:
    """Send requests as Python's own client does, one after the other on one connection."""
    connection = HTTPConnection(url.removeprefix("http://"), timeout=PATIENCE_S)
    for _ in range(times):
        connection.request("POST", "/", "{}")
        connection.getresponse().read()
    connection.close()


@contextmanager
def _nagle_server(waited_s: list[float]) -> Generator[str]:
    """Serve on Python's own server, which has Nagle's algorithm; yield its address and note what each answer's headers wait."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            received = json.loads(self.rfile.read(int(self.headers["content-length"])))
            body = b"".join(body_chunks(Answer(text="done"), api="openai", body=received))
            self.send_response(200)
            self.send_header("content-type", "text/event-stream")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            begun = time.monotonic()
            while struct.unpack("i", fcntl.ioctl(self.connection, termios.TIOCOUTQ, bytes(4)))[0]:
                time.sleep(0.0005)
            waited_s.append(time.monotonic() - begun)
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            return

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            thread.join()


@all_formats
async def test_a_refused_key_says_how_to_log_in(server: ModelServer, adapter: Api) -> None:
    server.script(failure(401, f"Incorrect API key provided: {KEY}"))
    heard = await ask_once(direct(server, adapter), request())
    assert isinstance(heard.error, AuthError)
    assert (
        str(heard.error)
        == "fake rejected the API key: Incorrect API key provided: *** (HTTP 401); fix: run `opencode-tui auth login fake`"
    )
    assert KEY not in str(heard.error.failure)


@all_formats
async def test_a_busy_provider_says_when_to_come_back(server: ModelServer, adapter: Api) -> None:
    server.script(failure(429, "slow down", retry_after="2"))
    heard = await ask_once(direct(server, adapter), request())
    assert heard.error is not None
    kept = heard.error.failure
    assert (kept.kind, kept.retryable, kept.status, kept.retry_after_ms) == ("rate_limit", True, 429, 2000)


@all_formats
async def test_too_large_a_request_is_an_overflow(server: ModelServer, adapter: Api) -> None:
    server.script(failure(400, "prompt is too long: 210000 tokens > 200000 maximum"))
    assert isinstance((await ask_once(direct(server, adapter), request())).error, ContextOverflowError)


@all_formats
@pytest.mark.parametrize("fault", ["drop", "reset"])
async def test_a_lost_connection_can_be_tried_again(server: ModelServer, adapter: Api, fault: Fault) -> None:
    server.script(Answer(text="one two three four", fault=fault, fault_after=4))
    heard = await ask_once(direct(server, adapter), request())
    assert heard.error is not None
    assert (heard.error.failure.kind, heard.error.failure.retryable) == ("stream_truncated", True)
    assert heard.error.failure.metadata == {"code": "ECONNRESET"}
    assert "one two three four".startswith(heard.joined("text"))


async def test_chunks_that_follow_each_other_quickly_are_gathered(server: ModelServer) -> None:
    words = "".join(f"{number} " for number in range(200))
    server.script(Answer(text=words, delta_size=4, delay_ms=1))
    llm, has_turned, gathered, text = direct(server), asyncio.Event(), 0, ""
    async with asyncio.timeout(PATIENCE_S):
        async for batch in llm.stream(request()):
            gathered += (
                not has_turned.is_set()
            )  # the loop did nothing else since the chunk before: nobody was woken for this one
            text += "".join(event.text for event in batch if isinstance(event, TextDelta))
            has_turned.clear()
            asyncio.get_running_loop().call_soon(has_turned.set)
        await llm.close()
    assert text == words
    assert gathered > len(words) / 4 / 10


@pytest.mark.fast_cases("openai")
@all_formats
async def test_a_silent_provider_is_given_up(server: ModelServer, adapter: Api) -> None:
    server.script(Answer(text="one two three", fault="stall", fault_after=2))
    heard = await ask_once(direct(server, adapter, chunk_timeout_ms=200), request())
    assert heard.error is not None
    assert (heard.error.failure.kind, heard.error.failure.retryable) == ("timeout", True)


async def test_a_slow_answer_ends_at_the_limit_for_the_whole(server: ModelServer) -> None:
    server.script(Answer(text="word " * 100, delay_ms=20))
    heard = await ask_once(direct(server, timeout_ms=300), request())
    assert heard.error is not None
    assert (heard.error.failure.kind, heard.error.failure.retryable) == ("timeout", True)


async def test_a_refused_connection_can_be_retried() -> None:
    heard = await ask_once(DirectLlm(Endpoint("fake", "http://127.0.0.1:9/v1"), find_format("openai")), request())
    assert heard.error is not None
    assert (heard.error.failure.kind, heard.error.failure.retryable) == ("local", True)


@all_formats
async def test_a_web_page_is_no_answer(server: ModelServer, adapter: Api) -> None:
    server.script(html_page())
    heard = await ask_once(direct(server, adapter), request())
    assert heard.error is not None
    reason, remedy = split_remedy(str(heard.error))
    assert reason == "fake: not a model response: a web page (Sign in)"
    assert "provider.fake.options.baseURL" in remedy
    assert (heard.error.failure.kind, heard.error.failure.retryable) == ("page", True)


async def test_an_answer_that_is_not_streamed_is_heard_as_well(server: ModelServer) -> None:
    message = {
        "content": "whole",
        "tool_calls": [{"id": "c", "function": {"name": "read", "arguments": '{"path": "a"}'}}],
    }
    server.script(
        Answer(body=json.dumps({"choices": [{"message": message, "finish_reason": "tool_calls"}]}, indent=2).encode())
    )
    heard = await ask_once(direct(server), request())
    assert (heard.joined("text"), heard.calls) == ("whole", [ToolCall("c", "read", {"path": "a"})])


async def test_an_error_with_a_good_status_is_an_error(server: ModelServer) -> None:
    server.script(Answer(body=b'{"error": {"message": "You have insufficient credits", "code": 402}}'))
    heard = await ask_once(direct(server), request())
    assert heard.error is not None
    assert (heard.error.failure.kind, heard.error.failure.retryable) == ("quota", False)


@all_formats
@pytest.mark.parametrize(
    ("body", "kind"),
    [
        (b'[{"error": {"message": "no such thing", "code": 404}}]', "address"),
        (b'{"object": "error", "message": "maximum context length is 8 tokens", "code": 400}', "overflow"),
        (b'{"detail": "Not Found"}', "api"),
    ],
)
async def test_any_object_instead_of_a_response_is_reported(
    server: ModelServer, adapter: Api, body: bytes, kind: str
) -> None:
    server.script(Answer(body=body))
    heard = await ask_once(direct(server, adapter), request())
    assert heard.error is not None
    assert heard.error.failure.kind == kind


async def test_credentials_do_not_follow_a_redirect_elsewhere(server: ModelServer) -> None:
    with ModelServer() as elsewhere:
        server.script(
            Answer(status=307, headers=(("location", elsewhere.url("openai") + "/chat/completions"),), body=b"")
        )
        heard = await ask_once(direct(server), request())
        assert heard.error is not None
        assert (heard.error.failure.kind, elsewhere.requests) == ("protocol", [])


@pytest.mark.parametrize("status", [301, 302, 303])
async def test_a_redirect_that_changes_the_request_is_no_answer(server: ModelServer, status: int) -> None:
    server.script(Answer(status=status, headers=(("location", "/elsewhere"),), body=b""))
    heard = await ask_once(direct(server), request())
    assert heard.error is not None
    assert (heard.error.failure.kind, len(server.requests)) == ("protocol", 1)


async def test_a_redirect_on_the_same_server_is_followed(server: ModelServer) -> None:
    server.script(
        Answer(status=308, headers=(("location", "/openai/v1/chat/completions"),), body=b""), Answer(text="here")
    )
    assert (await ask_once(direct(server), request())).joined("text") == "here"


@pytest.mark.slow
async def test_a_compressed_answer_is_read_and_a_bomb_is_not(server: ModelServer) -> None:
    server.script(Answer(text="squeezed", is_gzip=True), Answer(chunks=(b" " * (40 << 20),), is_gzip=True))
    llm = direct(server)
    read, bomb = await ask(llm, request()), await ask(llm, request())
    await llm.close()
    assert read.joined("text") == "squeezed"
    assert bomb.error is not None
    assert bomb.error.failure.kind == "protocol"


@all_formats
@pytest.mark.parametrize("body", [b"\x1f\x8b\x08\x00" + b"\xff" * 64, b"data: no gzip at all\n\n", b"\x1f\x8b"])
async def test_what_is_called_gzip_and_is_not_is_no_answer(server: ModelServer, adapter: Api, body: bytes) -> None:
    server.script(Answer(body=body, headers=(("content-encoding", "gzip"),)), Answer(text="read"))
    llm = direct(server, adapter)
    broken, after = await ask(llm, request()), await ask(llm, request())
    await llm.close()
    assert broken.error is not None
    assert broken.error.failure.kind in ("protocol", "stream_truncated")
    reason, remedy = split_remedy(str(broken.error))
    assert reason.startswith("fake: ") and remedy and "\n" not in str(broken.error)
    assert after.joined("text") == "read"


async def test_a_hundred_equal_deltas_are_no_fault(server: ModelServer) -> None:
    server.script(equal_deltas(150))
    assert (await ask_once(direct(server), request())).joined("text") == "ha " * 150


async def test_what_arrives_together_is_one_batch(server: ModelServer) -> None:
    server.script(Answer(text="word " * 50, is_burst=True))
    llm = direct(server)
    batches = [batch async for batch in llm.stream(request())]
    await llm.close()
    assert len(batches) <= 3


@all_formats
async def test_cancelling_closes_the_connection_at_once(server: ModelServer, adapter: Api) -> None:
    server.script(Answer(text="word " * 1000, delay_ms=10))
    llm = direct(server, adapter)
    begun = asyncio.Event()

    async def listen() -> None:
        async for _ in llm.stream(request()):
            begun.set()

    task = asyncio.create_task(listen())
    await begun.wait()
    task.cancel()
    await asyncio.wait({task})
    assert task.cancelled()
    assert await asyncio.to_thread(server.disconnects.acquire, timeout=PATIENCE_S), "the server sent the whole answer"
    await llm.close()


async def test_closing_the_stream_closes_the_connection_at_once(server: ModelServer) -> None:
    server.script(Answer(text="word " * 1000, delay_ms=10))
    llm = direct(server)
    stream = llm.stream(request())
    await anext(stream)
    await stream.aclose()
    assert await asyncio.to_thread(server.disconnects.acquire, timeout=PATIENCE_S)
    await llm.close()


async def test_two_answers_at_the_same_time_do_not_mix(server: ModelServer) -> None:
    llm = direct(server)
    heard = await asyncio.gather(*(ask(llm, request(f"<<slow 2>> number {n}")) for n in range(8)))
    await llm.close()
    assert [answer.joined("text") for answer in heard] == [f"Echo: number {n}" for n in range(8)]


def test_a_page_of_titles_that_never_end_does_not_take_long() -> None:
    assert describe_text("<html>" + "<title" * 500_000) == "a web page"


async def test_a_login_in_the_address_is_no_part_of_the_host(server: ModelServer) -> None:
    url = server.url("openai").replace("//", "//us%20er:pa55@", 1)
    heard = await ask_once(DirectLlm(Endpoint("fake", url, None), find_format("openai")), request("one"))
    assert heard.joined("text") == "Echo: one"
    headers = server.requests[0].headers
    assert headers["host"] == url.rpartition("@")[2].partition("/")[0]
    assert headers["authorization"] == "Basic dXMgZXI6cGE1NQ=="


@pytest.mark.parametrize("url", ["ftp://a.test/v1", "a.test/v1", "http://a.test:port/v1"])
async def test_what_is_no_address_of_http_is_named(url: str) -> None:
    heard = await ask_once(DirectLlm(Endpoint("fake", url, KEY), find_format("openai")), request())
    assert heard.error is not None and not heard.error.failure.retryable
    assert f"invalid URL '{url}/" in str(heard.error)
