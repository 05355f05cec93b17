"""Key bindings that would take a key away from sending, stopping or plain typing."""

_RESERVED = {
    "enter": ("input_submit",),
    "return": ("input_submit",),
    "ctrl+c": ("app_exit", "input_clear"),
    "escape": ("session_interrupt",),
    "esc": ("session_interrupt",),
}
"""Keys that a person relies on, and the actions that may have them."""


def find_captured_keys(action: str, binding: str) -> list[str]:
    """Return the keys of a binding that this action would take away: from sending, stopping, or plain typing."""
    keys = [key.strip().lower() for key in binding.split(",")]
    return [key for key in keys if (key in _RESERVED and action not in _RESERVED[key]) or _is_typed(key, action)]


def _is_typed(key: str, action: str) -> bool:
    return (len(key) == 1 or key in ("space", "backspace")) and not action.startswith("input_")
