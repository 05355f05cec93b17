"""One figure has one source: the context in the sidebar, in the status line and on its page, also after a prune and an undo."""

import re
from pathlib import Path

import pytest

from tests.support.provider.model_script import Answer, Call
from tests.support.terminal.screen import Page, screen

pytestmark = pytest.mark.slow


READ = Answer(calls=(Call("read", {"filePath": "large.txt"}),))
LARGE = "".join(f"a line of the large file, number {n}\n" for n in range(1500))
PAGE = re.compile(r"Context +([\d.]+ ?k?) of [\d.]+ k tokens · (\d+) %")
SIDEBAR = re.compile(r"([\d.]+ ?k?) tokens")


async def figures(page: Page) -> tuple[str, str]:
    """Return the tokens and the percentage of the context page, which is closed again."""
    await page.press("ctrl+x", "i")
    found = PAGE.search(await page.sees("compacts at"))
    assert found is not None
    await page.press("escape")
    await page.sees_no_more("compacts at")
    return found[1], found[2]


def sidebar_of(page: Page) -> tuple[str, str]:
    text = page.text()
    tokens, share = SIDEBAR.search(text), re.search(r"Context +(\d+) %", text)
    assert tokens is not None and share is not None
    return tokens[1], share[1]


async def test_the_sidebar_has_the_figure_of_the_context_page_after_a_prune_and_an_undo(
    environ: dict[str, str], folder: Path
) -> None:
    (folder / "large.txt").write_text(LARGE)
    answers = READ, Answer(text="Read it."), Answer(text="word " * 6_000 + "So.")
    async with screen(environ, folder, *answers, size=(150, 40)) as page:
        await page.send("read the file")
        await page.sees("Read it.")
        await page.sees("Done")
        await page.send("and now?")
        await page.sees("So.")
        await page.sees("Done")
        full = await figures(page)
        assert sidebar_of(page) == full
        await page.press("ctrl+x", "i")
        await page.sees("compacts at")
        await page.press("s")
        await page.sees("prune, frees")
        await page.press("p")
        await page.sees("r restore")
        await page.press("escape")
        await page.sees("Ask anything")
        await page.sees_no_more(f"{full[0]} tokens")
        pruned = sidebar_of(page)
        assert pruned == await figures(page) != full
        await page.press("ctrl+x", "u")
        await page.sees("Undo from here?")
        await page.answer("y")
        await page.sees("messages undone")
        await page.sees_no_more(f"{pruned[0]} tokens")
        assert sidebar_of(page) == await figures(page)


async def test_a_pruned_output_is_restored_from_any_row_of_the_context(environ: dict[str, str], folder: Path) -> None:
    (folder / "large.txt").write_text(LARGE)
    async with screen(environ, folder, READ, Answer(text="Read it."), size=(150, 40)) as page:
        await page.send("read the file")
        await page.sees("Read it.")
        await page.sees("Done")
        await page.press("ctrl+x", "i")
        assert "restore" not in await page.sees("compacts at")
        await page.press("s")
        await page.sees("prune, frees")
        await page.press("p")
        await page.sees("r restore")
        await page.press("s", "home")
        await page.sees("r restore 1 pruned output")
        await page.press("r")
        await page.sees_no_more("r restore")


@pytest.mark.parametrize(
    ("typed", "found", "missing"),
    [
        ("diff", "Changes", "Themes"),
        ("context", "Compact the context", "Quit"),
        ("un", "Undo the last turn", "Focus the conversation"),
        ("resume", "Session manager", "Quit"),
    ],
)
async def test_the_palette_finds_actions_by_their_words_only(
    environ: dict[str, str], folder: Path, typed: str, found: str, missing: str
) -> None:
    async with screen(environ, folder, Answer(text="Hi."), size=(120, 50)) as page:
        await page.send("hello")
        await page.sees("Done")
        await page.press("ctrl+p")
        await page.type(typed)
        text = await page.sees(found)
        assert missing not in text


async def test_a_compaction_has_the_figure_of_the_sidebar_and_of_the_context_page(
    environ: dict[str, str], folder: Path
) -> None:
    answers = Answer(text="word " * 4_000 + "So."), Answer(text="A summary of what was said.")
    async with screen(environ, folder, *answers, size=(150, 40)) as page:
        await page.send("tell me much")
        await page.sees("So.")
        await page.sees("Done")
        await page.send("/compact")
        text = await page.sees("✓ Compacted")
        after = re.compile(r"≡ Compacted .* → ([\d.]+ ?k?) tokens")
        full = await figures(page)
        await page.sees(f"→ {full[0]} tokens")
        found = after.search(page.text())
        assert found is not None, text
        assert (found[1], sidebar_of(page)) == (full[0], full)


async def test_the_cost_of_a_fork_lists_what_it_paid_itself(environ: dict[str, str], folder: Path) -> None:
    async with screen(environ, folder) as page:
        await page.send("one")
        await page.sees("Echo: one")
        await page.send("two")
        await page.sees("Echo: two")
        await page.sees("Done")
        await page.press("ctrl+x", "f")
        await page.sees("the original session is unchanged")
        await page.send("/cost")
        assert "fake/fake-model" not in await page.sees("with subagents")
        await page.press("escape")
        await page.send("three")
        await page.sees("Echo: three")
        await page.sees("Done")
        await page.send("/cost")
        text = await page.sees("fake/fake-model")
        requests = [row.split()[-5] for row in text.splitlines() if row.strip().startswith(("fake/", "with"))]
        assert requests == ["1", "1"], text
