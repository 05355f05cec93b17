"""Actions that open a list over the screen: commands, models, agents, themes, keys."""

import re
from collections.abc import Callable, Container, Sequence
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING

from opencode_tui.schema.api.keybinds import ACTIONS, BY_ID, SESSIONS_PAGE, Action
from opencode_tui.schema.model import Model, parse_model_ref
from opencode_tui.schema.permission import APPROVALS, Approvals
from opencode_tui.text.cells import width as cells
from opencode_tui.text.cost import plan_words
from opencode_tui.text.permission import approvals_words
from opencode_tui.text.quantity import amount
from opencode_tui.text.safe_text import screen_line
from opencode_tui.text.variant import choosable_variants, default_words, reread_words, variant_words
from opencode_tui.tui.chat.chat import Chat, action, is_useful
from opencode_tui.tui.dialogs.overlay import Choice, ListContent
from opencode_tui.tui.keys.keyed import KeyedScreen
from opencode_tui.tui.keys.keymap import Keymap
from opencode_tui.tui.keys.router import KeyTarget
from opencode_tui.tui.state.model_selection import ModelSelection as Chosen
from opencode_tui.tui.theme.themes import Themes

if TYPE_CHECKING:
    from opencode_tui.schema.api.folder import CommandSummary

FEWEST_NAME, MOST_NAME = 25, 32
"""Cells between which the column of the models' names is as wide as the longest one."""

FIRST_GROUP, LAST_GROUP = "Session", "Program"
"""The first and the last group, so that enter in a list that has just opened does not quit."""

SESSIONS_GROUP = BY_ID["sessions_mark"].group
"""The group of the actions of the sessions page."""


def command_choices(keymap: Keymap, can: Callable[[Action], bool], own: Sequence["CommandSummary"]) -> list[Choice]:
    """Return all available actions by group, and the user's slash commands after the first group."""
    available = [row for row in ACTIONS if row.scope in ("chat", "app") and can(row)]
    choices = [
        Choice(
            row.id, row.name, row.fact, keymap.first(row.id), group, aliases=_aliases(row), commands=row.slash.split()
        )
        for group in _groups()
        for row in available
        if row.group == group and row.id != "command_list"
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
        for row in ACTIONS:
            keys = keymap.keys(row.id)
            if row.group == group and keys:
                key = ", ".join(keys[:3])
                choices.append(Choice(row.id, row.name, key=key, group=group, aliases=_aliases(row)))
        if group == SESSIONS_GROUP:
            choices += _session_choices(keymap, group)
    return choices


def page_choices(keymap: Keymap, page: KeyTarget) -> list[Choice]:
    """Return the actions of a page that have a key and are available now; those of the page itself come first."""
    choices: list[Choice] = []
    used: set[str] = set()
    for scope in page.scopes:
        for row in ACTIONS:
            is_own = row.scope == scope
            keys = [key for key in keymap.keys(row.id, scope) if key not in used]
            if (is_own or (scope == SESSIONS_PAGE and row.on_sessions)) and keys and page.can(row):
                used.update(keys)
                name = row.name if is_own else row.name.replace("this", "selected")
                group = row.group if is_own else SESSIONS_GROUP
                choices.append(Choice(row.id, name, key=", ".join(keys[:3]), group=group, aliases=_aliases(row)))
    return choices


def _session_choices(keymap: Keymap, group: str) -> list[Choice]:
    return [
        Choice(f"page {row.id}", row.name.replace("this", "selected"), key=key, group=group)
        for row in ACTIONS
        if row.on_sessions and (key := keymap.first(row.id, SESSIONS_PAGE))
    ]


def _aliases(row: Action) -> Sequence[str]:
    """Return the names of an action's slash commands, and the words of its ID."""
    return [*row.slash.split(), *row.id.split("_")]


def model_choices(choice: Chosen) -> list[Choice]:
    """Return the available models with their prices: favorites, then the current and recent ones, then each provider's.

    A version with a date is folded where the list has the name without one, unless it is a favorite or was used.
    """
    current = str(choice.model) if choice.model else ""
    favorites = [name for name in choice.favorites if any(str(one.ref) == name for one in choice.models)]
    used = [*([current] if current else []), *map(str, choice.recent)]
    recent = list(dict.fromkeys(name for name in used if name not in favorites))
    names = {str(one.ref): one for one in choice.models}

    def made(name: str, group: str, *, is_folded: bool = False) -> Choice:
        known = names[name]
        limit = f"{amount(known.limit.context)} tokens" if known.limit.context else "context unknown"
        title = screen_line(known.name or known.model_id)
        price = prices(known)
        variants = screen_line(variant_words(known, choice.variant if name == current else None))
        note = f"{price} · {variants}" if variants else price
        return Choice(name, title, note, limit, group, name == current, brief=price, is_folded=is_folded)

    others = (one for one in names if one not in recent and one not in favorites)
    rest = sorted(others, key=lambda name: (names[name].provider_id, name))
    return [
        *(made(name, "Favorites") for name in favorites),
        *(made(name, "Recent") for name in recent if name in names),
        *(made(name, screen_line(names[name].provider_id), is_folded=_is_dated_double(name, names)) for name in rest),
    ]


_DATE = re.compile(r"-(?:\d{8}|\d{4}-\d\d-\d\d)\Z")


def _is_dated_double(name: str, names: Container[str]) -> bool:
    """Return whether a name ends with a date, as `claude-opus-4-5-20251101`, and the list has it without."""
    bare = _DATE.sub("", name)
    return bare != name and bare in names


def prices(model: Model) -> str:
    """Return `$3 in, $15 out` per million tokens, or why there are no prices."""
    cost = model.cost
    if cost.output or cost.input:
        return f"${_short(cost.input)} in, ${_short(cost.output)} out"
    return plan_words(model.provider_id) or ("free" if cost.is_known or model.adapter == "demo" else "no price known")


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
    names = dict.fromkeys(row.group for row in ACTIONS)
    return [FIRST_GROUP, *(one for one in names if one not in (FIRST_GROUP, LAST_GROUP)), LAST_GROUP]


def _line(text: str | None) -> str:
    return screen_line(" ".join((text or "").split()))


def _open(chat: Chat, content: ListContent, done: Callable[[str], object], typed: str = "") -> None:
    """Open a list filtered by `typed`; if that is the ID of a choice, choose it at once."""
    if any(one.id == typed for one in content.choices):
        done(typed)
        return
    content = replace(content, typed=typed)
    chat.app.open_overlay(content, lambda chosen: done(chosen) if chosen is not None else None)


@action("command_list")
def list_commands(chat: Chat) -> None:
    """Open the list at once, so that no key after it goes to the prompt; the user's commands follow when they are read."""
    available = {row.id for row in ACTIONS if chat.has(row) and is_useful(chat, row)}

    def content(own: Sequence["CommandSummary"]) -> ListContent:
        choices = command_choices(chat.app.keymap, lambda row: row.id in available, own)
        return ListContent(choices, hint="What do you want to do?", enter="run")

    def run(chosen: str) -> None:
        if chosen.startswith("/"):
            chat.prompt.editor.put(f"{chosen} ")
        else:
            chat.run(chosen)

    async def add_own() -> None:
        chat.app.update_overlay(content(await chat.control.client.catalog.commands()))

    _open(chat, content(()), run)
    chat.do(add_own())


@action("help_view")
def list_keys(chat: Chat) -> None:
    """Open the list of all keys, over a page that of its keys, which runs the chosen action."""
    page = chat.app.screen
    over = page if isinstance(page, KeyedScreen) and page.has_help else None
    subject = over.subject if over is not None else None
    choices = page_choices(chat.app.keymap, over) if over is not None else help_choices(chat.app.keymap)

    def run(chosen: str) -> None:
        row = BY_ID.get(chosen)
        if row is None:
            return
        if over is None and chat.has(row):
            chat.run(chosen)
        elif over is not None and over.is_current and over.subject == subject and over.can(row):
            over.act(chosen)

    _open(chat, ListContent(choices, hint="Keyboard shortcuts", enter="run"), run)


@action("model_list", with_words=True)
def choose_model(chat: Chat, words: str = "") -> None:
    """Open the list of models; or choose the model of this name, or open the list filtered by it."""
    if words:
        chat.do(_choose_named_model(chat, words))
    else:
        _models(chat)


async def _choose_named_model(chat: Chat, words: str) -> None:
    await chat.control.choice.load_models()
    _models(chat, words)


def _models(chat: Chat, typed: str = "") -> None:
    """Open the list with the models that are known, so that no key after it goes to the prompt; read them again."""

    def use(chosen: str) -> None:
        ref = parse_model_ref(chosen)
        if ref is not None:
            chat.control.choice.use(ref)
            chat.refresh_chrome()

    choice = chat.control.choice

    async def toggle(name: str) -> None:
        await choice.toggle_favorite(name)
        chat.app.update_overlay(content())

    def connect(_name: str) -> None:
        chat.app.pop_overlay()
        chat.run("login_view")

    def content() -> ListContent:
        choices = model_choices(choice)
        longest = max((cells(one.text) for one in choices if not one.is_folded), default=0)
        return ListContent(
            choices,
            notes_at=min(MOST_NAME, max(FEWEST_NAME, longest)) + 5,
            hint="Filter models (prices per million tokens)",
            enter="use",
            scope="list:models",
            extra={
                "model_favorite_toggle": ("favorite", lambda name: chat.do(toggle(name))),
                "model_provider_list": ("connect a provider", connect),
            },
        )

    async def read_again() -> None:
        await choice.load_models()
        chat.app.update_overlay(content())
        found = await chat.control.client.catalog.local_servers()
        chat.notices.local_servers, chat.notices.can_look_for_servers = found, False
        chat.refresh_chrome()
        if found:
            await choice.load_models()
            chat.app.update_overlay(content())
        if await choice.refresh_models():
            chat.app.update_overlay(content())

    _open(chat, content(), use, typed)
    if not typed:
        chat.do(read_again())


@action("agent_list", with_words=True)
def choose_agent(chat: Chat, typed: str = "") -> None:
    """Open the list of agents, or choose the one of this name."""
    if _keeps_agent(chat):
        return

    def use(chosen: str) -> None:
        chat.control.choice.agent = chosen
        chat.refresh_chrome()

    _open(chat, agent_list(chat.control.choice), use, typed)


@action("theme_list", with_words=True)
def choose_theme(chat: Chat, typed: str = "") -> None:
    """Preview the selected theme; closing the list restores the previous one."""
    app = chat.app
    if app.themes is None:
        return
    before = app.look
    choices = theme_choices(app.themes, before.palette.name)

    def done(chosen: str | None) -> None:
        if chosen is None:
            app.apply_look(before)
        else:
            app.apply_theme(chosen)
            chat.do(chat.save_setting({"theme": chosen}, f"theme {chosen}"))

    content = ListContent(choices, hint="Filter themes", enter="apply", moved=app.apply_theme, typed=typed)
    app.open_overlay(content, done)


@action("agent_cycle")
def next_agent(chat: Chat) -> None:
    """Choose the next agent."""
    _cycle_agent(chat, 1)


@action("agent_cycle_reverse")
def previous_agent(chat: Chat) -> None:
    """Choose the previous agent."""
    _cycle_agent(chat, -1)


def _keeps_agent(chat: Chat) -> bool:
    """Return whether the shown session is one of a subagent, which a prompt cannot give to another agent; say so."""
    name = chat.control.subagent
    if name:
        chat.show_note("note", f"This is a session of {screen_line(name)}", "your prompts here are for it too")
    return bool(name)


def _cycle_agent(chat: Chat, step: int) -> None:
    if _keeps_agent(chat):
        return
    chat.control.choice.cycle_agent(step)
    chat.refresh_chrome()


@action("model_cycle_recent")
def next_model(chat: Chat) -> None:
    """Choose the next recent model."""
    _cycle_model(chat, 1)


@action("model_cycle_recent_reverse")
def previous_model(chat: Chat) -> None:
    """Choose the previous recent model."""
    _cycle_model(chat, -1)


def _cycle_model(chat: Chat, step: int) -> None:
    before = chat.control.choice.model
    if chat.control.choice.cycle_model(step) == before:
        chat.show_note("note", "No other recent model", "/models lists all")
    chat.refresh_chrome()


@action("approvals_list", with_words=True)
def choose_approvals(chat: Chat, typed: str = "") -> None:
    """Open the list of modes of approvals, each with what it means; or use the mode of this name."""

    async def use(name: str) -> None:
        _show_approvals(chat, await chat.control.set_approvals(APPROVALS[[*APPROVALS].index(name)]))
        chat.refresh_chrome()

    choices = [
        Choice(mode, mode, approvals_words(mode, chat.notices.sandbox), is_current=mode == chat.control.approvals)
        for mode in APPROVALS
    ]
    _open(chat, ListContent(choices, hint="Approvals", enter="use"), lambda mode: chat.do(use(mode)), typed)


@action("approvals_cycle")
async def cycle_approvals(chat: Chat) -> None:
    """Change the mode of approvals of the shown session."""
    _show_approvals(chat, await chat.control.cycle_approvals())


def _show_approvals(chat: Chat, mode: Approvals) -> None:
    chat.show_note("note", f"Approvals: {mode}", approvals_words(mode, chat.notices.sandbox))


async def _cycle_variant_later(chat: Chat) -> None:
    await chat.control.choice.models_read.wait()
    cycle_variant(chat)


@action("variant_cycle")
def cycle_variant(chat: Chat) -> None:
    """Choose the next variant of the model, once the models are read."""
    choice = chat.control.choice
    if not choice.models_read.is_set():
        chat.show_note("note", "The models are being read", "the variant changes then")
        chat.do(_cycle_variant_later(chat))
        return
    known = choice.details
    chosen = choice.cycle_variant()
    if known is not None and known.variants:
        default = default_words(known)
        names = " · ".join(screen_line(name or default) for name in choosable_variants(known))
        facts = chat.control.facts
        cost = reread_words(facts.context if facts is not None else 0, known)
        chat.show_note("note", f"Variant: {screen_line(chosen or default)}", f"{cost}; {names}" if cost else names)
        chat.do(choice.store_variant())
    else:
        chat.show_note("note", "This model has no variants")
    chat.refresh_chrome()
