"""Turns the events of sessions into spans and measurements.

    invoke_agent build          a turn: from the user's message to idle
      chat claude-…             a request: one step's call of the model
      execute_tool bash         a tool call; a subagent's turn is below that of `task`

Names and attributes are those of the conventions for generative AI of OpenTelemetry, release 0.1.0:
https://github.com/open-telemetry/semantic-conventions-genai. Texts are added only where the user asks for them, without secrets.
"""

import json
from collections.abc import Iterable
from dataclasses import dataclass, field

from opentelemetry import metrics, trace
from opentelemetry.trace import Span, SpanKind, Status, StatusCode

from opencode_tui.config.redact import redact_text
from opencode_tui.schema.event.event import (
    BusLagged,
    Event,
    MessageUpdated,
    PartUpdated,
    SessionCreated,
    SessionFailed,
    SessionStatusChanged,
    SessionUpdated,
)
from opencode_tui.schema.session.message import AssistantMessage, UserMessage
from opencode_tui.schema.session.part import AnyPart, StepFinishPart, TextPart, ToolPart
from opencode_tui.schema.session.tool_state import ToolStateCompleted, ToolStateError, ToolStateRunning

_MS = 1_000_000
_PROVIDERS = {
    "amazon-bedrock": "aws.bedrock",
    "azure": "azure.ai.openai",
    "google": "gcp.gemini",
    "google-vertex": "gcp.vertex_ai",
    "mistral": "mistral_ai",
    "xai": "x_ai",
}
"""The names of the conventions for providers that have another one here."""

_SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92]
_TOKENS = [1, 4, 16, 64, 256, 1024, 4096, 16384, 65536, 262144, 1048576, 4194304, 16777216, 67108864]

Value = str | int | float | list[str]


@dataclass(slots=True)
class _Open:
    """A span that has begun, with what its measurements need."""

    span: Span
    start: int
    facts: dict[str, Value]


@dataclass(slots=True)
class _Session:
    """What is open in a session."""

    parent: str | None = None
    user: UserMessage | None = None
    error: str | None = None
    turn: _Open | None = None
    requests: dict[str, _Open] = field(default_factory=dict[str, _Open])
    tools: dict[str, _Open] = field(default_factory=dict[str, _Open])
    texts: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])


class Spans:
    """Makes spans from events; not thread-safe."""

    def __init__(self, tracer: trace.Tracer, meter: metrics.Meter, *, has_content: bool) -> None:
        self._tracer = tracer
        self._has_content = has_content
        self._sessions: dict[str, _Session] = {}
        self._used = meter.create_histogram(
            "gen_ai.client.token.usage", "{token}", "Tokens of a request.", explicit_bucket_boundaries_advisory=_TOKENS
        )
        self._durations = {
            name: meter.create_histogram(metric, "s", about, explicit_bucket_boundaries_advisory=_SECONDS)
            for name, metric, about in (
                ("chat", "gen_ai.client.operation.duration", "Seconds of a request."),
                ("invoke_agent", "gen_ai.invoke_agent.duration", "Seconds of a turn."),
                ("execute_tool", "gen_ai.execute_tool.duration", "Seconds of a tool call."),
            )
        }

    def handle(self, event: Event, now: int) -> None:
        """Read one event, which came at `now` ns since 1970."""
        match event:
            case SessionCreated() | SessionUpdated():
                self._of(event.info.id).parent = event.info.parent_id
            case MessageUpdated(info=UserMessage() as info):
                self._of(info.session_id).user = info
            case MessageUpdated(info=AssistantMessage() as info):
                self._on_answer(info, now)
            case PartUpdated():
                self._on_part(event.part, now)
            case SessionFailed(session_id=str(session)):
                self._of(session).error = event.error.name
            case SessionStatusChanged():
                if event.status.type == "busy":
                    self._begin_turn(event.session_id, now)
                elif event.status.type == "idle":
                    self._end_turn(event.session_id, now)
            case BusLagged():
                self.close()
            case _:
                pass

    def close(self) -> None:
        """End what is open, as after events that were lost."""
        for session in list(self._sessions):
            self._sessions[session].error = self._sessions[session].error or "_OTHER"
            self._end_turn(session, None)
        self._sessions.clear()

    def _of(self, session: str) -> _Session:
        return self._sessions.setdefault(session, _Session())

    def _begin_turn(self, name: str, now: int) -> None:
        session = self._of(name)
        if session.turn is not None:
            return
        user = session.user
        facts: dict[str, Value] = {"gen_ai.operation.name": "invoke_agent"}
        if user is not None:
            facts |= {"gen_ai.agent.name": user.agent, **_model(user.model.provider_id, user.model.model_id)}
        start = user.time.created * _MS if user is not None else now
        more: dict[str, Value] = {"gen_ai.conversation.id": name}
        label = f"invoke_agent {user.agent}" if user is not None else "invoke_agent"
        session.turn = self._begin(label, start, facts, more, self._above(session))
        session.error = None

    def _above(self, session: _Session) -> Span | None:
        """Return the span that a subagent's turn belongs to: its call of `task`, or the turn of its parent."""
        parent = self._sessions.get(session.parent or "")
        if parent is None:
            return None
        calls = [one.span for one in parent.tools.values() if one.facts.get("gen_ai.tool.name") == "task"]
        return calls[-1] if calls else parent.turn.span if parent.turn is not None else None

    def _end_turn(self, name: str, now: int | None) -> None:
        session = self._of(name)
        for one in [*session.tools.values(), *session.requests.values()]:
            self._end(one, now, "cancelled")
        session.tools.clear()
        session.requests.clear()
        session.texts.clear()
        if session.turn is not None:
            self._end(session.turn, now, session.error)
            session.turn = None

    def _on_answer(self, info: AssistantMessage, now: int) -> None:
        session = self._of(info.session_id)
        opened = session.requests.get(info.id)
        if opened is None and info.time.completed is None and info.finish is None and info.error is None:
            facts: dict[str, Value] = {"gen_ai.operation.name": "chat", **_model(info.provider_id, info.model_id)}
            more: dict[str, Value] = {
                "gen_ai.conversation.id": info.session_id,
                "gen_ai.agent.name": info.agent or info.mode,
            }
            above = session.turn.span if session.turn is not None else None
            start = info.time.created * _MS
            session.requests[info.id] = self._begin(
                f"chat {info.model_id}", start, facts, more, above, kind=SpanKind.CLIENT
            )
        elif opened is not None and info.error is not None:
            self._end(session.requests.pop(info.id), now, info.error.name)

    def _on_part(self, part: AnyPart, now: int) -> None:
        session = self._of(part.session_id)
        match part:
            case TextPart() if self._has_content and not part.ignored:
                session.texts.setdefault(part.message_id, {})[part.id] = part.text
            case StepFinishPart() if (opened := session.requests.pop(part.message_id, None)) is not None:
                self._finish_request(session, opened, part, now)
            case ToolPart():
                self._on_tool(session, part)
            case _:
                pass

    def _finish_request(self, session: _Session, opened: _Open, part: StepFinishPart, now: int) -> None:
        tokens = part.tokens
        opened.span.set_attributes(
            {
                "gen_ai.response.finish_reasons": [part.reason],
                "gen_ai.usage.input_tokens": tokens.prompt,
                "gen_ai.usage.output_tokens": tokens.written,
                "gen_ai.usage.cache_read.input_tokens": tokens.cache.read,
                "gen_ai.usage.cache_creation.input_tokens": tokens.cache.write,
                "gen_ai.usage.reasoning.output_tokens": tokens.reasoning,
                "opencode_tui.cost_usd": part.cost,
            }
        )
        if self._has_content:
            asked = session.texts.get(session.user.id, {}) if session.user is not None else {}
            answered = session.texts.get(part.message_id, {})
            opened.span.set_attribute("gen_ai.input.messages", _messages("user", asked.values()))
            opened.span.set_attribute("gen_ai.output.messages", _messages("assistant", answered.values()))
        for kind, count in (("input", tokens.prompt), ("output", tokens.written)):
            self._used.record(count, {**opened.facts, "gen_ai.token.type": kind})
        self._end(opened, now, None)

    def _on_tool(self, session: _Session, part: ToolPart) -> None:
        state = part.state
        if isinstance(state, ToolStateRunning | ToolStateCompleted | ToolStateError) and part.id not in session.tools:
            if not isinstance(state, ToolStateRunning) and session.turn is None:
                return  # a change of a call that ended long ago
            facts: dict[str, Value] = {"gen_ai.operation.name": "execute_tool", "gen_ai.tool.name": part.tool}
            more: dict[str, Value] = {
                "gen_ai.tool.call.id": part.call_id,
                "gen_ai.tool.type": "function",
                "gen_ai.conversation.id": part.session_id,
            }
            above = session.turn.span if session.turn is not None else None
            start = state.time.start * _MS
            session.tools[part.id] = self._begin(f"execute_tool {part.tool}", start, facts, more, above)
        if isinstance(state, ToolStateCompleted | ToolStateError):
            opened = session.tools.pop(part.id)
            if self._has_content:
                result = state.output if isinstance(state, ToolStateCompleted) else state.error
                opened.span.set_attribute("gen_ai.tool.call.arguments", redact_text(json.dumps(state.input)))
                opened.span.set_attribute("gen_ai.tool.call.result", redact_text(result))
            end = state.time.end
            fault = "tool_error" if isinstance(state, ToolStateError) else None
            self._end(opened, end * _MS if end is not None else None, fault)

    def _begin(
        self,
        name: str,
        start: int,
        facts: dict[str, Value],
        more: dict[str, Value],
        above: Span | None,
        *,
        kind: SpanKind = SpanKind.INTERNAL,
    ) -> _Open:
        context = trace.set_span_in_context(above) if above is not None else None
        span = self._tracer.start_span(name, context, kind, attributes={**facts, **more}, start_time=start)
        return _Open(span, start, facts)

    def _end(self, opened: _Open, end: int | None, fault: str | None) -> None:
        if fault is not None:
            opened.span.set_attribute("error.type", fault)
            opened.span.set_status(Status(StatusCode.ERROR))
        opened.span.end(None if end is None else max(end, opened.start))
        if end is not None:
            facts = {**opened.facts, **({"error.type": fault} if fault is not None else {})}
            self._durations[str(opened.facts["gen_ai.operation.name"])].record(max(end - opened.start, 0) / 1e9, facts)


def _model(provider: str, model: str) -> dict[str, Value]:
    return {"gen_ai.provider.name": _PROVIDERS.get(provider, provider), "gen_ai.request.model": model}


def _messages(role: str, texts: Iterable[str]) -> str:
    parts = [{"type": "text", "content": redact_text(one)} for one in texts if one]
    return json.dumps([{"role": role, "parts": parts}], ensure_ascii=False)
