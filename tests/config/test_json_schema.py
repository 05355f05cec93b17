"""The schema for editors, and the example."""

from pathlib import Path
from typing import Any, get_args

from opencode_tui.config.check.json_schema import build_schema
from opencode_tui.config.settings.section import Section
from opencode_tui.config.settings.settings import Settings
from tests.support.world.settings import SettingsWorld

EXAMPLE = Path(__file__).parents[2] / "config.example.jsonc"


def models(kind: Any, found: set[type[Section]]) -> set[type[Section]]:
    """Return every section that can stand inside a type."""
    if isinstance(kind, type) and issubclass(kind, Section) and kind not in found:
        found.add(kind)
        for field in kind.model_fields.values():
            models(field.annotation, found)
    for inner in get_args(kind):
        models(inner, found)
    return found


def test_every_field_of_every_section_has_a_sentence() -> None:
    schema = build_schema()
    for model in models(Settings, set()):
        properties = (schema if model is Settings else schema["$defs"][model.__name__])["properties"]
        for field_name, field in model.model_fields.items():
            assert properties[field.alias or field_name].get("description", "").endswith("."), (model, field_name)


def test_null_is_no_value_of_a_file() -> None:
    assert "'null'" not in str(build_schema()["properties"])


def test_a_mistyped_key_is_visible_in_an_editor() -> None:
    schema = build_schema()
    assert schema["additionalProperties"] is False
    assert schema["$defs"]["CompactionSettings"]["additionalProperties"] is False
    assert schema["$defs"]["AgentSettings"]["additionalProperties"] is True


def test_the_example_loads_without_a_word(world: SettingsWorld) -> None:
    world.person(EXAMPLE.read_text(encoding="utf-8"))
    loaded = world.load(OPENAI_API_KEY="k")
    assert (loaded.warnings, loaded.ignored) == ([], [])
    assert len(loaded.effective) > 10
