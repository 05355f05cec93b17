"""Requests that wait, as the released OpenCode 2 documents them."""

from opencode_tui.extras.opencode2.journal import Journal
from opencode_tui.extras.opencode2.messages import prompt_value
from opencode_tui.extras.opencode2.schema.released import (
    CreatedTime,
    FileOrigin,
    WaitingAgent,
    WaitingFile,
    WaitingPrompt,
    WaitingRequest,
)
from opencode_tui.extras.opencode2.schema.session import PromptFile
from opencode_tui.schema.session.history import MessageWithParts
from opencode_tui.schema.session.message import is_waiting


def waiting_value(journal: Journal, message: MessageWithParts) -> WaitingRequest:
    """Return a request that waits, or that was just stored."""
    prompt = prompt_value(message.parts)
    agents = [WaitingAgent(name=one.name, mention=one.source) for one in prompt.agents or []]
    files = [_file(one) for one in prompt.files or []]
    return WaitingRequest(
        id=journal.ids.get(message.info.id, message.info.id),
        session_id=journal.session_id,
        time=CreatedTime(created=message.info.time.created),
        payload=WaitingPrompt(text=prompt.text, files=files or None, agents=agents or None),
        delivery="queue" if is_waiting(message.info) else "steer",
    )


def _file(file: PromptFile) -> WaitingFile:
    head, _, data = file.uri.partition(";base64,")
    is_inline = head.startswith("data:")
    source = FileOrigin(type="inline") if is_inline else FileOrigin(type="uri", uri=file.uri)
    return WaitingFile(
        data=data if is_inline else "", mime=file.mime, source=source, name=file.name, mention=file.source
    )
