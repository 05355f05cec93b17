"""Keys of providers: which there are, store one, delete one. Sign-ins by a browser are for `opencode-tui auth login`."""

from typing import Annotated

from fastapi import Path, Response

from opencode_tui.extras.opencode2.errors import AnswerError, invalid
from opencode_tui.extras.opencode2.events import plain_event
from opencode_tui.extras.opencode2.schema.catalog import (
    CredentialLabel,
    IntegrationValue,
    KeyMethod,
    NewKey,
    OauthCode,
    OauthRequest,
    StoredConnection,
    VariableConnection,
    VariableMethod,
)
from opencode_tui.extras.opencode2.scope import EventFeed, LocatedClient, answer_located, done
from opencode_tui.schema.api.catalog import ProviderSummary
from opencode_tui.schema.ids import system_clock
from opencode_tui.server.request import FORMS
from opencode_tui.server.router import new_router

router = new_router("opencode2-integration", prefix="/api")

IntegrationName = Annotated[str, Path(alias="integrationID", **FORMS["provider_id"])]
AnyName = Annotated[str, Path(alias="integrationID", max_length=200)]
AttemptName = Annotated[str, Path(alias="attemptID", max_length=200)]
CredentialName = Annotated[str, Path(alias="credentialID", max_length=200)]

_CREDENTIAL = "cred_"
_NO_SIGN_IN = "sign in with `opencode-tui auth login`; this server stores keys only"


def _no_sign_in() -> AnswerError:
    return invalid(_NO_SIGN_IN)


@router.get("/integration")
async def list_integrations(client: LocatedClient) -> Response:
    """List all known providers."""
    return await answer_located(client, [_integration(one) for one in await client.catalog.providers()])


@router.get("/integration/{integrationID}")
async def get_integration(client: LocatedClient, name: AnyName) -> Response:
    """Return a provider, null for an unknown one."""
    found = next((one for one in await client.catalog.providers() if one.id == name), None)
    return await answer_located(client, None if found is None else _integration(found))


def _integration(provider: ProviderSummary) -> IntegrationValue:
    methods: list[KeyMethod | VariableMethod] = [KeyMethod()]
    if provider.env:
        methods.append(VariableMethod(names=provider.env))
    connections: list[StoredConnection | VariableConnection] = []
    if provider.is_ready and provider.source == "api":
        connections.append(StoredConnection(id=_CREDENTIAL + provider.id, label="default"))
    if provider.is_ready and provider.source == "env" and provider.env:
        connections.append(VariableConnection(name=provider.env[0]))
    return IntegrationValue(id=provider.id, name=provider.name, methods=methods, connections=connections)


@router.post("/integration/{integrationID}/connect/key", status_code=204)
async def store_key(feed: EventFeed, client: LocatedClient, name: IntegrationName, given: NewKey) -> Response:
    """Store a provider's key."""
    await client.settings.store_key(name, given.key)
    _publish(feed, name)
    return done()


def _publish(feed: EventFeed, name: str) -> None:
    feed.publish(plain_event("integration.connection.updated", {"integrationID": name}, system_clock()))


@router.post("/integration/{integrationID}/connect/oauth")
async def begin_sign_in(_client: LocatedClient, name: AnyName, request: OauthRequest) -> Response:
    """Refuse to begin a sign-in."""
    del name, request
    raise _no_sign_in()


@router.get("/integration/attempt/{attemptID}")
async def get_sign_in(_client: LocatedClient, attempt: AttemptName) -> Response:
    """Refuse to describe a sign-in: none was begun."""
    del attempt
    raise _no_sign_in()


@router.delete("/integration/attempt/{attemptID}", status_code=204)
async def cancel_sign_in(_client: LocatedClient, attempt: AttemptName) -> Response:
    """Do nothing: no sign-in was begun."""
    del attempt
    return done()


@router.post("/integration/attempt/{attemptID}/complete", status_code=204)
async def end_sign_in(_client: LocatedClient, attempt: AttemptName, code: OauthCode | None = None) -> Response:
    """Refuse to end a sign-in: none was begun."""
    del attempt, code
    raise _no_sign_in()


@router.patch("/credential/{credentialID}", status_code=204)
async def rename_credential(_client: LocatedClient, name: CredentialName, label: CredentialLabel) -> Response:
    """Refuse to rename a key: a provider has one, without a name."""
    del name, label
    raise invalid("a provider has one key here, which has no name")


@router.delete("/credential/{credentialID}", status_code=204)
async def remove_credential(feed: EventFeed, client: LocatedClient, name: CredentialName) -> Response:
    """Delete a stored key; one that is not there stays so."""
    provider = name.removeprefix(_CREDENTIAL)
    if provider != name and any(one.id == provider for one in await client.catalog.providers()):
        await client.settings.delete_key(provider)
        _publish(feed, provider)
    return done()
