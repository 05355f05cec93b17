"""What a client can choose for a session: its mode (the agent), and its model; pure."""

from collections.abc import Mapping, Sequence

from acp.schema import (
    AvailableCommand,
    AvailableCommandInput,
    SessionConfigOptionBoolean,
    SessionConfigOptionSelect,
    SessionConfigSelectOption,
    SessionMode,
    SessionModeState,
    UnstructuredCommandInput,
)
from msgspec import Struct

from opencode_tui.schema.api.catalog import AgentSummary
from opencode_tui.schema.api.folder import CommandSummary
from opencode_tui.schema.model import Model

MODE, MODEL = "mode", "model"
"""The IDs of the options."""

COMPACT = "compact"
"""The command of this program that replaces older messages by a summary."""


class Choices(Struct, frozen=True):
    """The modes and models of a folder: agents and models that can be used there."""

    agents: Sequence[AgentSummary] = ()
    models: Sequence[Model] = ()
    providers: Mapping[str, str] = {}
    """The name of each provider by its ID."""

    @property
    def modes(self) -> list[AgentSummary]:
        """Return the agents that a user can talk to, the default one first."""
        return [one for one in self.agents if one.mode != "subagent" and not one.hidden]

    def has_mode(self, name: str) -> bool:
        """Return whether there is such a mode."""
        return any(one.name == name for one in self.modes)

    def has_model(self, name: str) -> bool:
        """Return whether a model `provider/model` can be used."""
        return any(str(one.ref) == name for one in self.models)

    def context_of(self, model: str) -> int:
        """Return the context of a model in tokens; 0 means unknown."""
        return next((one.limit.context for one in self.models if str(one.ref) == model), 0)

    def mode_state(self, mode: str) -> SessionModeState:
        """Return all modes, and the present one."""
        listed = [SessionMode(id=one.name, name=one.name, description=one.description) for one in self.modes]
        return SessionModeState(available_modes=listed, current_mode_id=mode)

    def options(self, mode: str, model: str) -> list[SessionConfigOptionSelect | SessionConfigOptionBoolean]:
        """Return both options with their present values."""
        modes = [
            SessionConfigSelectOption(value=one.name, name=one.name, description=one.description) for one in self.modes
        ]
        models = [SessionConfigSelectOption(value=str(one.ref), name=self._name(one)) for one in self.models]
        if not self.has_model(model):
            models.insert(0, SessionConfigSelectOption(value=model, name=model))
        return [
            SessionConfigOptionSelect(
                type="select", id=MODE, name="Mode", category="mode", current_value=mode, options=modes
            ),
            SessionConfigOptionSelect(
                type="select", id=MODEL, name="Model", category="model", current_value=model, options=models
            ),
        ]

    def _name(self, model: Model) -> str:
        provider = self.providers.get(model.provider_id) or model.provider_id
        return f"{provider}/{model.name or model.model_id}"


def available_commands(commands: Sequence[CommandSummary]) -> list[AvailableCommand]:
    """Return the slash commands, and the one of this program."""
    listed = [
        AvailableCommand(
            name=one.name,
            description=one.description or f"run /{one.name}",
            input=AvailableCommandInput(root=UnstructuredCommandInput(hint="arguments")) if one.hints else None,
        )
        for one in commands
    ]
    if all(one.name != COMPACT for one in listed):
        listed.append(AvailableCommand(name=COMPACT, description="replace older messages by a summary"))
    return listed
