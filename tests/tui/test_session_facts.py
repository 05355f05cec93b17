"""What the screen knows of the shown session: tokens."""

from opencode_tui.schema.session.message import CacheTokens, Tokens
from opencode_tui.schema.session.session import SessionInfo
from opencode_tui.tui.state.facts import SessionFacts
from tests.support.sessions.records import assistant, user

THOUGHT = Tokens(input=10, output=100, reasoning=60, cache=CacheTokens(read=20))
"""An answer of 100 tokens, 60 of them reasoning."""


def facts_of(tokens: Tokens) -> SessionFacts:
    info = SessionInfo.model_validate(
        {
            "id": "ses_x",
            "projectID": "p",
            "directory": "/p",
            "title": "t",
            "version": "1",
            "time": {"created": 0, "updated": 0},
        }
    )
    facts = SessionFacts(info)
    request = user("Think")
    facts.load([request, assistant("Done", parent_id=request.info.id, tokens=tokens)])
    return facts


def test_reasoning_is_counted_once_in_what_a_turn_has_written():
    assert facts_of(THOUGHT).turn_tokens == 100


def test_the_context_holds_reasoning_and_cached_input_once():
    assert facts_of(THOUGHT).context == 130
    assert facts_of(THOUGHT.changed(total=131)).context == 131
