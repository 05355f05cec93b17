"""The OPENCODE_* variables."""

import pytest

from opencode_tui.config.flags import Flags, read_flags
from opencode_tui.schema.error import ConfigError


def test_nothing_set_is_the_default() -> None:
    assert read_flags({}) == Flags()


def test_each_variable_has_its_field() -> None:
    environ = {
        "OPENCODE_CONFIG": "/c",
        "OPENCODE_CONFIG_CONTENT": "{}",
        "OPENCODE_CONFIG_DIR": "/d",
        "OPENCODE_PERMISSION": '"ask"',
        "OPENCODE_TEST_MANAGED_CONFIG_DIR": "/m",
        "OPENCODE_SERVER_PASSWORD": "p",
        "OPENCODE_DISABLE_AUTOCOMPACT": "1",
        "OPENCODE_DISABLE_PRUNE": "true",
        "OPENCODE_AUTO_SHARE": "TRUE",
        "OPENCODE_DISABLE_SHARE": "1",
        "OPENCODE_DISABLE_CLAUDE_CODE": "1",
        "OPENCODE_DISABLE_SHARED_ENGINE": "1",
        "OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX": "64000",
    }
    assert read_flags(environ) == Flags("/c", "{}", "/d", '"ask"', "/m", "p", True, True, True, True, True, True, 64000)


def test_blank_texts_and_other_words_count_as_unset() -> None:
    environ = {"OPENCODE_SERVER_PASSWORD": "  ", "OPENCODE_DISABLE_PRUNE": "yes", "OPENCODE_CONFIG": ""}
    assert read_flags(environ) == Flags()


@pytest.mark.parametrize("text", ["many", "-1", "0", "1.5", "9" * 30, "٣"])
def test_a_number_that_is_none_is_an_error(text: str) -> None:
    with pytest.raises(ConfigError, match="OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX"):
        read_flags({"OPENCODE_EXPERIMENTAL_OUTPUT_TOKEN_MAX": text})
