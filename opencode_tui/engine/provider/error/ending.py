"""What is said of an answer that is whole but no answer: the model refused, or ended without a text or a call.

Imported for such answers only. The words are those of `remedy.py`.
"""

from opencode_tui.engine.provider.error.remedy import phrase_for, remedy_for, sentence
from opencode_tui.engine.provider.llm import FinishStep
from opencode_tui.schema.error import with_remedy
from opencode_tui.schema.session.message import AssistantMessage
from opencode_tui.schema.session.stored_error import EMPTY, REFUSED, ApiData, StoredApiError

_MAX_DETAIL = 600


def describe_end(info: AssistantMessage, finish: FinishStep | None) -> StoredApiError:
    """Return what is said of an answer: it was refused, with the provider's reason, or it is empty."""
    is_refused = info.finish == "content-filter"
    cause = "refused" if is_refused else "empty"
    said = " ".join(finish.said.split())[:_MAX_DETAIL] if finish is not None else ""
    detail = phrase_for(cause, "")
    text = sentence(cause, info.provider_id, f"{detail}: {said}" if said else detail)
    remedy = remedy_for(cause, info.provider_id)
    if finish is not None and finish.model:
        remedy = f"switch to {info.provider_id}/{finish.model}, which the provider recommends for it (/models, or -m), or {remedy}"
    code = REFUSED if is_refused else EMPTY
    return StoredApiError(data=ApiData(message=with_remedy(text, remedy), metadata={"code": code}))
