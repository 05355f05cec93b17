"""Settings as they are printed."""

from opencode_tui.config.redact import redact_settings
from opencode_tui.redaction.cover import COVER


def test_secrets_are_covered_and_everything_else_stays() -> None:
    settings = {
        "username": "u",
        "keybinds": {"leader": "ctrl+x"},
        "provider": {
            "p": {
                "env": ["P_KEY"],
                "options": {
                    "apiKey": "s",
                    "baseURL": "https://me:pw@host/v1?api_key=s&x=1",
                    "headers": {"X-Any": "s"},
                    "timeout": 5,
                },
            }
        },
        "mcp": {"m": {"environment": {"A": "s"}, "oauth": {"clientSecret": "s"}, "command": ["x", "y"]}},
    }
    assert redact_settings(settings) == {
        "username": "u",
        "keybinds": {"leader": "ctrl+x"},
        "provider": {
            "p": {
                "env": ["P_KEY"],
                "options": {
                    "apiKey": COVER,
                    "baseURL": f"https://{COVER}@host/v1?api_key={COVER}&x=1",
                    "headers": {"X-Any": COVER},
                    "timeout": 5,
                },
            }
        },
        "mcp": {"m": {"environment": {"A": COVER}, "oauth": {"clientSecret": COVER}, "command": ["x", "y"]}},
    }
