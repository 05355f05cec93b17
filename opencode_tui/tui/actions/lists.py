"""Actions that open a list over the screen: commands, models, agents, themes, keys."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from decimal import Decimal

from msgspec import Struct

from opencode_tui.schema.api.catalog import CommandSummary
from opencode_tui.schema.api.keybinds import ACTIONS, BY_ID, SESSIONS_PAGE, Action
from opencode_tui.schema.model import Model, parse_model_ref
from opencode_tui.text.permission import approvals_words
from opencode_tui.text.quantity import amount
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.dialogs.listing import Choice, ListContent
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.screen_api import AppApi, ChatApi
from opencode_tui.tui.state.controller import SessionController
from opencode_tui.tui.state.model_selection import ModelSelection as Chosen
from opencode_tui.tui.theme.themes import Themes

FIRST_GROUP, LAST_GROUP = "Session", "Program"
"""The first and the last group, so that enter in a list that has just opened does not quit."""

NOTES = {
    "session_compact": "summarizes older messages",
    "session_fork": "original is kept",
    "session_delete": "asks first",
    "messages_undo": "with preview",
    "messages_redo": "until you send a message",
}
"""Notes next to the names of actions."""


def command_choices(keymap: Keymap, can: Callable[[Action], bool], own: Sequence[CommandSummary]) -> list[Choice]:
    """Return all available actions by group, and the user's slash commands after the first group."""
    available = [action for action in ACTIONS if action.scope in ("chat", "app") and can(action)]
    choices = [
        Choice(
            action.id, action.name, NOTES.get(action.id, ""), keymap.first(action.id), group, aliases=_aliases(action)
        )
        for group in _groups()
        for action in available
        if action.group == group and action.id != "command_list"
    ]
    mine = [
        Choice(f"/{one.name}", screen_line(f"/{one.name}"), _line(one.description), group="Your commands")
        for one in own
    ]
    at = next((at for at, one in enumerate(choices) if one.group != FIRST_GROUP), len(choices))
    return [*choices[:at], *mine, *choices[at:]]


def help_choices(keymap: Keymap) -> list[Choice]:
    """Return all actions that have a key; those on the selected session of the sessions page are a group of it."""
    choices: list[Choice] = []
    for group in _groups():
        for action in ACTIONS:
            keys = keymap.keys(action.id)
            if action.group == group and keys:
                key = ", ".join(keys[:3])
                choices.append(Choice(action.id, action.name, key=key, group=group, aliases=_aliases(action)))
        if group == BY_ID["sessions_mark"].group:
            choices += _session_choices(keymap, group)
    return choices


def _session_choices(keymap: Keymap, group: str) -> list[Choice]:
    return [
        Choice(f"page {action.id}", action.name.replace("this", "selected"), key=key, group=group)
        for action in ACTIONS
        if action.on_sessions and (key := keymap.first(action.id, SESSIONS_PAGE))
    ]


def _aliases(action: Action) -> Sequence[str]:
    """Return the names of an action's slash commands, and the words of its ID."""
    return [*action.slash.split(), *action.id.split("_")]


def model_choices(choice: Chosen) -> list[Choice]:
    """Return the available models with their prices, favorites first, then recent ones."""
    current = str(choice.model) if choice.model else ""
    favorites = [name for name in choice.favorites if any(str(one.ref) == name for one in choice.models)]
    recent = [name for name in map(str, choice.recent) if name not in favorites]
    names = {str(one.ref): one for one in choice.models}

    def made(name: str, group: str) -> Choice:
        known = names[name]
        limit = f"{amount(known.limit.context)} tokens" if known.limit.context else "context unknown"
        title = screen_line(known.name or known.model_id)
        facts = [prices(known), variant_words(known, choice.variant if name == current else None)]
        note = " · ".join(filter(None, facts)) or (screen_line(name) if title != name else "")
        return Choice(name, title, note, limit, group, name == current)

    used = [made(name, "Recent") for name in recent if name in names]
    others = (one for one in names if one not in recent and one not in favorites)
    rest = sorted(others, key=lambda name: (names[name].provider_id, name))
    return [
        *(made(name, "Favorites") for name in favorites),
        *used,
        *(made(name, screen_line(names[name].provider_id)) for name in rest),
    ]


def variant_words(model: Model, chosen: str | None = None) -> str:
    """Return `low to max`, with the chosen variant before it; empty for a model without variants."""
    names = [*model.variants]
    if not names:
        return ""
    span = names[0] if len(names) == 1 else f"{names[0]} to {names[-1]}"
    return screen_line(f"{chosen}, of {span}" if chosen else span)


def prices(model: Model) -> str:
    """Return `$3 in, $15 out` per million tokens; empty when they are unknown or free."""
    cost = model.cost
    return f"${_short(cost.input)} in, ${_short(cost.output)} out" if cost.output else ""


def _short(price: Decimal) -> str:
    return f"{price:.4f}".rstrip("0").rstrip(".")


def agent_list(choice: Chosen) -> ListContent:
    """Return the list of agents."""
    choices = [
        Choice(one.name, screen_line(one.name), _line(one.description), is_current=one.name == choice.agent)
        for one in choice.agents
    ]
    return ListContent(choices, hint="Select agent", enter="use")


THEME_NOTES = {
    "dark": "built-in, always dark",
    "light": "built-in, always light",
    "system": "the terminal's own colors",
}


def theme_choices(themes: Themes, current: str) -> list[Choice]:
    """Return all themes."""
    return [
        Choice(
            name,
            screen_line(name),
            "your own" if themes.is_own(name) else THEME_NOTES.get(name, ""),
            is_current=name == current,
        )
        for name in themes.names()
    ]


def _groups() -> list[str]:
    names = dict.fromkeys(action.group for action in ACTIONS)
    return [FIRST_GROUP, *(one for one in names if one not in (FIRST_GROUP, LAST_GROUP)), LAST_GROUP]


def _line(text: str | None) -> str:
    return screen_line(" ".join((text or "").split()))


class ListActions(Struct, frozen=True):
    """Opens lists and applies the choice."""

    screen: ChatApi
    app: AppApi
    control: SessionController
    can: Callable[[Action], bool]
    run: Callable[[str], object]

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {
            "command_list": self._commands,
            "help_view": self._help,
            "model_list": self._models,
            "agent_list": self._agents,
            "theme_list": self._themes,
            "agent_cycle": lambda: self._cycle_agent(1),
            "agent_cycle_reverse": lambda: self._cycle_agent(-1),
            "model_cycle_recent": lambda: self._cycle_model(1),
            "model_cycle_recent_reverse": lambda: self._cycle_model(-1),
            "variant_cycle": self._cycle_variant,
            "approvals_cycle": lambda: self.screen.do(self._cycle_approvals()),
        }

    def with_words(self) -> Mapping[str, Callable[[str], object]]:
        """Return the actions that use the words after the name of their slash command, by id."""
        return {
            "model_list": lambda words: self.screen.do(self._choose_model(words)),
            "agent_list": self._agents,
            "theme_list": self._themes,
        }

    def _open(self, content: ListContent, done: Callable[[str], object], typed: str = "") -> None:
        """Open a list filtered by `typed`; if that is the ID of a choice, choose it at once."""
        if any(one.id == typed for one in content.choices):
            done(typed)
            return
        content = replace(content, typed=typed)
        self.app.open_overlay(content, lambda chosen: done(chosen) if chosen is not None else None)

    def _commands(self) -> None:
        """Open the list at once, so that no key after it goes to the prompt; the user's commands follow when they are read."""
        available = {action.id for action in ACTIONS if self.can(action)}

        def content(own: Sequence[CommandSummary]) -> ListContent:
            choices = command_choices(self.app.keymap, lambda action: action.id in available, own)
            return ListContent(choices, hint="What do you want to do?", enter="run")

        def run(chosen: str) -> None:
            if chosen.startswith("/"):
                self.screen.prompt.editor.put(f"{chosen} ")
            else:
                self.run(chosen)

        async def add_own() -> None:
            self.app.update_overlay(content(await self.control.client.catalog.commands()))

        self._open(content(()), run)
        self.screen.do(add_own())

    def _help(self) -> None:
        choices = help_choices(self.app.keymap)

        def run(chosen: str) -> None:
            action = BY_ID.get(chosen)
            if action is not None and self.can(action):
                self.run(chosen)

        self._open(ListContent(choices, hint="Keyboard shortcuts", enter="run"), run)

    async def _choose_model(self, typed: str) -> None:
        """Choose the model of this name, or open the list filtered by it."""
        await self.control.choice.load_models()
        self._models(typed)

    def _models(self, typed: str = "") -> None:
        """Open the list with the models that are known, so that no key after it goes to the prompt; read them again."""

        def use(chosen: str) -> None:
            ref = parse_model_ref(chosen)
            if ref is not None:
                self.control.choice.use(ref)
                self.screen.refresh_chrome()

        choice = self.control.choice

        async def toggle(name: str) -> None:
            await choice.toggle_favorite(name)
            self.app.update_overlay(content())

        def connect(_name: str) -> None:
            self.app.pop_overlay()
            self.run("login_view")

        def content() -> ListContent:
            return ListContent(
                model_choices(choice),
                hint="Filter models (prices per million tokens)",
                enter="use",
                scope="list:models",
                extra={
                    "model_favorite_toggle": ("favorite", lambda name: self.screen.do(toggle(name))),
                    "model_provider_list": ("connect a provider", connect),
                },
            )

        async def read_again() -> None:
            await choice.load_models()
            self.app.update_overlay(content())
            if await self.control.client.catalog.local_servers():
                await choice.load_models()
                self.app.update_overlay(content())
            if await choice.refresh_models():
                self.app.update_overlay(content())

        self._open(content(), use, typed)
        if not typed:
            self.screen.do(read_again())

    def _agents(self, typed: str = "") -> None:
        def use(chosen: str) -> None:
            self.control.choice.agent = chosen
            self.screen.refresh_chrome()

        self._open(agent_list(self.control.choice), use, typed)

    def _themes(self, typed: str = "") -> None:
        """Preview the selected theme; closing the list restores the previous one."""
        app = self.app
        if app.themes is None:
            return
        before = app.look
        choices = theme_choices(app.themes, before.palette.name)

        def done(chosen: str | None) -> None:
            if chosen is None:
                app.apply_look(before)
            else:
                app.apply_theme(chosen)
                self.screen.show_note("note", "To make it permanent", f'set "theme": "{chosen}" in opencode.json')

        content = ListContent(choices, hint="Filter themes", enter="apply", moved=app.apply_theme, typed=typed)
        app.open_overlay(content, done)

    def _cycle_agent(self, step: int) -> None:
        self.control.choice.cycle_agent(step)
        self.screen.refresh_chrome()

    def _cycle_model(self, step: int) -> None:
        before = self.control.choice.model
        if self.control.choice.cycle_model(step) == before:
            self.screen.show_note("note", "No other recent model", "/models lists all")
        self.screen.refresh_chrome()

    async def _cycle_approvals(self) -> None:
        mode = await self.control.cycle_approvals()
        self.screen.show_note("note", f"Approvals: {mode}", approvals_words(mode, self.control.sandbox))

    async def _cycle_variant_later(self) -> None:
        await self.control.choice.models_read.wait()
        self._cycle_variant()

    def _cycle_variant(self) -> None:
        choice = self.control.choice
        if not choice.models_read.is_set():
            self.screen.show_note("note", "The models are being read", "the variant changes then")
            self.screen.do(self._cycle_variant_later())
            return
        names = [*choice.details.variants] if choice.details else []
        chosen = choice.cycle_variant()
        if names:
            words = " · ".join(screen_line(name) for name in ("default", *names))
            self.screen.show_note("note", f"Variant: {screen_line(chosen or 'default')}", words)
            self.screen.do(choice.store_variant())
        else:
            self.screen.show_note("note", "This model has no variants")
        self.screen.refresh_chrome()
