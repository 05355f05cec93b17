"""Settings of agents that their model cannot follow: an unknown variant, a temperature that it rejects."""

from collections.abc import Iterator, Mapping

from opencode_tui.config.notice import describe
from opencode_tui.engine.provider.catalog import Catalog
from opencode_tui.schema.error import ModelNotFoundError
from opencode_tui.schema.model import Model, describe_variants, parse_model_ref
from opencode_tui.schema.record import JsonObject


def useless_settings(
    entries: Mapping[str, JsonObject], *, model: str | None, catalog: Catalog, sources: Mapping[str, str]
) -> Iterator[str]:
    """Yield a line for each setting of an agent that has no effect on its model, which is `model` if it names none.

    Agents whose model is chosen at run time are not judged, nor is an unknown model, which is reported elsewhere. Blocks for
    the table of models if an agent has such a setting.
    """
    for name, entry in entries.items():
        given = [key for key in ("variant", "temperature", "top_p") if entry.get(key) is not None]
        ref = parse_model_ref(str(entry.get("model") or model or "")) if given else None
        if ref is None:
            continue
        try:
            found = catalog.resolve(ref)
        except ModelNotFoundError:
            continue
        for key in given:
            if reason := _why_useless(key, entry[key], found):
                path = f"agent.{name}.{key}"
                yield describe(sources.get(path, ""), None, path, f"{ref} {reason}")


def _why_useless(key: str, value: object, model: Model) -> str:
    """Return why a model does not follow a setting, as the rest of a sentence; empty when it does."""
    if key == "variant":
        return "" if value in model.variants else describe_variants(model, str(value))
    return "" if model.temperature else f"accepts no {key}, so it is not sent; remove it"
