"""What OpenCode's API lacks about the folder: rules, models in full, notices."""

from typing import Annotated, Any

from fastapi import APIRouter, Path, Query, Response
from pydantic import Field

from opencode_tui.schema.catalog import Notices, ProviderFacts, provider_facts
from opencode_tui.schema.file import LineMatch
from opencode_tui.schema.header import OWN
from opencode_tui.schema.model import Model, ModelRef
from opencode_tui.schema.permission import PermissionReport, PermissionRules, Rule
from opencode_tui.schema.record import Record, absent
from opencode_tui.schema.trust import TrustGrant, TrustReport
from opencode_tui.server.answer import answer_record, answer_records, answer_value
from opencode_tui.server.request import FolderClient

router = APIRouter(prefix=OWN, tags=["opencode-tui"])

Word = Annotated[str, Query(max_length=4_096, pattern=r"^[^\x00]*$")]
ProviderId = Annotated[str, Path(alias="providerID", pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$")]


class Act(Record):
    """An act that is asked about: a permission and what it is wanted for; `extra` rules are tried as if they stood last."""

    permission: str
    subject: str
    agent: str | None = absent()
    extra: list[Rule] = Field(default_factory=list[Rule])


@router.get("/rules", response_model=PermissionRules)
async def list_rules(client: FolderClient, agent: Word | None = None) -> Response:
    """Return an agent's rules (the default one's without a name) and what was allowed for good in this worktree."""
    return answer_record(await client.rules.list(agent))


@router.post("/rules/explain", response_model=PermissionReport)
async def explain_act(client: FolderClient, act: Act) -> Response:
    """Return why an act would be allowed, asked for or denied."""
    return answer_record(await client.rules.explain(act.permission, act.subject, agent=act.agent, extra=act.extra))


@router.get("/rules/grants", response_model=list[Rule])
async def list_grants(client: FolderClient, permission: Word, pattern: Word | None = None) -> Response:
    """Return what a revocation would forget."""
    return answer_records(await client.rules.grants(permission, pattern))


@router.delete("/rules/grants", response_model=list[Rule])
async def revoke_grants(client: FolderClient, permission: Word, pattern: Word | None = None) -> Response:
    """Forget what was allowed for good; returns what was forgotten."""
    return answer_records(await client.rules.revoke(permission, pattern))


@router.get("/model", response_model=list[Model])
async def list_models(client: FolderClient, *, all: bool = False) -> Response:
    """List the models that can be used here, or those of every known provider."""
    return answer_records(await (client.catalog.all_models() if all else client.catalog.models()))


@router.get("/model/default", response_model=ModelRef)
async def get_default_model(client: FolderClient) -> Response:
    """Return the model that answers when none is named."""
    return answer_record(await client.catalog.default_model())


@router.get("/provider", response_model=list[ProviderFacts])
async def list_provider_facts(client: FolderClient, *, only_ready: bool = False) -> Response:
    """List the known providers, or those that can be asked now."""
    return answer_records([provider_facts(one) for one in await client.catalog.providers(only_ready=only_ready)])


@router.get("/agent", response_model=dict[str, Any])
async def get_agent(client: FolderClient, name: Word) -> Response:
    """Return what one agent is made of: {agent, rules, prompt, tools}."""
    return answer_value(await client.catalog.describe_agent(name))


@router.get("/notices", response_model=Notices)
async def get_notices(client: FolderClient) -> Response:
    """Return what a person should know of the folder's settings."""
    return answer_record(await client.settings.notices())


@router.get("/config", response_model=dict[str, Any])
async def get_settings(client: FolderClient) -> Response:
    """Return the settings in force as they were made, secrets covered."""
    return answer_value(await client.settings.effective())


@router.get("/trust", response_model=TrustReport)
async def get_trust(client: FolderClient) -> Response:
    """Return what the folder's own files would start or loosen."""
    return answer_record(await client.settings.trust_report())


@router.post("/trust", response_model=bool)
async def grant_trust(client: FolderClient, grant: TrustGrant) -> Response:
    """Trust the content that a report was about, and nothing else; it counts when the folder is opened next."""
    await client.settings.trust(grant.seen)
    return answer_value(True)


@router.delete("/auth/{providerID}", response_model=bool)
async def forget_key(client: FolderClient, provider_id: ProviderId) -> Response:
    """Forget a provider's key; tells whether there was one."""
    return answer_value(await client.settings.delete_key(provider_id))


@router.get("/find", response_model=list[LineMatch])
async def find_lines(
    client: FolderClient, pattern: Word, limit: Annotated[int, Query(ge=1, le=10_000)] = 100
) -> Response:
    """Find lines by a regular expression, so many at most."""
    return answer_records(await client.files.search(pattern, limit=limit))
