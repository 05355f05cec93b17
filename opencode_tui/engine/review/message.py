"""Asks the small model for the message of a commit, outside of the conversation; its cost is added to the session."""

from collections.abc import Collection, Iterator

from msgspec import Struct

from opencode_tui.engine.agent.agents import read_prompt
from opencode_tui.engine.provider.catalog import DEMO, Catalog
from opencode_tui.engine.provider.complete import ask, with_cost
from opencode_tui.engine.provider.llm import LlmRequest, TextBlock, UserEntry
from opencode_tui.engine.provider.model_facts import least_variant
from opencode_tui.engine.session.budget import Budgets
from opencode_tui.engine.session.records.store import SessionStore
from opencode_tui.schema.api.review import ChangedPath
from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.session.session import SessionInfo

MAX_CHARACTERS = 40_000
"""Characters of the changes that the model reads."""

MAX_OUTPUT, MAX_THINKING = 1_000, 8_000
"""Maximum tokens of the answer, and of that of a reasoning model."""

_FENCE = "```"


class MessageWriter(Struct, frozen=True):
    """Proposes messages for one folder's commits."""

    store: SessionStore
    catalog: Catalog
    budgets: Budgets

    async def propose(self, session_id: str | None, files: Collection[ChangedPath], subjects: str) -> str:
        """Return a message for changes, in the manner of earlier subjects; empty where a budget has no room, and from the demo.

        Raises ProviderError, AuthError.
        """
        chosen = await self._model_of(session_id)
        if chosen == DEMO:  # it answers with its tour
            return ""
        model = self.catalog.resolve(self.catalog.small_model(chosen))
        most = MAX_THINKING if model.reasoning else MAX_OUTPUT
        words = f"{as_patch(files)}\n\nEarlier subjects of this repository:\n{subjects}"
        request = LlmRequest(
            model=model,
            system=(read_prompt("commit_message"),),
            messages=(UserEntry((TextBlock(words),)),),
            max_output=min(model.limit.output or most, most),
            options=least_variant(model),
        )
        if session_id is None:
            if self.budgets.limits.is_set:
                return ""
            return clean_message((await ask(self.budgets.providers.llm(model), request)).text)
        async with self.budgets.reserved_if_free(session_id, request) as llm:
            if llm is None:
                return ""
            completion = await ask(llm, request)

        def change(info: SessionInfo) -> SessionInfo:
            return with_cost(info, completion.cost)

        await self.store.update(session_id, change, touch=False)
        return clean_message(completion.text)

    async def _model_of(self, session_id: str | None) -> ModelRef:
        """Return the model of the session's last request, else the default one."""
        messages = [] if session_id is None else await self.store.messages(session_id)
        asked = [one.info.model for one in messages if isinstance(one.info, UserMessage)]
        return asked[-1] if asked else self.catalog.default_model()


def clean_message(text: str) -> str:
    """Return the message in a model's answer, without reasoning and a fence around it."""
    lines = [line.rstrip() for line in text.rpartition("</think>")[2].strip().splitlines()]
    if lines and lines[0].startswith(_FENCE):
        end = next((at for at, line in enumerate(lines[1:], 1) if line.startswith(_FENCE)), len(lines))
        lines = lines[1:end]
    return "\n".join(lines).strip()


def as_patch(files: Collection[ChangedPath]) -> str:
    """Return changes as a patch for a model, cut at its limit; each file is named."""
    return "\n".join(_patch_lines(files))[:MAX_CHARACTERS]


def _patch_lines(files: Collection[ChangedPath]) -> Iterator[str]:
    yield from (f"{one.status}: {one.path!r}" for one in files)
    for one in files:
        yield f"\n--- {one.path!r}{f' ({one.note})' if one.note else ''}"
        for hunk in one.hunks:
            yield f"@@ -{hunk.before} +{hunk.after} @@ {hunk.header}"
            yield from hunk.lines
