"""Credentials of the settings are in no answer about providers and models."""

import json

import pytest

from tests.server.conftest import Serve

SECRETS = ["user-7c1", "pa55-9f2", "tail-a@b", "opt-key-41d", "variant-key-88e", "query-key-0c3", "header-key-5b6"]
PROVIDERS = {
    "mine": {
        "npm": "@ai-sdk/openai-compatible",
        "options": {
            "baseURL": "https://user-7c1:pa55-9f2tail-a@b@host.example/v1?api_key=query-key-0c3",
            "apiKey": "sk-x",
            "headers": {"x-auth": "header-key-5b6"},
        },
        "models": {
            "one": {
                "options": {"apiKey": "opt-key-41d", "extra": {"access_token": "opt-key-41d"}, "effort": "high"},
                "variants": {"deep": {"apiKey": "variant-key-88e"}},
            }
        },
    }
}


@pytest.mark.fast_cases("/opencode-tui/provider")
@pytest.mark.parametrize(
    "path",
    [
        "/provider",
        "/config/providers",
        "/config",
        "/opencode-tui/provider",
        "/opencode-tui/provider?only_ready=true",
        "/opencode-tui/model",
        "/opencode-tui/model?all=true",
        "/opencode-tui/config",
    ],
)
async def test_no_answer_has_a_credential(serve: Serve, path: str) -> None:
    async with serve(provider=PROVIDERS, settings={"enabled_providers": ["mine", "openai"]}) as face:
        answer = await face.http.get(path)
    assert answer.status_code == 200
    assert "mine" in answer.text
    assert [secret for secret in SECRETS if secret in answer.text] == []


async def test_the_other_options_of_a_model_are_shown(serve: Serve) -> None:
    async with serve(provider=PROVIDERS) as face:
        models = (await face.http.get("/opencode-tui/model")).json()
    [options] = [model["options"] for model in models if model["modelID"] == "one"]
    assert options == {"apiKey": "[hidden]", "extra": {"access_token": "[hidden]"}, "effort": "high"}


async def test_what_can_be_shown_is_json(serve: Serve) -> None:
    async with serve(provider=PROVIDERS) as face:
        text = (await face.http.get("/opencode-tui/provider")).text
    assert "https://[hidden]@host.example/v1?api_key=[hidden]" in json.dumps(json.loads(text))
