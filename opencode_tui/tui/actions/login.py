"""The action that connects a provider: by a sign-in with the browser, or by its API key."""

from dataclasses import replace

from opencode_tui.schema.api.catalog import ProviderSummary
from opencode_tui.schema.model import COPILOT, COPILOT_USE, COPILOT_WARNING
from opencode_tui.text.account import SIGN_INS, account_kind
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.actions.sign_in import CHATGPT, connected, sign_in
from opencode_tui.tui.chat.chat import Chat, action
from opencode_tui.tui.dialogs.confirm import Confirmation, ConfirmPanel
from opencode_tui.tui.dialogs.overlay import Choice, ListContent
from opencode_tui.tui.dialogs.text_panel import TextAsk, TextPanel
from opencode_tui.tui.keys.keyed import dismisses

COMMON = ("anthropic", "openai", "google", "gemini", "openrouter", "deepseek", "mistral", "groq", "xai")
"""Providers that are listed first."""


_BROWSER = "browser:"
"""What the IDs of the choices that sign in with the browser start with."""


@action("login_view")
def choose_provider(chat: Chat) -> None:
    """Open the list, so that no key after it goes to the prompt, and fill it when the providers are read."""

    def done(chosen: str | None) -> None:
        if chosen is not None and chosen.startswith(_BROWSER):
            sign_in(chat, chosen.removeprefix(_BROWSER))
        elif chosen == COPILOT:
            _warn_of_copilot(chat)
        elif chosen is not None:
            _ask_key(chat, chosen)

    content = ListContent((), hint="Connect a provider", enter="connect", is_reading=True)

    async def fill() -> None:
        catalog = chat.control.client.catalog
        read = replace(content, is_reading=False, problem="The providers cannot be read")
        try:
            ready = {one.id for one in await catalog.providers(only_ready=True)}
            choices = provider_choices([one for one in await catalog.providers() if one.id != "demo"], ready)
            read = replace(read, choices=choices, problem="")
        finally:
            chat.app.update_overlay(read)

    chat.app.open_overlay(content, done)
    chat.do(fill())


def _ask_key(chat: Chat, provider_id: str) -> None:
    def done(key: str) -> None:
        chat.panels.close()
        if key:
            chat.do(_store(chat, provider_id, key))

    name = screen_line(provider_id)
    ask = TextAsk(f"API key for {name}", "save", hint="in auth.json, for you only", is_secret=True)
    chat.panels.open(TextPanel(ask, done=done, back=chat.panels.close))


def _warn_of_copilot(chat: Chat) -> None:
    """Say with whose identity it would be asked; opencode-tui has no sign-in to it."""
    close = dismisses("close", chat.panels.close)
    question = Confirmation(
        title="GitHub Copilot",
        about=(f"{COPILOT_WARNING}.", f"{COPILOT_USE[:1].upper()}{COPILOT_USE[1:]}."),
        answers=close,
        scope="panel:notice",
    )
    chat.panels.open(ConfirmPanel(question))


async def _store(chat: Chat, provider_id: str, key: str) -> None:
    settings = chat.control.client.settings
    await settings.store_key(provider_id, key)
    override = await settings.key_override(provider_id)
    models = await connected(chat, provider_id)
    if override:
        chat.show_note("failed", "Saved, but not used", override)
        return
    chat.show_note(
        "done",
        f"Saved the API key for {screen_line(provider_id)}",
        f"{plural(models, 'model')} available · the first request tries it"
        if models
        else "its models can be used by name · the first request tries it",
    )


def provider_choices(providers: list[ProviderSummary], ready: set[str]) -> list[Choice]:
    """Return the sign-ins with the browser, then the providers, common ones first; `ready` ones are connected.

    None is the active choice: the list starts with the sign-ins.
    """
    order = {name: at for at, name in enumerate(COMMON)}
    listed = sorted(providers, key=lambda one: (order.get(one.id, len(order)), one.id))
    return [
        *(
            Choice(
                f"{_BROWSER}{name}",
                words,
                needs,
                "connected" if name == CHATGPT and name in ready else "",
                group="With the browser",
            )
            for name, (words, needs) in SIGN_INS.items()
        ),
        *(
            Choice(
                one.id,
                screen_line(one.name or one.id),
                account_kind(one.id),
                "connected" if one.id in ready else "",
                group="Common" if one.id in order else "All",
            )
            for one in listed
            if one.id != CHATGPT
        ),
    ]
