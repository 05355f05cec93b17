"""Routes of the settings: the effective ones of a folder, and the user's own file, which alone a client can change.

The default keys are the `default` values of `KeybindsConfig` in OpenCode's OpenAPI description, 1.1.65.
"""

from collections.abc import Mapping
from typing import Any, cast

from fastapi import Response

from opencode_tui.schema.api.keybinds import SHARED_KEYS
from opencode_tui.schema.record import JsonObject
from opencode_tui.server.answer import answer_value
from opencode_tui.server.request import FolderClient, ServerServices
from opencode_tui.server.router import new_router

DEFAULT_KEYS: Mapping[str, str] = {
    **SHARED_KEYS,
    "scrollbar_toggle": "none",
    "username_toggle": "none",
    "stash_delete": "ctrl+d",
    "model_provider_list": "ctrl+a",
    "model_favorite_toggle": "ctrl+f",
    "model_cycle_favorite": "none",
    "model_cycle_favorite_reverse": "none",
    "messages_toggle_conceal": "<leader>h",
    "tips_toggle": "<leader>h",
}
"""The default keys of OpenCode's screen, which has none of its own: it needs all of them from `/config`."""

router = new_router("config")


@router.get("/config", response_model=dict[str, Any])
async def get_config(client: FolderClient) -> Response:
    """Return the effective settings, secrets redacted, with default keys of OpenCode's screen."""
    return answer_value(_with_keys(await client.settings.effective()))


@router.patch("/config", response_model=dict[str, Any])
async def change_config(client: FolderClient, services: ServerServices, change: dict[str, Any]) -> Response:
    """Merge values into the user's own settings file, never into one of the repository; return the effective settings.

    Values that `GET /config` returns are not written, so a client may send all of them back. Folders in which
    something runs use the others after that.
    """
    effective = await client.settings.change(_without_default_keys(change))
    await services.clients.reload()
    return answer_value(_with_keys(effective))


@router.get("/global/config", response_model=dict[str, Any])
async def get_user_config(client: FolderClient) -> Response:
    """Return the settings in the user's own file, secrets redacted."""
    return answer_value(await client.settings.own())


@router.patch("/global/config", response_model=dict[str, Any])
async def change_user_config(client: FolderClient, services: ServerServices, change: dict[str, Any]) -> Response:
    """Do the same as `PATCH /config`, and return the settings in the user's own file."""
    await client.settings.change(_without_default_keys(change))
    await services.clients.reload()
    return answer_value(await client.settings.own())


def _with_keys(settings: JsonObject) -> JsonObject:
    return {**settings, "keybinds": {**DEFAULT_KEYS, **(settings.get("keybinds") or {})}}


def _without_default_keys(change: JsonObject) -> JsonObject:
    """Return a change without the default keys, which a client that sends back what it read has from here."""
    keys = change.get("keybinds")
    if not isinstance(keys, dict) or not DEFAULT_KEYS.keys() <= cast("JsonObject", keys).keys():
        return change
    own = {name: key for name, key in cast("JsonObject", keys).items() if DEFAULT_KEYS.get(name) != key}
    rest = {name: value for name, value in change.items() if name != "keybinds"}
    return {**rest, "keybinds": own} if own else rest
