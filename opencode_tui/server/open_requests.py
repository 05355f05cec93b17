"""The questions that are open when somebody begins to listen, as the events that told them.

OpenCode's screens know of questions by events alone: one that attaches while a tool waits would show a turn that never goes on.
"""

from opencode_tui.client.client import Client
from opencode_tui.schema.event import PermissionAsked, QuestionAsked, StructuralEvent
from opencode_tui.server.frame import Frame


async def open_requests(client: Client) -> list[Frame]:
    """Return the open questions of a folder, oldest first; with an engine in the process nothing happens in between."""
    permissions, questions = await client.permissions.pending(), await client.questions.pending()
    asked: list[StructuralEvent] = [PermissionAsked.model_validate(request.model_dump()) for request in permissions]
    asked += [QuestionAsked.model_validate(request.to_dict()) for request in questions]
    return [Frame.of(str(client.directory), event) for event in asked]
