"""Acts that open a list over the screen: commands, sessions, models, agents, themes, keys."""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, cast

from opencode_tui.schema.model import parse_model_ref
from opencode_tui.tui.acts.offers import (
    agent_offer,
    command_choices,
    help_choices,
    model_choices,
    theme_choices,
)
from opencode_tui.tui.control import Control
from opencode_tui.tui.dialogs.listing import Offer
from opencode_tui.tui.keymap import BY_ID

if TYPE_CHECKING:
    from opencode_tui.tui.acts.acts import Acts
    from opencode_tui.tui.app import OpenCodeApp
    from opencode_tui.tui.screens.chat import ChatScreen


class ListActs:
    """Each act opens one list; what is chosen is done at once."""

    def __init__(self, screen: "ChatScreen", control: Control, acts: "Acts") -> None:
        self._screen = screen
        self._control = control
        self._acts = acts

    def table(self) -> Mapping[str, Callable[[], object]]:
        """By action id."""
        return {
            "command_list": lambda: self._screen.do(self._commands()),
            "help_view": self._help,
            "model_list": lambda: self._screen.do(self._models()),
            "agent_list": self._agents,
            "theme_list": self._themes,
            "agent_cycle": lambda: self._cycle_agent(1),
            "agent_cycle_reverse": lambda: self._cycle_agent(-1),
            "model_cycle_recent": lambda: self._cycle_model(1),
            "model_cycle_recent_reverse": lambda: self._cycle_model(-1),
            "variant_cycle": self._cycle_variant,
        }

    @property
    def _app(self) -> "OpenCodeApp":
        return cast("OpenCodeApp", self._screen.app)

    def _open(self, offer: Offer, done: Callable[[str], object]) -> None:
        self._app.open_overlay(offer, lambda chosen: done(chosen) if chosen is not None else None)

    async def _commands(self) -> None:
        own = await self._control.client.catalog.commands()
        choices = command_choices(self._screen.keymap, self._acts.can, own)

        def run(chosen: str) -> None:
            if chosen.startswith("/"):
                self._screen.prompt.editor.put(f"{chosen} ")
            else:
                self._acts.do(chosen)

        self._open(Offer(choices, hint="What do you want to do?", enter="run"), run)

    def _help(self) -> None:
        choices = help_choices(self._screen.keymap)

        def run(chosen: str) -> None:
            action = BY_ID.get(chosen)
            if action is not None and self._acts.can(action):
                self._acts.do(chosen)

        self._open(Offer(choices, hint="Keys in force", enter="do it"), run)

    async def _models(self) -> None:
        await self._control.choice.load_models()

        def use(chosen: str) -> None:
            ref = parse_model_ref(chosen)
            if ref is not None:
                self._control.choice.use(ref)
                self._screen.settle()

        self._open(Offer(model_choices(self._control.choice), hint="Type to filter the models", enter="use"), use)

    def _agents(self) -> None:
        def use(chosen: str) -> None:
            self._control.choice.agent = chosen
            self._screen.settle()

        self._open(agent_offer(self._control.choice), use)

    def _themes(self) -> None:
        """Every row is worn while one looks at it; closing the list brings back what was worn before."""
        app = self._app
        if app.themes is None:
            return
        before = app.look
        choices = theme_choices(app.themes, before.palette.name)

        def done(chosen: str | None) -> None:
            if chosen is None:
                app.wear(before)
            else:
                app.wear_theme(chosen)
                self._screen.tell("note", "To keep it", f'"theme": "{chosen}" in opencode.json')

        app.open_overlay(Offer(choices, hint="Type to filter the themes", enter="wear it", moved=app.wear_theme), done)

    def _cycle_agent(self, step: int) -> None:
        self._control.choice.cycle_agent(step)
        self._screen.settle()

    def _cycle_model(self, step: int) -> None:
        self._control.choice.cycle_model(step)
        self._screen.settle()

    def _cycle_variant(self) -> None:
        self._control.choice.cycle_variant()
        self._screen.settle()
