"""Settings of any shape for property tests: right keys, values of right and wrong types at every depth."""

from hypothesis import strategies as st

from opencode_tui.config.settings.settings import Settings

_KEYS = st.sampled_from([field.alias or name for name, field in Settings.model_fields.items()])
_WORDS = st.sampled_from(
    ["bash", "*", "build", "permission", "options", "models", "command", "type", "local", "url", "template", "enabled"]
)
_ATOMS = (
    st.none()
    | st.booleans()
    | st.integers(-3, 9)
    | st.floats(0, 2)
    | st.sampled_from(["allow", "ask", "x/y", "{env:A}", "{file:named}", ""])
)
_VALUES = st.recursive(
    _ATOMS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(_WORDS, inner, max_size=3), max_leaves=8
)
SETTINGS_OF_ANY_SHAPE = st.dictionaries(_KEYS, _VALUES, max_size=4)
