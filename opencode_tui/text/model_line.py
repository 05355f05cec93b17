"""Lines about a turn for clients without a screen.

About the model that answers: a replaced or unlisted one, what it does not accept, with whose identity it is asked; and which
language servers were not ready at the end of the turn.
"""

from opencode_tui.schema.model import LANGUAGES_TITLE, MODEL_TITLE


def model_line(event: object) -> str:
    """Return the line that an event shows; empty for any other event. It is not made safe."""
    if getattr(event, "title", None) not in (MODEL_TITLE, LANGUAGES_TITLE):
        return ""  # asked by name: most runs never import the class of these events
    return str(getattr(event, "message", ""))


def session_of_line(event: object) -> str:
    """Return the session that such an event is about; empty if there is none."""
    found: object = getattr(event, "session_id", None)
    return found if isinstance(found, str) else ""
