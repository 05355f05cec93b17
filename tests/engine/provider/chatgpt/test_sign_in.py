"""The sign-in with ChatGPT against a service that enforces every documented rule."""

import json
import time
from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode, urlsplit

import httpx
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa

from opencode_tui.engine.provider.chatgpt.accounts import Account, Accounts
from opencode_tui.engine.provider.chatgpt.service import TEST_ORIGIN, Service, find_service
from opencode_tui.engine.provider.chatgpt.sign_in import begin, finish
from opencode_tui.schema.error import AuthError, SignInError
from opencode_tui.storage.paths import Paths
from tests.support.provider.chatgpt_service import RESOURCE, SCOPES, ChatGptService
from tests.support.world.waiting import PATIENCE_S

SignIn = Callable[..., Account]


def test_a_first_sign_in_keeps_every_rule_of_the_service(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, paths: Paths
) -> None:
    assert accounts.is_first()
    account = sign_in()
    assert service.violations == [] and (account.label, account.plan_usage) == ("ada@example.com", True)
    assert account.client_id.startswith("oaiapp_") and not accounts.is_first()
    assert accounts.token() == account.access_token and service.count["refresh"] == 0
    assert paths.auth.stat().st_mode & 0o777 == 0o600


def changed_query(url: str, **changed: str | None) -> str:
    base, _, _ = url.partition("?")
    query = {name: values[0] for name, values in parse_qs(urlsplit(url).query).items()} | changed
    return f"{base}?{urlencode({name: value for name, value in query.items() if value is not None})}"


WRONG_AUTHORIZE: dict[str, dict[str, str | None]] = {
    "unknown parameter": {"audience": "x"},
    "no PKCE": {"code_challenge": None},
    "plain PKCE": {"code_challenge_method": "plain"},
    "no state": {"state": None},
    "no nonce": {"nonce": None},
    "localhost": {"redirect_uri": "http://localhost:1455/auth/callback"},
    "another path": {"redirect_uri": "http://127.0.0.1:1455/callback"},
    "fewer scopes": {"scope": "openid"},
    "another resource": {"resource": "https://example.com"},
    "no host": {"ext_agent_host_id": None},
    "a host in capitals": {"ext_agent_host_id": "urn:uuid:AAAAAAAA-0000-0000-0000-000000000000"},
    "no name at first": {"agent_name_hint": None},
    "an unknown client": {"client_id": "oaiapp_x", "agent_name_hint": None},
}


@pytest.mark.parametrize("name", WRONG_AUTHORIZE)
def test_the_service_of_the_tests_refuses_another_address_than_ours(
    accounts: Accounts, service: ChatGptService, name: str
) -> None:
    url = begin(accounts, 1455).url
    assert service.consent(url)
    with pytest.raises(AssertionError, match="authorize"):
        service.consent(changed_query(url, **WRONG_AUTHORIZE[name]))


def test_the_host_is_chosen_once_and_the_same_for_every_account(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, paths: Paths
) -> None:
    first = accounts.host()
    sign_in()
    service.user = {"sub": "user-2", "email": "bob@example.com"}
    sign_in()
    assert Accounts(paths, {TEST_ORIGIN: service.origin}).host() == first
    assert service.violations == [] and len(accounts.all()) == 2


def test_a_returning_account_uses_its_registration_and_no_name(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService
) -> None:
    known = sign_in()
    query = parse_qs(urlsplit(begin(accounts, 1455, account=known).url).query)
    assert query["client_id"] == [known.client_id] and "agent_name_hint" not in query
    assert query["login_hint"] == ["ada@example.com"]
    again = sign_in(known)
    assert (again.id, again.label, service.violations) == (known.id, known.label, [])
    assert [account.id for account in accounts.all()] == [known.id]


def test_the_issued_client_is_exchanged_never_the_first_one(sign_in: SignIn, accounts: Accounts) -> None:
    for wrong in ("", "dynamic_agent_client"):
        with pytest.raises(SignInError, match="no client_id"):
            sign_in(client_id=wrong)
    assert accounts.current() is None


def test_a_returning_account_of_another_user_or_registration_is_refused(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService
) -> None:
    known = sign_in()
    with pytest.raises(SignInError, match="another registration"):
        sign_in(known, client_id="oaiapp_other")
    service.user = {"sub": "user-2", "email": "ada@example.com"}
    with pytest.raises(SignInError, match="another user"):
        sign_in(known)
    assert accounts.token() == known.access_token


def test_accounts_with_the_same_address_are_not_merged(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService
) -> None:
    first = sign_in()
    service.user = {"sub": "user-2", "email": "ada@example.com"}
    second = sign_in()
    assert [account.label for account in accounts.all()] == ["ada@example.com", "ada@example.com (2)"]
    assert accounts.token() == second.access_token
    accounts.select(first)
    assert accounts.token() == first.access_token
    assert accounts.find("ada@example.com (2)") == second


def other_key() -> Any:
    return rsa.generate_private_key(public_exponent=65537, key_size=2048)


WRONG_TOKENS: dict[str, tuple[dict[str, Any], str]] = {
    "iss": ({"iss": "https://auth.example.com"}, "another issuer"),
    "no iss": ({"iss": None}, "not valid"),
    "aud": ({"aud": "oaiapp_other"}, "another client"),
    "azp": ({"azp": "oaiapp_other"}, "another client"),
    "nonce": ({"nonce": "other"}, "another sign-in"),
    "no nonce": ({"nonce": None}, "not valid"),
    "expired": ({"exp": 1_000_000}, "expired"),
    "no exp": ({"exp": None}, "not valid"),
    "nobody": ({"sub": ""}, "names nobody"),
    "not yet": ({"iat": 9_999_999_999}, "not valid"),
}


@pytest.mark.parametrize("name", WRONG_TOKENS)
def test_an_id_token_with_a_wrong_claim_signs_nobody_in(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, name: str
) -> None:
    service.claims, reason = WRONG_TOKENS[name]
    with pytest.raises(SignInError, match=reason) as caught:
        sign_in()
    assert (
        accounts.current() is None
        and service.secrets
        and not any(secret in str(caught.value) for secret in service.secrets)
    )


def test_an_id_token_for_several_clients_needs_its_party(sign_in: SignIn, service: ChatGptService) -> None:
    service.claims = {"aud": ["x", "y"], "azp": None}
    with pytest.raises(SignInError, match="another client"):
        sign_in()


@pytest.mark.parametrize(
    ("signing", "reason"),
    [
        ({"key": "k" * 32, "algorithm": "HS256"}, "RS256"),
        ({"key": None, "algorithm": "none"}, "RS256"),
        ({"headers": {"kid": "k2"}}, "no key"),
        ({"headers": {}}, "no key"),
    ],
)
def test_an_id_token_with_another_signature_signs_nobody_in(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, signing: dict[str, Any], reason: str
) -> None:
    service.signing = signing
    with pytest.raises(SignInError, match=reason):
        sign_in()
    assert accounts.current() is None


def test_an_id_token_of_another_key_signs_nobody_in(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService
) -> None:
    service.signing = {"key": other_key()}
    with pytest.raises(SignInError, match="not valid"):
        sign_in()
    assert accounts.current() is None


@pytest.mark.parametrize("keys", [{}, {"keys": 1}, {"keys": []}, {"keys": [1]}, {"keys": [{"kty": "oct", "k": "a"}]}])
def test_odd_keys_of_the_issuer_sign_nobody_in(
    sign_in: SignIn, service: ChatGptService, monkeypatch: pytest.MonkeyPatch, keys: dict[str, Any]
) -> None:
    monkeypatch.setattr(service, "keys", lambda: keys)
    with pytest.raises(SignInError, match="ID token"):
        sign_in()


def test_a_code_is_sent_once_and_a_replayed_one_signs_nobody_in(accounts: Accounts, service: ChatGptService) -> None:
    attempt = begin(accounts, 1455)
    query = {name: values[0] for name, values in parse_qs(urlsplit(service.consent(attempt.url)).query).items()}
    finish(accounts, attempt, code=query["code"], client_id=query["client_id"])
    with pytest.raises(SignInError, match="invalid_grant"):
        finish(accounts, attempt, code=query["code"], client_id=query["client_id"])
    assert service.count["exchange"] == 2


@pytest.mark.parametrize(("fault", "reason"), [("lost-code", "was lost"), ("odd-code", "documented form")])
def test_a_lost_or_odd_answer_to_the_code_signs_nobody_in(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, fault: str, reason: str
) -> None:
    service.faults = [fault]
    with pytest.raises(SignInError, match=reason):
        sign_in()
    assert accounts.current() is None and service.count["exchange"] == 1


def test_without_the_scope_of_the_plan_the_sign_in_stays_and_says_how_to_allow_it(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService
) -> None:
    service.scope = " ".join(SCOPES - {"chatgpt.tokens.use.direct"})
    account = sign_in()
    assert account.is_signed_in and not account.plan_usage
    with pytest.raises(AuthError, match="--consent"):
        accounts.token()
    service.scope = " ".join(SCOPES)
    assert parse_qs(urlsplit(begin(accounts, 1455, account=account, is_consent_asked=True).url).query)["prompt"] == [
        "consent"
    ]
    assert sign_in(account).plan_usage and accounts.token()


def test_an_attempt_is_not_stored_and_shows_no_secret(
    accounts: Accounts, service: ChatGptService, paths: Paths
) -> None:
    attempt = begin(accounts, 1455)
    assert attempt.verifier not in attempt.url
    assert attempt.verifier not in repr(attempt) and attempt.state not in repr(attempt)
    assert set(json.loads(paths.auth.read_text())["chatgpt"]) == {"type", "host"}


@pytest.mark.parametrize(
    "origin",
    ["https://evil.example", "http://localhost:1", "http://127.0.0.1:1/x", "http://127.0.0.1:1@evil.example", ""],
)
def test_only_a_service_on_this_machine_replaces_the_documented_addresses(origin: str) -> None:
    assert find_service({TEST_ORIGIN: origin}) == Service()


def test_signing_out_revokes_the_refresh_token_and_keeps_the_registration(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService
) -> None:
    account = sign_in()
    assert accounts.sign_out(account) == "" and not service.is_live(account.refresh_token or "")
    kept = accounts.current()
    assert kept is not None and (kept.client_id, kept.is_signed_in) == (account.client_id, False)
    with pytest.raises(AuthError, match="signed out"):
        accounts.token()
    assert sign_in(kept).id == account.id and service.violations == []


def test_signing_out_works_without_the_service_and_says_what_to_do(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService
) -> None:
    account = sign_in()
    service.__exit__()
    assert "did not answer" in accounts.sign_out(account)
    kept = accounts.current()
    assert kept is not None and not kept.is_signed_in
    service.__enter__()


def test_times_of_the_tokens_are_those_of_the_answer(sign_in: SignIn, service: ChatGptService) -> None:
    service.refresh_after = 3000
    before = time.time()
    account = sign_in()
    assert (
        3600 <= (account.expires_at or 0) - before < 3660 and 2999 <= (account.earliest_refresh_at or 0) - before < 3060
    )


def ask_raw(service: ChatGptService, path: str, form: dict[str, str | None], kind: str) -> int:
    body = urlencode({name: value for name, value in form.items() if value is not None})
    with httpx.Client(verify=False, trust_env=False, timeout=PATIENCE_S) as client:
        return client.post(f"{service.origin}{path}", content=body, headers={"content-type": kind}).status_code


FORM = "application/x-www-form-urlencoded"
WRONG_FORMS: list[tuple[str, dict[str, str | None]]] = [
    ("exchange", {"client_id": "dynamic_agent_client"}),
    ("exchange", {"client_secret": "x"}),
    ("exchange", {"code": "other"}),
    ("exchange", {"code_verifier": "other"}),
    ("exchange", {"redirect_uri": "http://127.0.0.1:2000/auth/callback"}),
    ("exchange", {"resource": None}),
    ("exchange", {"resource": "https://example.com"}),
    ("exchange", {"grant_type": "password"}),
    ("refresh", {"scope": "openid"}),
    ("refresh", {"resource": None}),
    ("refresh", {"client_id": "oaiapp_other"}),
    ("refresh", {"refresh_token": "other"}),
    ("revoke", {"token_type_hint": None}),
    ("revoke", {"client_id": "oaiapp_other"}),
    ("revoke", {"token": "other"}),
]


@pytest.mark.fast_cases("exchange-wrong3", "exchange-wrong6")
@pytest.mark.parametrize(("kind", "wrong"), WRONG_FORMS)
def test_the_service_of_the_tests_refuses_another_form_than_ours(
    sign_in: SignIn, accounts: Accounts, service: ChatGptService, kind: str, wrong: dict[str, str | None]
) -> None:
    account = sign_in()
    attempt = begin(accounts, 1455)
    query = {name: values[0] for name, values in parse_qs(urlsplit(service.consent(attempt.url)).query).items()}
    refresh = account.refresh_token or ""
    path, right = {
        "exchange": (
            "/api/accounts/oauth/token",
            {
                "grant_type": "authorization_code",
                "client_id": query["client_id"],
                "code": query["code"],
                "code_verifier": attempt.verifier,
                "redirect_uri": attempt.redirect,
                "resource": RESOURCE,
            },
        ),
        "refresh": (
            "/api/accounts/oauth/token",
            {
                "grant_type": "refresh_token",
                "client_id": account.client_id,
                "refresh_token": refresh,
                "resource": RESOURCE,
            },
        ),
        "revoke": (
            "/api/accounts/oauth/revoke",
            {"token": refresh, "token_type_hint": "refresh_token", "client_id": account.client_id},
        ),
    }[kind]
    assert ask_raw(service, path, {**right}, "application/json") == 400
    assert ask_raw(service, path, {**right, **wrong}, FORM) == 400
    used = {"code_verifier", "redirect_uri", "client_id", "resource"} & wrong.keys() and kind == "exchange"
    is_used = used and None not in wrong.values()  # a code counts once, also with a wrong form
    assert ask_raw(service, path, {**right}, FORM) == (400 if is_used else 200)
