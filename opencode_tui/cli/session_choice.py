"""Find a session by its ID; suggest similar ones when there is none. The title of one in a line."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from opencode_tui.schema.error import ConfigError, NotFoundError, SessionError
from opencode_tui.schema.session.listed import ListedSession
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.schema.suggest import nearest as similar_names

if TYPE_CHECKING:
    from opencode_tui.client.client import Client

_NEAREST = 3
_TITLE_LENGTH = 40


def session_title(info: SessionInfo | ListedSession) -> str:
    """Return the title in one line."""
    return " ".join(info.title.split()) or "(no title)"


async def choose_session(client: "Client", session_id: str) -> SessionInfo:
    """Return the session. Without one raises ConfigError, with similar IDs and titles of this project."""
    try:
        return await client.sessions.get(session_id)
    except (NotFoundError, SessionError) as error:
        near = nearest(session_id, await client.sessions.listed())
        if not near:
            raise ConfigError(str(error)) from error
        listed = ", ".join(f"{info.id} ({' '.join(info.title.split())[:_TITLE_LENGTH]})" for info in near)
        raise ConfigError(f"no session {session_id}; similar: {listed} (see `opencode-tui session list`)") from error


def nearest(text: str, infos: Sequence[ListedSession]) -> list[ListedSession]:
    """Return at most three sessions whose ID starts with or resembles the text, or whose title contains it."""
    wanted = text.casefold()
    similar = set(similar_names(text, (info.id for info in infos), _NEAREST, similarity=0.7))
    found = [info for info in infos if info.id.startswith(text)]
    found += [info for info in infos if info.id in similar]
    found += [info for info in infos if wanted in info.title.casefold()]
    return list({info.id: info for info in found}.values())[:_NEAREST]
