"""The default keys of OpenCode's screen: it has no defaults of its own and needs all of them from `/config`.

Source: the `default` values of `KeybindsConfig` in its OpenAPI description, 1.1.65.
"""

from collections.abc import Mapping

from opencode_tui.schema.api.keybinds import SHARED_KEYS
from opencode_tui.schema.record import JsonObject

DEFAULT_KEYS: Mapping[str, str] = {
    **SHARED_KEYS,
    "status_view": "<leader>s",
    "session_fork": "none",
    "session_rename": "ctrl+r",
    "session_delete": "ctrl+d",
    "agent_cycle_reverse": "shift+tab",
    "scrollbar_toggle": "none",
    "username_toggle": "none",
    "stash_delete": "ctrl+d",
    "model_provider_list": "ctrl+a",
    "model_favorite_toggle": "ctrl+f",
    "model_cycle_favorite": "none",
    "model_cycle_favorite_reverse": "none",
    "session_share": "none",
    "session_unshare": "none",
    "messages_toggle_conceal": "<leader>h",
    "tips_toggle": "<leader>h",
}
"""Action to its keys, separated by commas; `none` means no key."""


def with_keys(settings: JsonObject) -> JsonObject:
    """Return the settings with keys for every action; those of the settings override the defaults."""
    return {**settings, "keybinds": {**DEFAULT_KEYS, **(settings.get("keybinds") or {})}}
