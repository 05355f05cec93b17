"""Operations that the released OpenCode 2 has beside those of its preview, as it documents them; not tried with its programs.

Its events have other types than the preview's on the same path, so a program that follows these needs its own server.
"""

import os
import tempfile
from pathlib import Path
from typing import Annotated

from fastapi import Path as PathParameter
from fastapi import Request, Response

from opencode_tui import __version__
from opencode_tui.extras.opencode2.errors import AnswerError, invalid, no_message
from opencode_tui.extras.opencode2.routes.session import (
    clear_revert,
    file_inputs,
    find_message,
    session_value,
    wait_for_session,
)
from opencode_tui.extras.opencode2.schema.released import (
    CommandRequest,
    DeliveryChange,
    ForkRequest,
    Question,
    ServerInfo,
    ServerPaths,
    SessionChange,
    SessionTitle,
    ShellCommand,
)
from opencode_tui.extras.opencode2.scope import EventFeed, Session, answer_data, done
from opencode_tui.extras.opencode2.waiting import waiting_value
from opencode_tui.schema.api.request import CommandInput, ForkSession, ShellInput, UpdateSession
from opencode_tui.schema.api.side_question import SideQuestion
from opencode_tui.schema.error import NoSuchMessageError
from opencode_tui.schema.session.message import is_waiting
from opencode_tui.server.answer import answer_value
from opencode_tui.server.request import ServerServices
from opencode_tui.server.router import new_router

router = new_router("opencode2-released", prefix="/api")

InboxName = Annotated[str, PathParameter(alias="inboxID", pattern=r"^msg_", max_length=200)]


@router.get("/info")
async def get_info(request: Request) -> Response:
    """Return which server this is."""
    info = ServerInfo(
        version=__version__,
        pid=os.getpid(),
        urls=[str(request.base_url).rstrip("/")],
        paths=ServerPaths(tmp=tempfile.gettempdir(), home=str(Path.home())),
    )
    return answer_value(info.to_dict())


@router.delete("/session/{sessionID}", status_code=204)
async def remove_session(session: Session) -> Response:
    """Move a session and its children to the trash."""
    await session.client.sessions.remove(session.id)
    return done()


@router.patch("/session/{sessionID}", status_code=204)
async def update_session(session: Session, change: SessionChange) -> Response:
    """Change the title of a session."""
    if change.metadata or change.permissions:
        wrong = "metadata" if change.metadata else "permissions"
        raise invalid(f"a client cannot set the {wrong} of a session; leave them out", field=wrong)
    if change.title is not None:
        await session.client.sessions.update(session.id, UpdateSession(title=change.title))
    return done()


@router.post("/session/{sessionID}/rename", status_code=204)
async def rename_session(session: Session, title: SessionTitle) -> Response:
    """Change the title of a session; its first release has this operation."""
    await session.client.sessions.update(session.id, UpdateSession(title=title.title))
    return done()


@router.post("/session/{sessionID}/fork")
async def fork_session(feed: EventFeed, session: Session, request: ForkRequest | None = None) -> Response:
    """Create a session with the messages before one, or with all."""
    wanted = request or ForkRequest()
    before = wanted.before and (await feed.journal(session.client, session.id)).stored_id(wanted.before)
    try:
        info = await session.client.sessions.fork(session.id, ForkSession(message_id=before))
    except NoSuchMessageError:
        raise no_message(session.id, wanted.before or "") from None
    return answer_data(await session_value(session.client, feed, info))


router.add_api_route("/session/{sessionID}/revert", clear_revert, methods=["DELETE"], status_code=204)
router.add_api_route("/experimental/session/{sessionID}/wait", wait_for_session, methods=["POST"], status_code=204)


@router.get("/session/{sessionID}/inbox")
async def list_inbox(feed: EventFeed, session: Session) -> Response:
    """Return the requests that no step has read, oldest first."""
    journal = await feed.journal(session.client, session.id)
    found = [await find_message(session, one) for one in journal.waiting]
    return answer_data([waiting_value(journal, one) for one in found if one is not None])


@router.delete("/session/{sessionID}/inbox/{inboxID}", status_code=204)
async def cancel_request(feed: EventFeed, session: Session, inbox_id: InboxName) -> Response:
    """Remove a request that waits; one that does not any more stays."""
    journal = await feed.journal(session.client, session.id)
    stored = journal.stored_id(inbox_id)
    if stored in journal.waiting:
        await session.client.prompts.withdraw(session.id, stored)
    return done()


@router.patch("/session/{sessionID}/inbox/{inboxID}", status_code=204)
async def change_delivery(feed: EventFeed, session: Session, inbox_id: InboxName, change: DeliveryChange) -> Response:
    """Let the session read a request that waits at its next step, or leave it where it is."""
    journal = await feed.journal(session.client, session.id)
    stored = journal.stored_id(inbox_id)
    message = await find_message(session, stored) if stored in journal.waiting else None
    if message is None or (
        change.delivery == "steer"
        and is_waiting(message.info)
        and not await session.client.prompts.send_now(session.id, stored)
    ):
        raise AnswerError(409, "ConflictError", f"{inbox_id} does not wait any more", resource=inbox_id)
    return done()


@router.post("/session/{sessionID}/generate")
async def generate_text(session: Session, question: Question) -> Response:
    """Answer a question about the session, which keeps neither."""
    answer = await session.client.context.ask(session.id, SideQuestion(text=question.prompt))
    return answer_data({"text": answer.text})


@router.post("/session/{sessionID}/shell", status_code=204)
async def run_shell(services: ServerServices, session: Session, given: ShellCommand) -> Response:
    """Run a shell command of the user; answers when it has ended."""
    turn = await services.turns.shell(
        session.client, session.id, ShellInput(command=given.command, message_id=given.id)
    )
    await turn.success()
    return done()


@router.post("/session/{sessionID}/command", status_code=204)
async def run_command(services: ServerServices, session: Session, given: CommandRequest) -> Response:
    """Send the prompt of a slash command; answers when it is stored."""
    if given.name not in {one.name for one in await session.client.catalog.commands()}:
        raise AnswerError(404, "CommandNotFoundError", f"Command not found: {given.name}", command=given.name)
    request = CommandInput(command=given.name, arguments=given.text, parts=file_inputs(given.files or []) or None)
    await services.turns.command(session.client, session.id, request)
    return done()
