"""Sign-ins with the browser: the panel that waits for one, the accounts of ChatGPT, signing out."""

from collections.abc import Awaitable, Callable, Sequence

from msgspec import Struct

from opencode_tui.schema.api.sign_in import SignInAccount, SignInDone, SignInRequest
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.account import SIGN_INS
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.dialogs.confirm import ConfirmPanel, Question
from opencode_tui.tui.dialogs.listing import Choice, ListContent
from opencode_tui.tui.dialogs.panel import PanelKey
from opencode_tui.tui.dialogs.sign_in import SignInPanel
from opencode_tui.tui.screen_api import AppApi, ChatApi, PanelApi
from opencode_tui.tui.state.controller import SessionController

CHATGPT = "chatgpt"
ADD = "add"


class SignInActions(Struct, frozen=True):
    """Signs in to a provider with the browser. `connected` makes its models known and returns how many it has."""

    screen: ChatApi
    app: AppApi
    panels: PanelApi
    control: SessionController
    connected: Callable[[str], Awaitable[int]]

    def begin(self, provider_id: str) -> None:
        """Sign in to a provider; list the accounts of ChatGPT first, if there are any."""
        if provider_id == CHATGPT:
            self.screen.do(self._choose_account())
        else:
            self._sign_in(SignInRequest(provider_id=provider_id))

    async def _choose_account(self) -> None:
        accounts = {one.id: one for one in await self.control.client.sign_ins.accounts()}
        if not accounts:
            self._sign_in(SignInRequest(provider_id=CHATGPT))
            return

        def done(chosen: str | None) -> None:
            if chosen == ADD:
                self._sign_in(SignInRequest(provider_id=CHATGPT))
            elif chosen is not None:
                self._use(accounts[chosen])

        def sign_out(chosen: str) -> None:
            account = accounts.get(chosen)
            if account is not None and account.is_signed_in:
                self.app.pop_overlay()
                self._confirm_sign_out(account, list(accounts.values()))

        content = ListContent(
            [*map(account_choice, accounts.values()), Choice(ADD, "Add another account", group="Other")],
            hint="Continue with ChatGPT",
            enter="use",
            extra={"ctrl+d": ("sign out", sign_out)},
        )
        self.app.open_overlay(content, done)

    def _use(self, account: SignInAccount) -> None:
        """Use an account from now on; one that is signed out, or did not allow its plan, signs in again."""
        if account.is_signed_in and account.may_use_plan:
            self.screen.do(self._select(account))
            return
        is_refused = account.is_signed_in and not account.may_use_plan
        request = SignInRequest(provider_id=CHATGPT, account_id=account.id, is_consent_asked=is_refused or None)
        self._sign_in(request)

    async def _select(self, account: SignInAccount) -> None:
        await self.control.client.sign_ins.select(account.id)
        models = await self.connected(CHATGPT)
        self.screen.show_note("done", f"{account.label} is in use", _model_words(models))

    def _confirm_sign_out(self, account: SignInAccount, accounts: Sequence[SignInAccount]) -> None:
        about = [
            "Its tokens are revoked at OpenAI and deleted here.",
            "Sessions stay, and so does the registration: the next sign-in is the same account.",
        ]
        model = self.control.choice.model
        others = [one.label for one in accounts if one.is_signed_in and one.id != account.id]
        if account.is_current and model is not None and model.provider_id == CHATGPT:
            about.append(f"{model} does not answer then; choose another model (/models).")
        if account.is_current and others:
            about.append(f"Another account can be chosen in /login: {', '.join(others)}.")
        question = Question(
            title=f"Sign out {account.label}?",
            about=about,
            answers=(
                PanelKey("y", "sign out", lambda: self._sign_out(account)),
                PanelKey("escape", "cancel", self.panels.close),
            ),
        )
        self.panels.open(ConfirmPanel(question))

    def _sign_out(self, account: SignInAccount) -> None:
        self.panels.close()

        async def work() -> None:
            problem = await self.control.client.sign_ins.sign_out(account.id)
            await self.control.choice.load_models()
            self.screen.refresh_chrome()
            if problem:
                self.screen.show_note("failed", f"Signed {account.label} out here, not revoked", problem)
            else:
                self.screen.show_note("done", f"Signed {account.label} out", "its tokens are revoked")

        self.screen.do(work())

    def _sign_in(self, request: SignInRequest) -> None:
        _Attempt(self, request).begin()

    async def finish(self, provider_id: str, done: SignInDone) -> None:
        """Report a sign-in, and say after the first one where usage is managed."""
        words = f"{done.words[:1].upper()}{done.words[1:]}"
        if not done.may_use_plan:
            self.screen.show_note("failed", "The plan may not be used", done.words)
            return
        models = await self.connected(provider_id)
        head, _, facts = words.partition("; ")

        def report() -> None:
            self.panels.close()
            self.screen.show_note("done", head, _model_words(models) or facts)

        if not done.first_use:
            report()
            return
        title, *about = done.first_use
        got_it = (PanelKey("enter", "got it", report), PanelKey("escape", "", report))
        self.panels.open(ConfirmPanel(Question(title=title.rstrip("."), about=about, answers=got_it)))


class _Attempt:
    """One sign-in with its panel; it ends with the panel, whatever closes that."""

    def __init__(self, actions: SignInActions, request: SignInRequest) -> None:
        self._actions = actions
        self._request = request
        self._id = ""
        self._has_ended = False
        self._title = SIGN_INS[request.provider_id][0]
        self._panel = SignInPanel(
            self._title,
            copy=actions.app.copy_to_clipboard,
            paste=lambda address: actions.screen.do(self._paste(address)),
            cancel=self._cancel,
            left=self._end,
        )

    def begin(self) -> None:
        """Open the panel and the browser."""
        self._actions.panels.open(self._panel)
        self._actions.screen.do(self._run())

    async def _run(self) -> None:
        sign_ins = self._actions.control.client.sign_ins
        try:
            started = await sign_ins.begin(self._request)
            self._id = started.id
            if self._has_ended:
                await sign_ins.cancel(started.id)
                return
            self._panel.show_address(started.url)
            done = await sign_ins.wait(started.id)
        except OpencodeError as error:
            if not self._has_ended:
                self._close()
                self._actions.screen.show_note("failed", "Not signed in", str(error))
            return
        self._close()
        await self._actions.finish(self._request.provider_id, done)

    async def _paste(self, address: str) -> None:
        try:
            await self._actions.control.client.sign_ins.paste(self._id, address)
        except OpencodeError as error:
            if not self._has_ended:
                self._panel.show_problem(str(error))

    def _cancel(self) -> None:
        self._end()
        self._actions.panels.close()
        self._actions.screen.show_note("note", "Not signed in", "you canceled it")

    def _close(self) -> None:
        """Close the panel at the end of the sign-in, if it is still shown."""
        was_shown, self._has_ended = not self._has_ended, True
        if was_shown:
            self._actions.panels.close()

    def _end(self) -> None:
        """End the sign-in that still waits."""
        if not self._has_ended:
            self._has_ended = True
            if self._id:
                self._actions.screen.do(self._actions.control.client.sign_ins.cancel(self._id))


def account_choice(account: SignInAccount) -> Choice:
    """Return the choice of an account; its label never changes."""
    state = "signed in" if account.is_signed_in else "signed out"
    if account.is_signed_in and not account.may_use_plan:
        state = "the plan is not allowed"
    elif account.ended:
        state = f"ended by OpenAI: {screen_line(account.ended)}"
    return Choice(account.id, screen_line(account.label), state, group="Accounts", is_current=account.is_current)


def _model_words(count: int) -> str:
    return f"{plural(count, 'model')}, /models chooses one" if count else ""
