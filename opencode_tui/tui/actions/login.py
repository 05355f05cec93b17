"""The action that stores the API key of a provider."""

from dataclasses import replace

from opencode_tui.schema.api.catalog import ProviderSummary
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.actions.registry import action
from opencode_tui.tui.chat.chat import Chat
from opencode_tui.tui.dialogs.listing import Choice, ListContent
from opencode_tui.tui.dialogs.text_panel import TextAsk, TextPanel

COMMON = ("anthropic", "openai", "google", "gemini", "openrouter", "deepseek", "mistral", "groq", "xai")
"""Providers that are listed first."""


@action("login_view")
def choose_provider(chat: Chat) -> None:
    """Open the list, so that no key after it goes to the prompt, and fill it when the providers are read."""

    def done(chosen: str | None) -> None:
        if chosen == "chatgpt":  # it has accounts in place of a key
            chat.show_note("note", "Continue with ChatGPT", "run `opencode-tui auth login chatgpt` in a shell")
        elif chosen is not None:
            _ask_key(chat, chosen)

    content = ListContent((), hint="Connect a provider", enter="enter key", is_reading=True)

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
    ask = TextAsk(f"API key for {name}", "save", hint="stored in auth.json, readable by you only", is_secret=True)
    chat.panels.open(TextPanel(ask, done=done, back=chat.panels.close))


async def _store(chat: Chat, provider_id: str, key: str) -> None:
    settings = chat.control.client.settings
    await settings.store_key(provider_id, key)
    override = await settings.key_override(provider_id)
    await chat.control.choice.load_models()
    chat.do(_read_lists(chat))  # a provider may have a list of its own
    models = [one for one in chat.control.choice.models if one.provider_id == provider_id]
    chosen = chat.control.choice.model
    if chosen is None or chosen.provider_id == "demo":
        chat.control.choice.model = await chat.control.client.catalog.default_model()
    chat.refresh_chrome()
    if override:
        chat.show_note("failed", "Saved, but not used", override)
        return
    chat.show_note(
        "done",
        f"Connected {provider_id}",
        f"{plural(len(models), 'model')} available" if models else "its models can be used by name",
    )


async def _read_lists(chat: Chat) -> None:
    if await chat.control.choice.refresh_models():
        chat.refresh_chrome()


def provider_choices(providers: list[ProviderSummary], ready: set[str]) -> list[Choice]:
    """Return the providers, common ones first, then by ID; `ready` ones have a key."""
    order = {name: at for at, name in enumerate(COMMON)}
    listed = sorted(providers, key=lambda one: (order.get(one.id, len(order)), one.id))
    return [
        Choice(
            one.id,
            screen_line(one.name or one.id),
            "connected" if one.id in ready else "",
            group="Common" if one.id in order else "All",
            is_current=one.id in ready,
        )
        for one in listed
    ]
