"""What the lists offer, made of what is known; every text is safe."""

from collections.abc import Callable, Sequence

from opencode_tui.schema.catalog import CommandSummary
from opencode_tui.text.quantity import amount
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.choice import Choice as Chosen
from opencode_tui.tui.dialogs.listing import Choice, Offer
from opencode_tui.tui.keymap import ACTIONS, BY_ID, SESSION_PAGE, Action, Keymap
from opencode_tui.tui.theme.themes import Themes

FIRST_GROUP, LAST_GROUP = "Session", "Program"
"""What one opens the list for, and what ends the program: enter on a list that has just opened does no harm."""

NOTES = {
    "session_compact": "sums up older messages",
    "session_fork": "the source stays as it is",
    "session_delete": "asks first",
    "messages_undo": "shows first what goes",
    "messages_redo": "until you send something new",
}
"""What an act does beside its name, where that calms."""


def command_choices(keymap: Keymap, can: Callable[[Action], bool], own: Sequence[CommandSummary]) -> list[Choice]:
    """Every act that makes sense now, by group, then the person's own slash commands."""
    acts = [action for action in ACTIONS if action.area in ("chat", "app") and can(action)]
    choices = [
        Choice(action.id, action.name, NOTES.get(action.id, ""), keymap.first(action.id), group)
        for group in _groups()
        for action in acts
        if action.group == group and action.id != "command_list"
    ]
    mine = [
        Choice(f"/{one.name}", screen_line(f"/{one.name}"), _line(one.description), group="Your commands")
        for one in own
    ]
    at = next((at for at, one in enumerate(choices) if one.group != FIRST_GROUP), len(choices))
    return [*choices[:at], *mine, *choices[at:]]


def help_choices(keymap: Keymap) -> list[Choice]:
    """Every binding in force; what has no key is left out."""
    choices: list[Choice] = []
    for group in _groups():
        for action in ACTIONS:
            keys = keymap.keys(action.id)
            if action.group == group and keys:
                choices.append(Choice(action.id, action.name, key=", ".join(keys[:3]), group=group))
    return [*choices, *_page_choices(keymap)]


def _page_choices(keymap: Keymap) -> list[Choice]:
    """What acts on the chosen session of the page of sessions."""
    named = {action_id: keymap.page_hint(action_id) for action_id in SESSION_PAGE}
    group = "In the list of sessions"
    return [
        Choice(f"page {action_id}", BY_ID[action_id].name.replace("this", "the chosen"), key=key, group=group)
        for action_id, key in named.items()
        if key
    ]


def model_choices(choice: Chosen) -> list[Choice]:
    """The models that can be used here, those of this session's use first."""
    current = str(choice.model) if choice.model else ""
    recent = [str(one) for one in choice.recent]
    names = {str(one.ref): one for one in choice.models}

    def made(name: str, group: str) -> Choice:
        known = names[name]
        limit = f"{amount(known.limit.context)} tokens" if known.limit.context else ""
        title = screen_line(known.name or known.model_id)
        return Choice(name, title, screen_line(name) if title != name else "", limit, group, name == current)

    used = [made(name, "Used lately") for name in recent if name in names]
    rest = sorted((one for one in names if one not in recent), key=lambda name: (names[name].provider_id, name))
    return [*used, *(made(name, screen_line(names[name].provider_id)) for name in rest)]


def agent_offer(choice: Chosen) -> Offer:
    """The agents that one can work with."""
    choices = [
        Choice(one.name, screen_line(one.name), _line(one.description), is_current=one.name == choice.agent)
        for one in choice.agents
    ]
    return Offer(choices, hint="Which agent works?", enter="use")


def theme_choices(themes: Themes, worn: str) -> list[Choice]:
    """Every theme that can be worn."""
    return [
        Choice(name, screen_line(name), "your own" if themes.is_own(name) else "", is_current=name == worn)
        for name in themes.names()
    ]


def _groups() -> list[str]:
    names = dict.fromkeys(action.group for action in ACTIONS)
    return [FIRST_GROUP, *(one for one in names if one not in (FIRST_GROUP, LAST_GROUP)), LAST_GROUP]


def _line(text: str | None) -> str:
    return screen_line(" ".join((text or "").split()))
