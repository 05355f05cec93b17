"""How an answer ended that was stopped or failed; pure."""

from collections.abc import Sequence

from opencode_tui.schema.error import PROGRAM_ENDED, StoredAbortedError
from opencode_tui.schema.message import AnyMessage, AssistantMessage
from opencode_tui.text.tool import is_interrupted
from opencode_tui.tui.items import AnyItem, ErrorItem, StopItem, ToolItem


def has_failed(info: AnyMessage) -> bool:
    """Tell whether something went wrong; who is stopped has not failed."""
    error = info.error if isinstance(info, AssistantMessage) else None
    return error is not None and not isinstance(error, StoredAbortedError)


def end_of(info: AssistantMessage, items: Sequence[AnyItem]) -> ErrorItem | StopItem | None:
    """Return what stands below an answer's items, None where it ended well or goes on."""
    if info.error is None:
        return None
    item_id, ended = f"{info.id}:end", info.time.completed or info.time.created
    if isinstance(info.error, StoredAbortedError):
        is_told = any(isinstance(item, ToolItem) and is_interrupted(item.part.state) for item in items)
        is_killed = info.error.data.message == PROGRAM_ENDED
        return StopItem(item_id, info.id, time=ended, is_told=is_told, is_killed=is_killed)
    return ErrorItem(item_id, info.id, error=info.error, provider=info.provider_id, model=info.model_id, time=ended)
