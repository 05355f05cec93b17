"""What of a session counts into a plan."""

from opencode_tui.schema.session.message import Tokens
from opencode_tui.schema.session.stored_error import PLAN_LIMIT, ApiData, StoredApiError
from opencode_tui.text.plan import plan_text
from tests.support.sessions.records import assistant, user

LIMIT = StoredApiError(data=ApiData(message="no", metadata={"code": PLAN_LIMIT}))


def test_requests_of_a_plan_are_counted_with_the_page_that_shows_what_is_left() -> None:
    tokens = Tokens(input=1_000, output=200)
    answers = [assistant(provider_id="chatgpt", model_id="gpt-6", tokens=tokens).info for _ in range(2)]
    other = assistant().info
    assert plan_text([user().info, other]) == ""
    assert plan_text([*answers, other], "ada@example.com").splitlines() == [
        "Your ChatGPT plan: 2 requests of this session, 2 k tokens in, 400 out.",
        "Account in use: ada@example.com.",
        "OpenAI reports no remaining usage to programs; https://chatgpt.com/settings/usage shows it and limits it.",
    ]
    ended = answers[1].changed(error=LIMIT)
    assert "limit is reached" in plan_text([answers[0], ended]) and "limit is reached" not in plan_text(answers)
