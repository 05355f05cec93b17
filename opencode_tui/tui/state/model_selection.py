"""The agent and the model for the next request."""

import asyncio
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import cast

from opencode_tui.client.client import Client
from opencode_tui.schema.api.catalog import AgentSummary
from opencode_tui.schema.api.request import PromptInput
from opencode_tui.schema.error import ConfigError, OpencodeError
from opencode_tui.schema.model import Model, ModelRef, has_variant, require_model_ref, shown_variant
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import UserMessage
from opencode_tui.schema.system_error import cause_of
from opencode_tui.text.variant import choosable_variants


class ModelSelection:
    """The user's choice, else what the shown session used last, else the defaults."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.agents: Sequence[AgentSummary] = ()
        """The agents that the user can choose."""
        self.subagents: frozenset[str] = frozenset()
        """The names of those that only other agents call."""
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
        self._variants: dict[str, str] = {}
        """The variant last chosen for each model, by its name."""
        self._variants_file: Path | None = None
        self._storing = asyncio.Lock()
        self.models_read = asyncio.Event()
        """Set once the models were read."""

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
            await asyncio.to_thread(_write, self._favorites_file, "".join(f"{line}\n" for line in self.favorites))

    async def load_variants(self, path: Path, *, selects: bool) -> None:
        """Read the variant last chosen for each model, and keep the choices in this file from now on.

        With `selects`, select that of the model unless one is selected; one that the model no longer has is not used.
        """
        self._variants_file = path
        self._variants = await asyncio.to_thread(_read_variants, path)
        chosen = self._variants.get(str(self.model))
        if chosen is not None and selects and self.variant is None:
            with suppress(OpencodeError):
                await self._client.prompts.check(PromptInput(model=self.model, variant=chosen, parts=[]))
                self.variant = chosen

    async def store_variant(self) -> None:
        """Store the variant of the model for the next start. Raises OpencodeError when it cannot be written."""
        model, file = str(self.model), self._variants_file
        if file is None or self.model is None:
            return
        async with self._storing:  # keys repeat: the last choice is the one that stays
            changed = await asyncio.to_thread(_read_variants, file)  # with those of other terminals
            changed.pop(model, None)
            if self._variants.get(model) is not None:
                changed[model] = self._variants[model]
            await asyncio.to_thread(_write, file, json.dumps(changed, indent=2) + "\n")

    async def load(self, model: str | None, agent: str | None, variant: str | None = None) -> None:
        """Load the choices and select the names of the command line. Raises ConfigError for an unknown one."""
        agents = await self._client.catalog.agents()
        self.agents = [one for one in agents if one.mode != "subagent" and not one.hidden]
        self.subagents = frozenset(one.name for one in agents if one.mode == "subagent")
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
        self.models_read.set()

    async def refresh_models(self) -> bool:
        """Read newer lists of models if they are due; return whether the models were read anew. Failures change nothing."""
        with suppress(OpencodeError):
            if await self._client.catalog.refresh_models():
                await self.load_models()
                return True
        return False

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
        self.model = model
        self.variant = self._last_variant()

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
            self.model = self.recent[(at + step) % len(names)]
            self.variant = self._last_variant()
        return self.model

    def cycle_variant(self) -> str | None:
        """Select the next variant of the model, after the last one the default; return its name, None for the default."""
        names = choosable_variants(self.details)
        at = names.index(self.variant) if self.variant in names else 0
        self.variant = names[(at + 1) % len(names)]
        if self.variant is None:
            self._variants.pop(str(self.model), None)
        else:
            self._variants[str(self.model)] = self.variant
        return self.variant

    def _last_variant(self) -> str | None:
        chosen = self._variants.get(str(self.model))
        known = self.details
        return chosen if chosen is not None and known is not None and has_variant(known, chosen) else None

    @property
    def details(self) -> Model | None:
        """The model's limits and abilities, once the models are read."""
        return next((one for one in self.models if self.model is not None and one.ref == self.model), None)

    @property
    def shown_variant(self) -> str:
        """The variant that the next request has: the chosen one, else the agent's, else the model's default; empty for none."""
        known = self.details
        own = next((one.variant for one in self.agents if one.name == self.agent), None)
        is_there = own is not None and known is not None and has_variant(known, own)
        return shown_variant(known, self.variant or (own if is_there else None))

    @property
    def name(self) -> str:
        """Return the model's ID for the status line, after its provider's where another one has the same; not safe."""
        model = self.model
        if model is None:
            return "no model"
        rivals = (*self.recent, *(one.ref for one in self.models))
        is_ambiguous = any(one.model_id == model.model_id and one != model for one in rivals)
        return str(model) if is_ambiguous or model.provider_id == "demo" else model.model_id

    @property
    def limit(self) -> int:
        """Tokens that a conversation can have before it is compacted; 0 when unknown."""
        return (self.details.usable or 0) if self.details else 0


def _read_variants(path: Path) -> dict[str, str]:
    """Return the variants by model; none when the file cannot be read."""
    try:
        stored: object = json.loads(path.read_bytes())
    except (OSError, ValueError):
        return {}
    pairs = cast("dict[str, object]", stored).items() if isinstance(stored, dict) else ()
    return {name: variant for name, variant in pairs if isinstance(variant, str)}


def _write(path: Path, text: str) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        fresh = path.with_suffix(".new")
        fresh.write_text(text, "utf-8")
        fresh.replace(path)
    except OSError as error:
        raise OpencodeError(f"{path} cannot be written: {cause_of(error)}") from error
