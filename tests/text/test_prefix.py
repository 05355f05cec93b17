from opencode_tui.schema.api.context import BudgetUse, PrefixChange, PrefixView
from opencode_tui.schema.session.prefix import PrefixBreak
from opencode_tui.text.prefix import budget_text, prefix_line, prefix_text
from opencode_tui.text.quantity import cost_words

LOST = PrefixBreak(
    message_id="m", time=0, model="p/m", cause="an output was\x1b[2J pruned", place="message 3 (result)", kept=9, lost=8_000,
    tokens=2_000, cost=0.0123,
)  # fmt: skip


def test_a_session_without_a_start_says_nothing() -> None:
    assert prefix_line(PrefixView()) == prefix_text(PrefixView()) == ""


def test_the_line_says_what_will_be_announced_and_what_was_lost() -> None:
    view = PrefixView(since=0, requests=40, breaks=[LOST], lost_tokens=2_000, lost_cost=0.0123)
    assert "· 1 of 40 requests broke it: " in prefix_line(view) and prefix_line(view).endswith(", $0.01")
    pending = PrefixChange(name="instruction:/p/AGENTS.md", text="…")
    assert "1 change will join the next prompt" in prefix_line(view.changed(pending=[pending]))


def test_each_break_has_its_cause_place_and_cost() -> None:
    text = prefix_text(PrefixView(since=0, requests=2, breaks=[LOST, LOST.changed(cost=None)]))
    first, second = text.splitlines()[1:]
    assert "pruned, at message 3 (result): " in first and "($0.01 more than cached)" in first
    assert "\x1b" not in text and "price unknown" in second


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
