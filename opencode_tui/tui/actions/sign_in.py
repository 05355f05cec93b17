"""Sign-ins with the browser: the panel that waits for one, the accounts of ChatGPT, signing out."""

from collections.abc import Sequence

from opencode_tui.schema.api.sign_in import SignInAccount, SignInDone, SignInRequest
from opencode_tui.schema.error import OpencodeError
from opencode_tui.text.account import SIGN_INS
from opencode_tui.text.quantity import plural
from opencode_tui.text.safe_text import screen_line
from opencode_tui.tui.chat.chat import Chat
from opencode_tui.tui.dialogs.confirm import Confirmation, ConfirmPanel
from opencode_tui.tui.dialogs.overlay import Choice, ListContent
from opencode_tui.tui.dialogs.sign_in import SignInPanel
from opencode_tui.tui.keys.keyed import cancels, confirms, dismisses

CHATGPT = "chatgpt"
ADD = "add"


async def connected(chat: Chat, provider_id: str) -> int:
    """Read the models again, choose one if there was none, and return how many the provider has."""
    await chat.control.choice.load_models()
    chat.do(_read_lists(chat))  # a provider may have a list of its own
    chosen = chat.control.choice.model
    if chosen is None or chosen.provider_id == "demo":
        chat.control.choice.model = await chat.control.client.catalog.default_model()
    chat.refresh_chrome()
    return sum(one.provider_id == provider_id for one in chat.control.choice.models)


async def _read_lists(chat: Chat) -> None:
    if await chat.control.choice.refresh_models():
        chat.refresh_chrome()


def sign_in(chat: Chat, provider_id: str) -> None:
    """Sign in to a provider; list the accounts of ChatGPT first, if there are any."""
    if provider_id == CHATGPT:
        chat.do(_choose_account(chat))
    else:
        _sign_in(chat, SignInRequest(provider_id=provider_id))


async def _choose_account(chat: Chat) -> None:
    accounts = {one.id: one for one in await chat.control.client.sign_ins.accounts()}
    if not accounts:
        _sign_in(chat, SignInRequest(provider_id=CHATGPT))
        return

    def done(chosen: str | None) -> None:
        if chosen == ADD:
            _sign_in(chat, SignInRequest(provider_id=CHATGPT))
        elif chosen is not None:
            _use(chat, accounts[chosen])

    def sign_out(chosen: str) -> None:
        account = accounts.get(chosen)
        if account is not None and account.is_signed_in:
            chat.app.pop_overlay()
            _confirm_sign_out(chat, account, list(accounts.values()))

    content = ListContent(
        [*map(account_choice, accounts.values()), Choice(ADD, "Add another account", group="Other")],
        hint="Continue with ChatGPT",
        enter="use",
        scope="list:accounts",
        extra={"account_sign_out": ("sign out", sign_out)},
    )
    chat.app.open_overlay(content, done)


def _use(chat: Chat, account: SignInAccount) -> None:
    """Use an account from now on; one that is signed out, or did not allow its plan, signs in again."""
    if account.is_signed_in and account.may_use_plan:
        chat.do(_select(chat, account))
        return
    is_refused = account.is_signed_in and not account.may_use_plan
    request = SignInRequest(provider_id=CHATGPT, account_id=account.id, is_consent_asked=is_refused or None)
    _sign_in(chat, request)


async def _select(chat: Chat, account: SignInAccount) -> None:
    await chat.control.client.sign_ins.select(account.id)
    models = await connected(chat, CHATGPT)
    chat.show_note("done", f"{account.label} is in use", _model_words(models))


def _confirm_sign_out(chat: Chat, account: SignInAccount, accounts: Sequence[SignInAccount]) -> None:
    about = [
        "Its tokens are revoked at OpenAI and deleted here.",
        "Sessions stay, and so does the registration: the next sign-in is the same account.",
    ]
    model = chat.control.choice.model
    others = [one.label for one in accounts if one.is_signed_in and one.id != account.id]
    if account.is_current and model is not None and model.provider_id == CHATGPT:
        about.append(f"{model} does not answer then; choose another model (/models).")
    if account.is_current and others:
        about.append(f"Another account can be chosen in /login: {', '.join(others)}.")
    question = Confirmation(
        title=f"Sign out {account.label}?",
        about=about,
        answers=(
            confirms("sign out", lambda: _sign_out(chat, account)),
            cancels("cancel", chat.panels.close),
        ),
    )
    chat.panels.open(ConfirmPanel(question))


def _sign_out(chat: Chat, account: SignInAccount) -> None:
    chat.panels.close()

    async def work() -> None:
        problem = await chat.control.client.sign_ins.sign_out(account.id)
        await chat.control.choice.load_models()
        chat.refresh_chrome()
        if problem:
            chat.show_note("failed", f"Signed {account.label} out here, not revoked", problem)
        else:
            chat.show_note("done", f"Signed {account.label} out", "its tokens are revoked")

    chat.do(work())


def _sign_in(chat: Chat, request: SignInRequest) -> None:
    _Attempt(chat, request).begin()


async def _finish(chat: Chat, provider_id: str, done: SignInDone) -> None:
    """Report a sign-in, and say after the first one where usage is managed."""
    if not done.may_use_plan:
        chat.show_note("failed", "The plan may not be used", done.whole())
        return
    models = await connected(chat, provider_id)
    head = f"{done.words[:1].upper()}{done.words[1:]}"

    def report() -> None:
        chat.panels.close()
        chat.show_note("done", head, _model_words(models) or done.advice or "")

    if not done.first_use:
        report()
        return
    title, *about = done.first_use
    got_it = dismisses("got it", report)
    chat.panels.open(
        ConfirmPanel(Confirmation(title.rstrip("."), about, answers=got_it, scope="panel:notice", is_asked_for=False))
    )


class _Attempt:
    """One sign-in with its panel; it ends with the panel, whatever closes that."""

    def __init__(self, chat: Chat, request: SignInRequest) -> None:
        self._chat = chat
        self._request = request
        self._id = ""
        self._has_ended = False
        self._title = SIGN_INS[request.provider_id][0]
        self._panel = SignInPanel(
            self._title,
            copy=chat.app.copy_to_clipboard,
            paste=lambda address: chat.do(self._paste(address)),
            cancel=self._cancel,
            left=self._end,
        )

    def begin(self) -> None:
        """Open the panel and the browser."""
        self._chat.panels.open(self._panel)
        self._chat.do(self._run())

    async def _run(self) -> None:
        sign_ins = self._chat.control.client.sign_ins
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
                self._chat.show_note("failed", "Not signed in", str(error))
            return
        self._close()
        await _finish(self._chat, self._request.provider_id, done)

    async def _paste(self, address: str) -> None:
        try:
            await self._chat.control.client.sign_ins.paste(self._id, address)
        except OpencodeError as error:
            if not self._has_ended:
                self._panel.show_problem(str(error))

    def _cancel(self) -> None:
        self._end()
        self._chat.panels.close()
        self._chat.show_note("note", "Not signed in", "you canceled it")

    def _close(self) -> None:
        """Close the panel at the end of the sign-in, if it is still shown."""
        was_shown, self._has_ended = not self._has_ended, True
        if was_shown:
            self._chat.panels.close()

    def _end(self) -> None:
        """End the sign-in that still waits."""
        if not self._has_ended:
            self._has_ended = True
            if self._id:
                self._chat.do(self._chat.control.client.sign_ins.cancel(self._id))


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
