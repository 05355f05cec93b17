"""A missing corpus never goes unnoticed in CI."""

from pathlib import Path

import pytest

from tests.support.world.corpora import shared_corpus


def test_a_corpus_that_exists_is_returned(tmp_path: Path) -> None:
    (tmp_path / "bash.py").touch()
    assert shared_corpus("bash.py", folder=tmp_path) == tmp_path / "bash.py"


def test_a_missing_corpus_fails_in_ci(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CI", "true")
    with pytest.raises(pytest.fail.Exception, match="is missing"):
        shared_corpus("bash.py", folder=tmp_path)


def test_a_missing_corpus_is_skipped_with_a_reason_elsewhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("CI", raising=False)
    with pytest.raises(pytest.skip.Exception, match="is missing"):
        shared_corpus("bash.py", folder=tmp_path)
