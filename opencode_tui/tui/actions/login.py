"""The action that connects a provider: by a sign-in with the browser, or by its API key."""

from collections.abc import Callable, Mapping
from dataclasses import replace

from msgspec import Struct

from opencode_tui.schema.api.catalog import ProviderSummary
from opencode_tui.schema.model import COPILOT, COPILOT_USE, COPILOT_WARNING
from opencode_tui.text.account import SIGN_INS, account_kind
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.actions.sign_in import CHATGPT, SignInActions
from opencode_tui.tui.dialogs.confirm import ConfirmPanel, Question
from opencode_tui.tui.dialogs.listing import Choice, ListContent
from opencode_tui.tui.dialogs.panel import PanelKey
from opencode_tui.tui.dialogs.text_panel import TextAsk, TextPanel
from opencode_tui.tui.screen_api import AppApi, ChatApi, PanelApi
from opencode_tui.tui.state.controller import SessionController

COMMON = ("anthropic", "openai", "google", "gemini", "openrouter", "deepseek", "mistral", "groq", "xai")
"""Providers that are listed first."""


_BROWSER = "browser:"
"""What the IDs of the choices that sign in with the browser start with."""


class LoginActions(Struct, frozen=True):
    """Lists the providers; signs in, or asks for a key, which is used at once."""

    screen: ChatApi
    app: AppApi
    panels: PanelApi
    control: SessionController

    def table(self) -> Mapping[str, Callable[[], object]]:
        """Return the actions by id."""
        return {"login_view": self._choose}

    def _choose(self) -> None:
        """Open the list, so that no key after it goes to the prompt, and fill it when the providers are read."""
        sign_in = SignInActions(self.screen, self.app, self.panels, self.control, self._connected)

        def done(chosen: str | None) -> None:
            if chosen is not None and chosen.startswith(_BROWSER):
                sign_in.begin(chosen.removeprefix(_BROWSER))
            elif chosen == COPILOT:
                self._warn_of_copilot()
            elif chosen is not None:
                self._ask_key(chosen)

        content = ListContent((), hint="Connect a provider", enter="connect", is_reading=True)

        async def fill() -> None:
            catalog = self.control.client.catalog
            read = replace(content, is_reading=False, problem="The providers cannot be read")
            try:
                ready = {one.id for one in await catalog.providers(only_ready=True)}
                choices = provider_choices([one for one in await catalog.providers() if one.id != "demo"], ready)
                read = replace(read, choices=choices, problem="")
            finally:
                self.app.update_overlay(read)

        self.app.open_overlay(content, done)
        self.screen.do(fill())

    def _ask_key(self, provider_id: str) -> None:
        def done(key: str) -> None:
            self.panels.close()
            if key:
                self.screen.do(self._store(provider_id, key))

        name = screen_line(provider_id)
        ask = TextAsk(f"API key for {name}", "save", hint="stored in auth.json, readable by you only", is_secret=True)
        self.panels.open(TextPanel(ask, done=done, back=self.panels.close))

    def _warn_of_copilot(self) -> None:
        """Say with whose identity it would be asked; opencode-tui has no sign-in to it."""
        close = (PanelKey("enter", "close", self.panels.close), PanelKey("escape", "", self.panels.close))
        question = Question(
            title="GitHub Copilot",
            about=(f"{COPILOT_WARNING}.", f"{COPILOT_USE[:1].upper()}{COPILOT_USE[1:]}."),
            answers=close,
        )
        self.panels.open(ConfirmPanel(question))

    async def _store(self, provider_id: str, key: str) -> None:
        settings = self.control.client.settings
        await settings.store_key(provider_id, key)
        override = await settings.key_override(provider_id)
        models = await self._connected(provider_id)
        if override:
            self.screen.show_note("failed", "Saved, but not used", override)
            return
        self.screen.show_note(
            "done",
            f"Connected {provider_id}",
            f"{plural(models, 'model')} available" if models else "its models can be used by name",
        )

    async def _connected(self, provider_id: str) -> int:
        """Read the models again, choose one if there was none, and return how many the provider has."""
        await self.control.choice.load_models()
        self.screen.do(self._read_lists())  # a provider may have a list of its own
        chosen = self.control.choice.model
        if chosen is None or chosen.provider_id == "demo":
            self.control.choice.model = await self.control.client.catalog.default_model()
        self.screen.refresh_chrome()
        return sum(one.provider_id == provider_id for one in self.control.choice.models)

    async def _read_lists(self) -> None:
        if await self.control.choice.refresh_models():
            self.screen.refresh_chrome()


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
