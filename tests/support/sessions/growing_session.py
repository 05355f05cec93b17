"""A conversation that grows step by step, as requests: what the estimate of tokens is measured with."""

import random
from dataclasses import dataclass, field

from opencode_tui.engine.provider.decode import openai_request
from opencode_tui.engine.provider.llm import LlmRequest
from opencode_tui.engine.session.request.model_message import to_model_messages
from opencode_tui.engine.tool.registry import read_specs
from opencode_tui.schema.model import Model
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import Tokens
from tests.support.provider.token_counter import TokenCounter
from tests.support.sessions.corpus import Kind, passage
from tests.support.sessions.records import MODEL, assistant, call, user


@dataclass
class GrowingSession:
    """Each step adds an answer with a tool call whose output is of one kind; `count` is the truth."""

    kind: Kind
    counter: TokenCounter
    chance: random.Random
    model: Model = MODEL
    messages: list[MessageWithParts] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._system = passage("prose", self.chance, 12_000)
        self._specs = tuple(read_specs().values())
        self.messages = [user(passage("prose", self.chance, 300))]

    def step(self) -> LlmRequest:
        """Add a step and return the next request."""
        output = passage(self.kind, self.chance, self.chance.randrange(500, 8_000))
        said = passage("prose", self.chance, self.chance.randrange(50, 400))
        self.messages.append(assistant(said, call(f"call_{len(self.messages)}", output=output), finish="tool-calls"))
        return self.request()

    def request(self) -> LlmRequest:
        messages = to_model_messages(self.messages, self.model)
        return LlmRequest(model=self.model, system=(self._system,), messages=messages, tools=self._specs)

    def count(self, request: LlmRequest) -> Tokens:
        return Tokens(input=self.counter.request(openai_request.build(request), api="openai"))
