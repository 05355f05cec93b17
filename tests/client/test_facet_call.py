"""A call of a facet as a request."""

from opencode_tui.client.facets.call import Call


async def _get(self: object, session_id: str) -> None: ...


def test_no_argument_adds_a_folder_or_a_query_to_the_path() -> None:
    call = Call(_get, "GET", "/session/{session_id}/message")
    assert call.path_of({"session_id": "ses_1"}) == "/session/ses_1/message"
    assert call.path_of({"session_id": "../a?b#c%"}) == "/session/..%2Fa%3Fb%23c%25/message"
