"""The pages that are written from the code are up to date."""

import pytest

from tests.support.source.pages import ROOT
from tests.support.source.reference_pages import derive


@pytest.mark.parametrize("name", ["settings.md", "keys.md"])
def test_the_page_says_what_the_code_says(name: str) -> None:
    stored = (ROOT / "docs" / name).read_text(encoding="utf-8")
    assert stored == derive()[name], "renew it: python -m tests.support.source.reference_pages"
