"""The agent and the model for the next request."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

from opencode_tui.client.client import Client
from opencode_tui.schema.api.catalog import AgentSummary
from opencode_tui.schema.api.request import PromptInput
from opencode_tui.schema.error import ConfigError, OpencodeError
from opencode_tui.schema.model import Model, ModelRef, require_model_ref
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import UserMessage


class ModelSelection:
    """The user's choice, else what the shown session used last, else the defaults."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.agents: Sequence[AgentSummary] = ()
        self.models: Sequence[Model] = ()
        self.agent: str | None = None
        self.model: ModelRef | None = None
        self.problem = ""
        """Why no model is selected: the settings name an unknown one."""
        self.variant: str | None = None
        self.recent: list[ModelRef] = []
        """Models used since the start, latest first."""
        self.favorites: list[str] = []
        """Names of the models that lists show first."""
        self._favorites_file: Path | None = None

    def load_favorites(self, path: Path) -> None:
        """Read the favorites, one name per line, and keep them in this file from now on. Blocks."""
        self._favorites_file = path
        with suppress(OSError):
            self.favorites = list(dict.fromkeys(filter(None, path.read_text("utf-8", "replace").splitlines())))

    async def toggle_favorite(self, name: str) -> None:
        """Add a model to the favorites or remove it. Raises OpencodeError when they cannot be written."""
        kept = [one for one in self.favorites if one != name]
        self.favorites = [*kept, name] if len(kept) == len(self.favorites) else kept
        if self._favorites_file is not None:
            await asyncio.to_thread(_write_lines, self._favorites_file, self.favorites)

    async def load(self, model: str | None, agent: str | None, variant: str | None = None) -> None:
        """Load the choices and select the names of the command line. Raises ConfigError for an unknown one."""
        self.agents = [one for one in await self._client.catalog.agents() if one.mode != "subagent" and not one.hidden]
        if agent is not None and agent not in {one.name for one in self.agents}:
            listed = ", ".join(one.name for one in self.agents)
            raise ConfigError(f"Unknown --agent {agent}; available: {listed}")
        self.agent = agent or (self.agents[0].name if self.agents else None)
        if model is not None:
            self.model = require_model_ref(model, "--model")
        else:
            try:
                self.model = await self._client.catalog.default_model()
            except OpencodeError as error:
                self.model, self.problem = None, str(error)
        if variant is not None:
            # Checked as `run` does, because most models are read only after the first frames.
            await self._client.prompts.check(PromptInput(model=self.model, variant=variant, parts=[]))
            self.variant = variant

    async def load_models(self) -> None:
        """Read the models; their limits and variants are needed only after the first frames."""
        self.models = await self._client.catalog.models()

    def follow(self, messages: Sequence[MessageWithParts]) -> None:
        """Select the agent and model that a session used last."""
        user = next((one.info for one in reversed(messages) if isinstance(one.info, UserMessage)), None)
        if user is None:
            return
        if user.agent in {one.name for one in self.agents}:
            self.agent = user.agent
        self.model, self.variant = user.model, user.variant

    def use(self, model: ModelRef) -> None:
        """Select a model."""
        if self.model is not None:
            self.recent = [one for one in (model, self.model, *self.recent) if one]
        self.recent = list({str(one): one for one in [model, *self.recent]}.values())
        self.model, self.variant = model, None

    def cycle_agent(self, step: int) -> str | None:
        """Select the next or previous agent; return its name."""
        names = [one.name for one in self.agents]
        if names:
            at = names.index(self.agent) if self.agent in names else 0
            self.agent = names[(at + step) % len(names)]
        return self.agent

    def cycle_model(self, step: int) -> ModelRef | None:
        """Select the next or previous recent model; return it."""
        if len(self.recent) > 1 and self.model is not None:
            names = [str(one) for one in self.recent]
            at = names.index(str(self.model)) if str(self.model) in names else 0
            self.model, self.variant = self.recent[(at + step) % len(names)], None
        return self.model

    def cycle_variant(self) -> str | None:
        """Select the next variant of the model, after the last one none; return its name."""
        known = self.details
        names: list[str | None] = [None, *(known.variants if known else ())]
        at = names.index(self.variant) if self.variant in names else 0
        self.variant = names[(at + 1) % len(names)]
        return self.variant

    @property
    def details(self) -> Model | None:
        """The model's limits and abilities, once the models are read."""
        return next((one for one in self.models if self.model is not None and one.ref == self.model), None)

    @property
    def limit(self) -> int:
        """Tokens that a conversation can have before it is compacted; 0 when unknown."""
        return (self.details.usable or 0) if self.details else 0


def _write_lines(path: Path, lines: Sequence[str]) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = path.with_suffix(".new")
        fresh.write_text("".join(f"{line}\n" for line in lines), "utf-8")
        fresh.replace(path)
    except OSError as error:
        raise OpencodeError(f"{path} cannot be written ({error.strerror})") from error
