"""What a folder's instance was opened with: keys of providers, and opening it anew."""

from typing import Annotated, Literal

from fastapi import APIRouter, Path, Response
from pydantic import Field

from opencode_tui.schema.record import Record
from opencode_tui.server.answer import answer_value
from opencode_tui.server.request import FolderClient, ServerServices

router = APIRouter(tags=["instance"])

ProviderId = Annotated[str, Path(alias="providerID", pattern=r"^[A-Za-z0-9][A-Za-z0-9._@-]{0,99}$")]


class ApiKey(Record):
    """A key as it is given; it is never sent back."""

    type: Literal["api"]
    key: Annotated[str, Field(min_length=1, max_length=16_384, repr=False)]


@router.put("/auth/{providerID}", response_model=bool)
async def store_key(client: FolderClient, provider_id: ProviderId, given: ApiKey) -> Response:
    """Keep a provider's key; it counts when the instance is opened anew."""
    await client.settings.store_key(provider_id, given.key)
    return answer_value(True)


@router.delete("/auth/{providerID}", response_model=bool)
async def forget_key(client: FolderClient, provider_id: ProviderId) -> Response:
    """Forget a provider's key."""
    await client.settings.delete_key(provider_id)
    return answer_value(True)


@router.post("/instance/dispose", response_model=bool)
async def dispose(client: FolderClient, services: ServerServices) -> Response:
    """Close the folder's instance; its next use reads settings, keys and trust anew. Refused while something runs there."""
    await services.clients.dispose(str(client.directory))
    return answer_value(True)


@router.post("/global/dispose", response_model=bool)
async def dispose_all(services: ServerServices) -> Response:
    """Close the instances of all folders in which nothing runs; 409 afterwards when something runs in one."""
    await services.clients.dispose_all()
    return answer_value(True)
