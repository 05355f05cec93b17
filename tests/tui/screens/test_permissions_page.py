"""The page of permissions, and the rule that a question suggests."""

from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import screen

pytestmark = pytest.mark.slow


ASKS = {"permission": {"bash": {"*": "ask"}}}

TOUCH = [Answer(calls=(Call("bash", {"command": f"touch made{at}", "description": "make it"}),)) for at in range(5)]


async def test_after_three_equal_answers_the_rule_is_suggested_kept_and_changed_on_its_page(
    environ: dict[str, str], folder: Path
) -> None:
    answers = [*TOUCH[:4], Answer(text="Made."), TOUCH[4], Answer(text="Again.")]
    async with screen(environ, folder, *answers, settings=ASKS, size=(130, 40)) as page:
        await page.send("make it")
        for at in range(3):
            assert "You have allowed this" not in await page.sees(f"  touch made{at}\n")
            await page.answer("y")
        text = await page.sees("You have allowed this 3 times: always allow it in this project?")
        assert "x no more suggestion" in text
        await page.answer("a")
        await page.sees("Made.")
        await page.send("again")
        await page.sees("Again.")
        await page.send("/permissions")
        text = await page.sees("Always allowed in this project")
        assert "touch *" in text and "used once, last " in text and "1 grant" in text
        await page.press("space")
        await page.sees("1 grant, 1 off")
        assert await page.world.client.rules.grants("bash", "touch *")
        assert (await page.world.client.rules.list(None)).grants == []
        await page.press("space")
        await page.sees_no_more("1 off")
        await page.press("e")
        await page.sees("* is any text")
        await page.press("ctrl+u")
        await page.type("touch made")
        await page.press("enter")
        await page.sees("Always allowed in this project")
        assert [one.pattern for one in await page.world.client.rules.grants("bash", None)] == ["touch made"]
        await page.press("x")
        await page.sees("0 grants")
        await page.press("escape")
        await page.sees("Again.")


async def test_a_suggestion_is_declined_and_the_question_stays(environ: dict[str, str], folder: Path) -> None:
    answers = [*TOUCH, Answer(text="Made.")]
    async with screen(environ, folder, *answers, settings=ASKS) as page:
        await page.send("make it")
        for at in range(3):
            await page.sees(f"  touch made{at}\n")
            await page.answer("y")
        await page.sees("You have allowed this 3 times")
        await page.answer("x")
        text = await page.sees_no_more("You have allowed this")
        assert "y run once" in text
        await page.answer("y")
        text = await page.sees("  touch made4\n")
        assert "You have allowed this" not in text
        await page.answer("y")
        await page.sees("Made.")
