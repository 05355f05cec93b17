"""One sign-in with ChatGPT: the address for the browser, then the exchange of the code that comes back.

The code is sent once; an attempt that failed is begun again. Nothing of an attempt is stored before it has succeeded.
Sources: those of `service.py`; PKCE: RFC 7636; https://www.rfc-editor.org/rfc/rfc8252 for the address on 127.0.0.1.
"""

import base64
import hashlib
import secrets
import time
from collections.abc import Callable
from urllib.parse import urlencode

from msgspec import Struct

from opencode_tui.engine.provider.chatgpt.accounts import Account, Accounts
from opencode_tui.engine.provider.chatgpt.id_token import IdTokenError, check_id_token
from opencode_tui.engine.provider.chatgpt.service import (
    AGENT_NAME,
    FIRST_CLIENT,
    RESOURCE,
    SCOPES,
    AnswerLostError,
    NotSentError,
    ask,
)
from opencode_tui.schema.error import SignInError
from opencode_tui.schema.record import JsonObject

PORTS = (1455, 0)
"""The ports at which the browser comes back: the first that is free; 0 is any."""

PATH = "/auth/callback"
_AGAIN = "begin it again"


class Attempt(Struct, frozen=True):
    """A sign-in that waits for the browser. Only this process knows its secrets."""

    url: str
    redirect: str
    state: str
    nonce: str
    verifier: str
    account: Account | None = None

    def __repr__(self) -> str:
        return "Attempt()"  # without secrets


def begin(accounts: Accounts, port: int, *, account: Account | None = None, is_consent_asked: bool = False) -> Attempt:
    """Return a sign-in of a new account, or again of one that is known. Blocks for a small file."""
    redirect = f"http://127.0.0.1:{port}{PATH}"
    state, nonce, verifier = (secrets.token_urlsafe(32) for _ in range(3))
    query = {
        "response_type": "code",
        "client_id": account.client_id if account else FIRST_CLIENT,
        "redirect_uri": redirect,
        "scope": " ".join(SCOPES),
        "resource": RESOURCE,
        "state": state,
        "nonce": nonce,
        "code_challenge": challenge_of(verifier),
        "code_challenge_method": "S256",
        "ext_agent_host_id": accounts.host(),
    }
    if account is None:
        query["agent_name_hint"] = AGENT_NAME
    elif "@" in account.label:
        query["login_hint"] = account.label.partition(" ")[0]
    if is_consent_asked:
        query["prompt"] = "consent"
    return Attempt(f"{accounts.service.authorize}?{urlencode(query)}", redirect, state, nonce, verifier, account)


def challenge_of(verifier: str) -> str:
    """Return the S256 challenge of a PKCE verifier."""
    return base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).rstrip(b"=").decode()


def finish(
    accounts: Accounts, attempt: Attempt, *, code: str, client_id: str, is_wanted: Callable[[], bool] = lambda: True
) -> Account:
    """Exchange the code, check who signed in, and store the account. Raises SignInError, StorageError. Blocks for requests.

    `client_id` is that of the callback, empty if it had none. Tokens that come when the sign-in is not wanted any more are revoked.
    """
    known = attempt.account
    issued = client_id or (known.client_id if known else "")
    if not issued or issued == FIRST_CLIENT:
        raise SignInError(f"the browser brought no client_id back; {_AGAIN}")
    if known is not None and issued != known.client_id:
        raise SignInError(f"the browser brought another registration back than that of {known.label}; {_AGAIN}")
    tokens = _exchange(accounts, attempt, code, issued)
    subject, email = _identify(accounts, attempt, tokens, issued)
    if known is not None and subject != known.subject:
        raise SignInError(
            f"another user signed in than {known.label}; choose the same account in the browser, or add it"
        )
    label = known.label if known else (email or subject)[:120]
    account = Account(client_id=issued, subject=subject, label=label).with_tokens({"scope": "", **tokens}, time.time())
    if account is None:
        raise SignInError(f"the answer of the authorization server has not the documented form; {_AGAIN}")
    if not is_wanted():
        accounts.revoke(account)
        raise SignInError("it was canceled")
    return accounts.add(account)


def _exchange(accounts: Accounts, attempt: Attempt, code: str, client_id: str) -> JsonObject:
    form = {
        "grant_type": "authorization_code",
        "client_id": client_id,
        "code": code,
        "code_verifier": attempt.verifier,
        "redirect_uri": attempt.redirect,
        "resource": RESOURCE,
    }
    try:
        answer = ask(accounts.service.token, form=form)
    except NotSentError as error:
        raise SignInError(f"the authorization server cannot be reached ({error}); {_AGAIN}") from None
    except AnswerLostError:
        raise SignInError(f"the answer of the authorization server was lost; {_AGAIN}") from None
    if answer.status != 200 or answer.body is None:
        why = f"{answer.error[:60]}, " if answer.error else ""
        raise SignInError(f"the authorization server refused the code ({why}HTTP {answer.status}); {_AGAIN}")
    return answer.body


def _identify(accounts: Accounts, attempt: Attempt, tokens: JsonObject, client_id: str) -> tuple[str, str]:
    """Return the subject and the address of mail in the ID token, whose signature and claims are checked."""
    token = tokens.get("id_token")
    if not isinstance(token, str) or not token:
        raise SignInError(f"the authorization server sent no ID token; {_AGAIN}")
    try:
        keys = ask(accounts.service.keys)
    except (NotSentError, AnswerLostError):
        raise SignInError(f"the keys of the authorization server cannot be read; {_AGAIN}") from None
    if keys.status != 200 or keys.body is None:
        raise SignInError(f"the keys of the authorization server cannot be read (HTTP {keys.status}); {_AGAIN}")
    try:
        found = check_id_token(
            token, keys.body, issuer=accounts.service.issuer, client_id=client_id, nonce=attempt.nonce
        )
    except IdTokenError as error:
        raise SignInError(f"the ID token does not count: {error}; {_AGAIN}") from None
    return found.subject, "".join(one for one in found.email if one.isprintable())
