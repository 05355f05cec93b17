"""Traces and metrics, as a collector on loopback gets them over OTLP."""

import gzip
import json
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest
from opentelemetry.proto.collector.metrics.v1.metrics_service_pb2 import ExportMetricsServiceRequest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest

from tests.support.provider.model_script import Answer, Call, failure
from tests.support.provider.model_server import ModelServer
from tests.support.world.cli import CommandLine
from tests.support.world.in_process import Commands, in_process
from tests.support.world.repo import make_repo

pytestmark = pytest.mark.slow


SECRET = "sk-ant-api03-" + "a" * 40


@dataclass
class Collector:
    """A receiver of OTLP over HTTP: the spans and metrics by name, and the paths and headers of all requests."""

    address: str = ""
    paths: list[str] = field(default_factory=list[str])
    headers: list[dict[str, str]] = field(default_factory=list[dict[str, str]])
    spans: list[Any] = field(default_factory=list[Any])
    metrics: dict[str, Any] = field(default_factory=dict[str, Any])
    resource: dict[str, Any] = field(default_factory=dict[str, Any])
    raw: bytes = b""

    def receive(self, path: str, data: bytes, headers: dict[str, str]) -> None:
        self.paths.append(path)
        self.headers.append(headers)
        self.raw += data
        if path.endswith("/traces"):
            for group in ExportTraceServiceRequest.FromString(data).resource_spans:
                self.resource = facts(group.resource)
                for scope in group.scope_spans:
                    self.spans += scope.spans
        else:
            for group in ExportMetricsServiceRequest.FromString(data).resource_metrics:
                for scope in group.scope_metrics:
                    self.metrics |= {one.name: one for one in scope.metrics}

    def named(self, start: str) -> list[Any]:
        return sorted(
            (one for one in self.spans if one.name.startswith(start)), key=lambda one: one.start_time_unix_nano
        )


def facts(holder: Any) -> dict[str, Any]:
    """Return attributes as plain values."""

    def value(one: Any) -> Any:
        kind = one.WhichOneof("value")
        return [value(inner) for inner in one.array_value.values] if kind == "array_value" else getattr(one, kind)

    return {one.key: value(one.value) for one in holder.attributes}


@pytest.fixture
def collector() -> Iterator[Collector]:
    made = Collector()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            data = self.rfile.read(int(self.headers["Content-Length"]))
            data = gzip.decompress(data) if self.headers.get("Content-Encoding") == "gzip" else data
            made.receive(self.path, data, {name.lower(): value for name, value in self.headers.items()})
            self.send_response(200)
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with HTTPServer(("127.0.0.1", 0), Handler) as http:
        made.address = f"http://127.0.0.1:{http.server_port}"
        threading.Thread(target=http.serve_forever, daemon=True).start()
        yield made
        http.shutdown()


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with ModelServer() as server:
        yield server


@pytest.fixture
def commands(
    tmp_path: Path, environ: dict[str, str], monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Commands:
    repo = make_repo(tmp_path / "project")
    repo.write("a.py", "x = 1\n")
    repo.commit()
    return Commands(repo.path, environ, monkeypatch, capsys)


def line_of(commands: Commands, server: ModelServer, address: str, *, is_on: bool = True, **more: str) -> CommandLine:
    environ = {**commands.environ, "OTEL_EXPORTER_OTLP_ENDPOINT": address, **more}
    settings = {"experimental": {"openTelemetry": True}} if is_on else {}
    line = CommandLine(commands.folder, environ, provider=server.config(), settings=settings)
    return in_process(line, commands.monkeypatch, commands.capsys)


def run_turn(line: CommandLine, server: ModelServer) -> None:
    server.script(
        Answer(calls=(Call("read", {"filePath": "a.py"}), Call("read", {"filePath": "missing.py"}))),
        Answer(text=f"done {SECRET}"),
    )
    assert line.turn("read the secret plan").code == 0


def test_a_turn_its_requests_and_its_tools_are_spans_of_one_trace(
    commands: Commands, server: ModelServer, collector: Collector
) -> None:
    line = line_of(commands, server, collector.address, OTEL_EXPORTER_OTLP_HEADERS="X-Team=shop")
    run_turn(line, server)
    assert set(collector.paths) == {"/v1/traces", "/v1/metrics"}
    assert {one.get("x-team") for one in collector.headers} == {"shop"}
    assert (collector.resource["service.name"], len(collector.spans)) == ("opencode-tui", 5)
    (turn,) = collector.named("invoke_agent")
    requests, tools = collector.named("chat"), collector.named("execute_tool")
    assert {one.trace_id for one in collector.spans} == {turn.trace_id}
    assert {one.parent_span_id for one in [*requests, *tools]} == {turn.span_id}
    assert (turn.name, turn.parent_span_id) == ("invoke_agent build", b"")
    assert [one.name for one in [*requests, *tools]] == ["chat fake-model"] * 2 + ["execute_tool read"] * 2
    for one in collector.spans:
        assert turn.start_time_unix_nano <= one.start_time_unix_nano <= one.end_time_unix_nano
        assert one.end_time_unix_nano <= turn.end_time_unix_nano
    first = facts(requests[0])
    wanted = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "fake",
        "gen_ai.request.model": "fake-model",
        "gen_ai.agent.name": "build",
        "gen_ai.response.finish_reasons": ["tool-calls"],
    }
    assert wanted.items() <= first.items()
    assert first["gen_ai.usage.input_tokens"] > 0
    assert requests[0].kind == 3
    assert facts(turn)["gen_ai.conversation.id"] == first["gen_ai.conversation.id"]
    assert sorted(facts(one).get("error.type", "") for one in tools) == ["", "tool_error"]
    assert {facts(one)["gen_ai.tool.name"] for one in tools} == {"read"}


def test_metrics_count_tokens_and_seconds(commands: Commands, server: ModelServer, collector: Collector) -> None:
    run_turn(line_of(commands, server, collector.address), server)
    assert collector.metrics.keys() == {
        "gen_ai.client.token.usage",
        "gen_ai.client.operation.duration",
        "gen_ai.invoke_agent.duration",
        "gen_ai.execute_tool.duration",
    }
    usage = collector.metrics["gen_ai.client.token.usage"]
    points = {facts(one)["gen_ai.token.type"]: one for one in usage.histogram.data_points}
    assert (usage.unit, points.keys(), points["input"].count) == ("{token}", {"input", "output"}, 2)
    requests = collector.named("chat")
    assert points["input"].sum == sum(facts(one)["gen_ai.usage.input_tokens"] for one in requests)
    assert collector.metrics["gen_ai.client.operation.duration"].unit == "s"


def test_no_text_is_sent_unless_it_is_asked_for(commands: Commands, server: ModelServer, collector: Collector) -> None:
    run_turn(line_of(commands, server, collector.address), server)
    assert collector.spans
    for text in (b"secret plan", b"done", b"a.py", b"x = 1", SECRET.encode(), str(commands.folder).encode()):
        assert text not in collector.raw


def test_texts_that_are_asked_for_have_no_secrets(
    commands: Commands, server: ModelServer, collector: Collector
) -> None:
    line = line_of(commands, server, collector.address, OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT="true")
    run_turn(line, server)
    last = facts(collector.named("chat")[-1])
    assert json.loads(last["gen_ai.input.messages"])[0]["parts"][0]["content"] == "read the secret plan"
    assert json.loads(last["gen_ai.output.messages"])[0]["parts"][0]["content"].startswith("done ")
    # The calls of a step start together, in any order.
    results = [facts(one)["gen_ai.tool.call.result"] for one in collector.named("execute_tool")]
    assert sorted(("x = 1" in one, "file not found" in one) for one in results) == [(False, True), (True, False)]
    assert SECRET.encode() not in collector.raw


def test_a_request_that_fails_and_its_turn_are_errors(
    commands: Commands, server: ModelServer, collector: Collector
) -> None:
    server.script(failure(400, "no"))
    assert line_of(commands, server, collector.address).turn("hello").code == 1
    (turn,), (request,) = collector.named("invoke_agent"), collector.named("chat")
    assert (turn.status.code, request.status.code) == (2, 2)
    assert facts(request)["error.type"] == facts(turn)["error.type"] == "APIError"


def test_nothing_is_sent_unless_it_is_on(commands: Commands, server: ModelServer, collector: Collector) -> None:
    run_turn(line_of(commands, server, collector.address, is_on=False), server)
    assert collector.paths == []


def test_a_repository_cannot_turn_it_on(commands: Commands, server: ModelServer, collector: Collector) -> None:
    (commands.folder / "opencode.json").write_text('{"experimental": {"openTelemetry": true}}')
    run_turn(line_of(commands, server, collector.address, is_on=False), server)
    assert collector.paths == []


def test_a_collector_that_is_not_there_costs_the_turn_nothing(commands: Commands, server: ModelServer) -> None:
    line = line_of(commands, server, "http://127.0.0.1:9")
    server.script(Answer(text="fine"))
    done = line.turn("hello")
    assert (done.code, "opentelemetry" in done.stderr.lower()) == (0, False)


def test_without_the_library_a_warning_names_the_extra(
    commands: Commands, server: ModelServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("opencode_tui.engine.services.telemetry.is_installed", lambda: False)
    server.script(Answer(text="fine"))
    done = line_of(commands, server, "http://127.0.0.1:9").turn("hello")
    assert (done.code, "pip install 'opencode-tui[otel]'" in done.stderr) == (0, True)
