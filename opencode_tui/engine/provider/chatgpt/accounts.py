"""The accounts that are signed in with ChatGPT, in `auth.json`: who, their tokens, their models.

    {"type": "chatgpt", "host": "urn:uuid:…", "isKnown": true, "current": ID,
     "accounts": {ID: {clientID, subject, label, planUsage, accessToken, refreshToken, expiresAt, earliestRefreshAt, sent, ended,
                       models, modelsAt}}}

One lock serves all accounts and processes: a refresh token that is used twice ends the sign-in. `sent` is the fingerprint of the
refresh token that was sent and is on the disk before that; only an answer removes it. A refresh token with this fingerprint is not
sent again: the outcome of its refresh is unknown. New tokens are on the disk before their first use. A signed-out account keeps its
`clientID`, with which it signs in again. Times are seconds since 1970.
"""

import hashlib
import time
import uuid
from collections.abc import Mapping

from opencode_tui.config.auth import CHATGPT, AuthStore
from opencode_tui.engine.provider.chatgpt.service import (
    FATAL,
    PLAN_SCOPES,
    RESOURCE,
    Answer,
    AnswerLostError,
    NotSentError,
    Service,
    ask,
    find_service,
    sign_in_again,
)
from opencode_tui.engine.provider.error import plain
from opencode_tui.schema.api.sign_in import USAGE_PAGE
from opencode_tui.schema.error import AuthError, Failure, ProviderError, with_remedy
from opencode_tui.schema.json_text import as_object
from opencode_tui.schema.record import JsonObject, Record, ValidationError, absent
from opencode_tui.storage.locks import Locks
from opencode_tui.storage.paths import Paths

MARGIN_S = 60
"""Seconds before its end in which an access token is not used any more."""

LONGEST_WAIT_MS = 90_000
"""Milliseconds to wait for another process that refreshes, signs in or signs out; more than one request takes."""

_UNKNOWN = "it is not known whether the sign-in was renewed, because the answer was lost; it is not tried twice"


class Account(Record):
    """An account: the registration of this program for a user and a workspace, and its tokens while it is signed in."""

    client_id: str
    subject: str
    label: str
    plan_usage: bool = False
    access_token: str | None = absent()
    refresh_token: str | None = absent()
    expires_at: float | None = absent()
    earliest_refresh_at: float | None = absent()
    sent: str | None = absent()
    ended: str | None = absent()
    models: list[JsonObject] | None = absent()
    models_at: float | None = absent()

    @property
    def id(self) -> str:
        """The identity: user and registration. Addresses of mail are no identity."""
        return hashlib.sha256(f"{self.client_id}\n{self.subject}".encode()).hexdigest()[:12]

    @property
    def is_signed_in(self) -> bool:
        """Whether it has tokens."""
        return self.access_token is not None

    def is_usable(self, now: float) -> bool:
        """Return whether its access token can be sent."""
        return self.access_token is not None and self.expires_at is not None and self.expires_at - MARGIN_S > now

    def with_tokens(self, body: JsonObject, now: float) -> "Account | None":
        """Return the account with the tokens of an answer, None for an answer that is not of the documented form."""
        access, refresh, lifetime = body.get("access_token"), body.get("refresh_token"), body.get("expires_in")
        kind, earliest, scope = body.get("token_type"), body.get("earliest_refresh_at"), body.get("scope")
        if not isinstance(lifetime, int | float) or lifetime <= 0 or str(kind).lower() != "bearer":
            return None
        if not (is_token(access) and is_token(refresh)):
            return None
        granted = set(scope.split()) if isinstance(scope, str) else None
        return self.changed(
            access_token=access,
            refresh_token=refresh,
            expires_at=now + lifetime,
            earliest_refresh_at=earliest if isinstance(earliest, int | float) else None,
            plan_usage=self.plan_usage if granted is None else granted >= PLAN_SCOPES,
            sent=None,
            ended=None,
        )

    def signed_out(self, reason: str) -> "Account":
        """Return the account without its tokens; the registration stays."""
        return self.changed(
            access_token=None,
            refresh_token=None,
            expires_at=None,
            earliest_refresh_at=None,
            sent=None,
            ended=reason or None,
            models=None,
            models_at=None,
        )


class Accounts:
    """The accounts of one data folder. All methods block: for a small file, some for a request. Thread-safe."""

    def __init__(self, paths: Paths, environ: Mapping[str, str]) -> None:
        self.service: Service = find_service(environ)
        self._auth = AuthStore(paths=paths)
        self._locks = Locks(paths)

    def host(self) -> str:
        """Return the ID of this installation, made once and the same for every account; not a secret."""
        found = self._auth.entry(CHATGPT).get("host")
        if isinstance(found, str) and found:
            return found
        self._auth.change(CHATGPT, lambda entry: {"type": CHATGPT, "host": uuid.uuid4().urn, **entry})
        return str(self._auth.entry(CHATGPT)["host"])

    def all(self) -> list[Account]:
        """Return all accounts, signed in or not, in the order of their first sign-in."""
        return [account for account in map(_parse, _entries(self._auth.entry(CHATGPT)).values()) if account is not None]

    def current(self) -> Account | None:
        """Return the account in use, None before the first sign-in."""
        entry = self._auth.entry(CHATGPT)
        return _parse(_entries(entry).get(str(entry.get("current"))))

    def find(self, text: str) -> Account | None:
        """Return the account with this label or ID."""
        return next((one for one in self.all() if text in (one.label, one.id)), None)

    def select(self, account: Account) -> None:
        """Use this account from now on."""
        self._auth.change(CHATGPT, lambda entry: {**entry, "current": account.id})

    def is_first(self) -> bool:
        """Return whether no plan was used here before: the user reads once whose it is and where its usage is managed."""
        return self._auth.entry(CHATGPT).get("isKnown") is not True

    def add(self, account: Account) -> Account:
        """Store a finished sign-in, use its account, and return it with its label, which never changes."""
        stored: list[Account] = []

        def change(entry: JsonObject) -> JsonObject:
            entries = _entries(entry)
            known = _parse(entries.get(account.id))
            others = {str(one.get("label")) for name, one in entries.items() if name != account.id}
            label = known.label if known is not None else _free(account.label, others)
            stored.append(account.changed(label=label))
            return {
                **entry,
                "type": CHATGPT,
                "isKnown": entry.get("isKnown") is True or account.plan_usage,
                "current": account.id,
                "accounts": {**entries, account.id: stored[-1].to_dict()},
            }

        with self._locked():
            self._auth.change(CHATGPT, change)
        return stored[-1]

    def store_models(self, account: Account, models: list[JsonObject]) -> None:
        """Store the models that an account may use, if it is still signed in."""

        def change(entry: JsonObject) -> JsonObject:
            known = _parse(_entries(entry).get(account.id))
            if known is None or not known.is_signed_in:
                return entry
            return _with(entry, known.changed(models=models, models_at=time.time()))

        self._auth.change(CHATGPT, change)

    def token(self, *, rejected: str | None = None) -> str:
        """Return an access token that can be sent, refreshed if necessary. Raises ProviderError, LockTimeoutError, StorageError.

        `rejected` is a token that the provider did not accept: another one is returned, that of another process if it has one.
        """
        account = self._required()
        if account.is_usable(time.time()) and account.access_token != rejected:
            return account.access_token or ""
        with self._locked():
            account, now = self._required(), time.time()
            if not (account.is_usable(now) and account.access_token != rejected):
                account = self._refresh(account, now)
            return account.access_token or ""

    def sign_out(self, account: Account) -> str:
        """Delete the tokens of an account and revoke them; return why they could not be revoked, empty if they were."""
        with self._locked():
            known = self.find(account.id)
            self._store((known or account).signed_out(""))
            return "" if known is None else self.revoke(known)

    def revoke(self, account: Account) -> str:
        """Revoke the refresh token of an account; return why that failed, empty if it did not or if there is none."""
        if account.refresh_token is None:
            return ""
        form = {
            "token": account.refresh_token,
            "token_type_hint": "refresh_token",
            "client_id": account.client_id,
        }
        try:
            answer = ask(self.service.revoke, form=form)
        except (NotSentError, AnswerLostError):
            return f"{plain.host(self.service.revoke)} did not answer; remove the app in the settings of ChatGPT"
        return "" if answer.status == 200 else f"HTTP {answer.status}; remove the app in the settings of ChatGPT"

    def end(self, account: Account, reason: str) -> None:
        """Record that the service does not accept the sign-in any more; the tokens are deleted."""
        with self._locked():
            known = self.find(account.id)
            if known is not None and known.access_token == account.access_token:
                self._store(known.signed_out(reason))

    def _locked(self) -> "_Held":
        return _Held(self._locks)

    def _required(self) -> Account:
        account = self.current()
        if account is None:
            raise AuthError(
                with_remedy("chatgpt: nobody is signed in", "sign in (/login, or `opencode-tui auth login chatgpt`)"),
                provider_id=CHATGPT,
                failure=Failure(kind="auth"),
            )
        if not account.is_signed_in:
            raise sign_in_again(f"{account.label} is signed out{f' ({account.ended})' if account.ended else ''}")
        if not account.plan_usage:
            raise AuthError(
                with_remedy(
                    f"chatgpt: {account.label} has not allowed this program to use the plan",
                    "allow it (/login, or `opencode-tui auth login chatgpt --consent`), or use a key of openai",
                ),
                provider_id=CHATGPT,
                failure=Failure(kind="auth"),
            )
        return account

    def _refresh(self, account: Account, now: float) -> Account:
        """Return the account with new tokens. To be called with the lock."""
        sent = account.refresh_token
        if sent is None:
            raise sign_in_again(f"the sign-in of {account.label} has ended")
        if account.sent == _fingerprint(sent):
            raise sign_in_again(_UNKNOWN)
        if account.earliest_refresh_at is not None and now < account.earliest_refresh_at:
            raise _too_early(account.earliest_refresh_at)
        self._store(account.changed(sent=_fingerprint(sent)))
        form = {
            "grant_type": "refresh_token",
            "client_id": account.client_id,
            "refresh_token": sent,
            "resource": RESOURCE,
        }
        try:
            answer = ask(self.service.token, form=form)
        except NotSentError as error:
            self._store(account)
            raise error.as_failure() from None
        except AnswerLostError:
            raise sign_in_again(_UNKNOWN) from None
        renewed = account.with_tokens(answer.body or {}, time.time()) if answer.status == 200 else None
        if renewed is not None:
            self._store(renewed)
            return renewed
        if answer.error in FATAL:
            self._store(account.signed_out(answer.error))
            raise sign_in_again(f"the sign-in of {account.label} has ended ({answer.error})")
        if answer.status == 200 or not answer.error:  # a damaged answer, or one of a server before the issuer
            raise sign_in_again(_UNKNOWN)
        self._store(account)
        raise _refused(answer)

    def _store(self, account: Account) -> None:
        self._auth.change(CHATGPT, lambda entry: _with(entry, account))


class _Held:
    """The lock between processes, held inside a `with`."""

    def __init__(self, locks: Locks) -> None:
        self._lock = locks.sign_in(CHATGPT)

    def __enter__(self) -> None:
        self._lock.acquire_sync(LONGEST_WAIT_MS)

    def __exit__(self, *_: object) -> None:
        self._lock.release()


def is_token(value: object) -> bool:
    """Return whether a value can be a token: printable ASCII without spaces."""
    return isinstance(value, str) and bool(value) and value.isascii() and value.isprintable() and " " not in value


def models_of(entry: JsonObject) -> list[JsonObject]:
    """Return the models of the account in use, in the order of the provider; empty before they were read."""
    account = _parse(_entries(entry).get(str(entry.get("current"))))
    return (account.models or []) if account is not None and account.is_signed_in else []


def _entries(entry: JsonObject) -> dict[str, JsonObject]:
    return {name: account for name, account in as_object(entry.get("accounts")).items() if isinstance(account, dict)}


def _with(entry: JsonObject, account: Account) -> JsonObject:
    return {**entry, "accounts": {**_entries(entry), account.id: account.to_dict()}}


def _parse(entry: JsonObject | None) -> Account | None:
    try:
        return None if entry is None else Account.model_validate(entry)
    except ValidationError:
        return None


def _free(label: str, others: set[str]) -> str:
    """Return a label that no other account has: two registrations may have the same address."""
    names = [label, *(f"{label} ({number})" for number in range(2, len(others) + 3))]
    return next(name for name in names if name not in others)


def _fingerprint(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def _too_early(at: float) -> ProviderError:
    clock = time.strftime("%H:%M", time.localtime(at))
    text = with_remedy(f"chatgpt: the sign-in may be renewed from {clock} on", "wait until then, or switch the model")
    failure = Failure(kind="rate_limit", retryable=False)
    return ProviderError(text, provider_id=CHATGPT, failure=failure)


def _refused(answer: Answer) -> ProviderError:
    """Return the error for a refresh that the issuer refused without ending the sign-in."""
    is_busy = answer.status == 429 or answer.status >= 500
    wait = answer.headers.get("retry-after", "")
    text = with_remedy(
        f"chatgpt: the sign-in was not renewed ({answer.error[:60]}, HTTP {answer.status})",
        f"try again later; usage is shown on {USAGE_PAGE}",
    )
    failure = Failure(
        kind="overloaded" if is_busy else "auth",
        retryable=is_busy,
        status=answer.status,
        retry_after_ms=int(wait) * 1000 if wait.isdecimal() else None,
    )
    return ProviderError(text, provider_id=CHATGPT, failure=failure)
