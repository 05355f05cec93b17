"""Agents, models, providers, commands, skills and references of a folder."""

from fastapi import Response

from opencode_tui.extras.opencode2.errors import AnswerError
from opencode_tui.extras.opencode2.schema.catalog import (
    AgentValue,
    CachePrices,
    CommandValue,
    ModelApi,
    ModelCapabilities,
    ModelLimits,
    ModelPrices,
    ModelValue,
    ModelVariant,
    PriceTier,
    ProviderApi,
    ProviderValue,
    RuleValue,
    SkillValue,
)
from opencode_tui.extras.opencode2.schema.location import ModelName
from opencode_tui.extras.opencode2.scope import LocatedClient, answer_located
from opencode_tui.schema.api.catalog import AgentSummary, ProviderSummary
from opencode_tui.schema.api.folder import CommandSummary
from opencode_tui.schema.model import LargePrices, Model, ModelRef, Prices, parse_model_ref
from opencode_tui.schema.permission import Rule
from opencode_tui.schema.provider_formats import row_of
from opencode_tui.server.router import new_router

router = new_router("opencode2-catalog", prefix="/api")


@router.get("/agent")
async def list_agents(client: LocatedClient) -> Response:
    """List the agents with their rules, the default one first."""
    agents = await client.catalog.agents()
    return await answer_located(client, [_agent(one, (await client.rules.list(one.name)).rules) for one in agents])


def _agent(agent: AgentSummary, rules: list[Rule]) -> AgentValue:
    values = [RuleValue(action=rule.permission, resource=rule.pattern, effect=rule.action) for rule in rules]
    return AgentValue(
        id=agent.name,
        model=_model_name(agent.model),
        description=agent.description,
        mode=agent.mode,
        hidden=agent.hidden,
        steps=agent.steps or None,
        permissions=values,
    )


def _model_name(ref: ModelRef | None) -> ModelName | None:
    return None if ref is None else ModelName(id=ref.model_id, provider_id=ref.provider_id)


@router.get("/model")
async def list_models(client: LocatedClient) -> Response:
    """List the models that can be used."""
    providers = {one.id: one for one in await client.catalog.providers(only_ready=True)}
    models = [one for one in await client.catalog.models() if one.provider_id in providers]
    return await answer_located(client, [_model(one, providers[one.provider_id]) for one in models])


def _model(model: Model, provider: ProviderSummary) -> ModelValue:
    media = ["text", "image", "pdf"] if model.attachment else ["text"]
    return ModelValue(
        id=model.model_id,
        provider_id=model.provider_id,
        name=model.name or model.model_id,
        api=ModelApi(
            id=model.api_id or model.model_id, package=_package(provider, model), url=provider.base_url or None
        ),
        capabilities=ModelCapabilities(tools=model.tool_call, input=media, output=["text"]),
        variants=[ModelVariant(id=name, body=body) for name, body in model.variants.items()],
        cost=[_prices(model.cost), *map(_prices, model.cost.large)],
        limit=ModelLimits(context=model.limit.context, input=model.limit.input, output=model.limit.output),
    )


def _package(provider: ProviderSummary, model: Model | None = None) -> str:
    row = None if model is None else row_of(model.adapter)
    return provider.package or (row.package if row else "") or "litellm"


def _prices(prices: Prices) -> ModelPrices:
    cache = CachePrices(read=float(prices.cache_read), write=float(prices.cache_write))
    tier = PriceTier(size=prices.above) if isinstance(prices, LargePrices) else None
    return ModelPrices(tier=tier, input=float(prices.input), output=float(prices.output), cache=cache)


@router.get("/provider")
async def list_providers(client: LocatedClient) -> Response:
    """List the providers that can be used."""
    providers = await client.catalog.providers(only_ready=True)
    return await answer_located(client, [_provider(one) for one in providers])


@router.get("/provider/{providerID}")
async def get_provider(client: LocatedClient, providerID: str) -> Response:
    """Return one of them."""
    found = next((one for one in await client.catalog.providers(only_ready=True) if one.id == providerID), None)
    if found is None:
        text = f"Provider not found: {providerID}"
        raise AnswerError(404, "ProviderNotFoundError", text, providerID=providerID)
    return await answer_located(client, _provider(found))


def _provider(provider: ProviderSummary) -> ProviderValue:
    api = ProviderApi(package=_package(provider), url=provider.base_url or None)
    return ProviderValue(id=provider.id, name=provider.name, api=api)


@router.get("/command")
async def list_commands(client: LocatedClient) -> Response:
    """List the slash commands."""
    return await answer_located(client, [_command(one) for one in await client.catalog.commands()])


def _command(command: CommandSummary) -> CommandValue:
    return CommandValue(
        name=command.name,
        template=command.template,
        description=command.description,
        agent=command.agent,
        model=_model_name(parse_model_ref(command.model or "")),
        subtask=command.subtask,
    )


@router.get("/skill")
async def list_skills(client: LocatedClient) -> Response:
    """List the skills."""
    return await answer_located(
        client,
        [
            SkillValue(name=one.name, description=one.description, location=one.location, content=one.content)
            for one in await client.catalog.skills()
        ],
    )


@router.get("/reference")
async def list_references(client: LocatedClient) -> Response:
    """Return no references: a project has its own files only."""
    return await answer_located(client, [])
