"""The title of a new session, by the small model during the first turn. Source: docs/internals/loop.md#titles.

Only a top-level session without a title gets one, from its first request. Nothing waits for it; a failure is written to
the log. Without room in a budget there is no title. The cost of the call is added to `session.metadata`.
"""

import re
from collections.abc import Sequence

from msgspec import Struct

from opencode_tui.engine.agent.agents import AgentInfo, read_prompt
from opencode_tui.engine.agent.registry import AgentRegistry
from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.engine.provider.complete import ask, with_cost
from opencode_tui.engine.provider.llm import Llm, LlmRequest, TextBlock, UserEntry
from opencode_tui.engine.provider.model_facts import least_variant
from opencode_tui.engine.session.background import Background
from opencode_tui.engine.session.budget import Budgets
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.engine.session.request.reminder import as_reminder
from opencode_tui.schema.model import Model
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.part import AnyPart, FilePart, SubtaskPart, TextPart
from opencode_tui.schema.session.session import SessionInfo, is_default_title

# Titles of messages, from their text, and of sessions, from the answer of a model. Source: docs/internals/loop.md#titles.

MAX_TITLE = 100
"""Maximum characters of a title."""

_MAX_WORDS = 4_000
"""Maximum characters of a request in the request for a title."""

_THOUGHTS = re.compile(r"<think>.*?</think>\s*", re.DOTALL)


def clean_title(text: str) -> str | None:
    """Return the title in a model's answer: its first line that is not blank, without reasoning; None without one."""
    thoughts, tag, rest = text.rpartition(
        "</think>"
    )  # each opening tag before it has an end, so that the search is linear
    line = _first_line(_THOUGHTS.sub("", f"{thoughts}{tag}") + rest)
    if not line:
        return None
    return line if len(line) <= MAX_TITLE else line[: MAX_TITLE - 3] + "..."


def words_for_title(parts: Sequence[AnyPart]) -> str:
    """Return the text for a title: the user's, else the subtasks', else the names of the attachments."""
    texts = [part.text for part in parts if isinstance(part, TextPart) and not part.synthetic and not part.ignored]
    tasks = [part.prompt for part in parts if isinstance(part, SubtaskPart)]
    names = [part.filename or part.mime for part in parts if isinstance(part, FilePart)]
    for found in (texts, tasks, names):
        words = "\n".join(found).strip()
        if words:
            return words[:_MAX_WORDS]
    return ""


def is_real_request(parts: Sequence[AnyPart]) -> bool:
    """Return whether a user message is the user's, not a synthetic one."""
    return bool(words_for_title(parts))


def _first_line(text: str) -> str:
    return next((line.strip() for line in text.splitlines() if line.strip()), "")


MAX_OUTPUT = 1_000
"""Maximum tokens of the answer."""

MAX_THINKING = 8_000
"""Maximum tokens of the answer of a reasoning model."""


class SessionTitles(Struct, frozen=True):
    """Generates the titles of one folder's sessions."""

    store: SessionStore
    agents: AgentRegistry
    catalog: Catalog
    background: Background
    budgets: Budgets

    def schedule(self, session: SessionInfo, messages: Sequence[MessageWithParts]) -> None:
        """Start to generate a title if the session has none and this is its first request; returns at once."""
        if session.parent_id is not None or not is_default_title(session.title):
            return
        requests = [one for one in messages if isinstance(one.info, UserMessage) and is_real_request(one.parts)]
        agent = self.agents.get("title")
        if len(requests) == 1 and agent is not None:
            self.background.start(self._name(requests[0], agent), name=f"title of session {session.id}")

    async def _name(self, request: MessageWithParts, agent: AgentInfo) -> None:
        if not isinstance(request.info, UserMessage):
            return
        model = self.catalog.resolve(agent.model or self.catalog.small_model(request.info.model))
        asked, session_id = _title_request(request, agent, model), request.info.session_id
        async with self.budgets.reserved_if_free(session_id, asked) as llm:
            if llm is not None:
                await self._ask(session_id, llm, asked)

    async def _ask(self, session_id: str, llm: Llm, request: LlmRequest) -> None:
        completion = await ask(llm, request)
        title = clean_title(completion.text)

        def change(info: SessionInfo) -> SessionInfo:
            if title is not None and is_default_title(info.title):
                info = info.changed(title=title)
            return with_cost(info, completion.cost)

        await self.store.update(session_id, change, touch=False)


def _title_request(request: MessageWithParts, agent: AgentInfo, model: Model) -> LlmRequest:
    words = words_for_title(request.parts)
    most = MAX_THINKING if model.reasoning else MAX_OUTPUT
    return LlmRequest(
        model=model,
        system=(agent.prompt or read_prompt("title"),),
        messages=(UserEntry((TextBlock(words), TextBlock(as_reminder(read_prompt("title_request"))))),),
        max_output=min(model.limit.output or most, most),
        temperature=agent.temperature if model.temperature else None,
        top_p=agent.top_p,
        options={**agent.options, **least_variant(model)},
    )
