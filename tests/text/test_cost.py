"""What a session costs, its budgets, and what of it counts into a plan."""

from opencode_tui.schema.api.context import BudgetUse
from opencode_tui.schema.session.message import Tokens
from opencode_tui.schema.session.stored_error import PLAN_LIMIT, ApiData, StoredApiError
from opencode_tui.text.cost import budget_text, cost_words, plan_text
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


def test_budgets_are_said_with_what_is_spent() -> None:
    uses = [BudgetUse(scope="session", limit=5, spent=0.5), BudgetUse(scope="day", limit=20, spent=0.004)]
    assert budget_text(uses) == "Budget of this session: $0.50 of $5.00\nBudget of today: $0.0040 of $20.00"
    plan = "your ChatGPT plan"
    assert (cost_words(0, 0, "chatgpt"), cost_words(1, 0, "chatgpt")) == (plan, f"$1.00 + {plan}")
    assert cost_words(0, 0, "chatgpt", is_reached=True) == f"{plan}: limit reached"
    assert cost_words(0, 0, "openai", is_reached=True) == ""
    assert (cost_words(0.5, 5), cost_words(0, 5), cost_words(0.5, 0), cost_words(0, 0)) == (
        "$0.50 of $5.00", "$0 of $5.00", "$0.50", "",
    )  # fmt: skip
