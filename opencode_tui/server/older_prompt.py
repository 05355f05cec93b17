"""A request as older clients write it, in the names of today.

The Python package, the first SDKs and editors' plugins name the model as `providerID` and `modelID` beside the parts, the agent as
`mode`, and give parts ids of their own making (UUIDs). Whoever names a model gets it, or is told why not: never another one.
"""

from collections.abc import Sequence

from opencode_tui.schema.model import ModelRef
from opencode_tui.schema.request import PromptInput, PromptPart

_PART = "prt"


def in_present_names(request: PromptInput) -> PromptInput:
    """Return the request with what stands in older names where the present ones say nothing."""
    older = request.model_extra or {}
    provider, model, mode = (older.get(name) for name in ("providerID", "modelID", "mode"))
    changes: dict[str, object] = {"parts": _with_our_ids(request.parts)}
    if request.model is None and isinstance(provider, str) and isinstance(model, str):
        changes["model"] = ModelRef(provider_id=provider, model_id=model)
    if request.agent is None and isinstance(mode, str):
        changes["agent"] = mode
    return request.changed(**changes)


def _with_our_ids(parts: Sequence[PromptPart]) -> list[PromptPart]:
    """Return the parts; one whose id is no part id (it does not even begin like one) gets one of ours."""
    return [part if part.id is None or part.id.startswith(_PART) else part.changed(id=None) for part in parts]
