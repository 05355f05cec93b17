"""A server of lists of models that is as strict as the real ones are documented: paths, methods, keys and ETags."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

KEY = "sk-or-key-of-the-tests"

MODELS_DEV: dict[str, Any] = {
    "anthropic": {
        "id": "anthropic",
        "env": ["ANTHROPIC_API_KEY"],
        "npm": "@ai-sdk/anthropic",
        "name": "Anthropic",
        "doc": "https://docs.anthropic.com/en/docs/about-claude/models",
        "models": {
            "claude-fable-9": {
                "id": "claude-fable-9",
                "name": "Claude Fable 9",
                "attachment": True,
                "reasoning": True,
                "temperature": False,
                "tool_call": True,
                "release_date": "2026-11-20",
                "last_updated": "2026-11-20",
                "modalities": {"input": ["text", "image", "pdf"], "output": ["text"]},
                "open_weights": False,
                "cost": {
                    "input": 5,
                    "output": 25,
                    "cache_read": 0.5,
                    "cache_write": 6.25,
                    "context_over_200k": {"input": 10, "output": 37.5},
                },
                "limit": {"context": 1_000_000, "output": 128_000},
            },
            "claude-old-1": {
                "id": "claude-old-1",
                "status": "deprecated",
                "modalities": {"input": ["text"], "output": ["text"]},
                "limit": {"context": 1, "output": 1},
            },
            "claude-sonnet-5-5": {
                "id": "claude-sonnet-5-5",
                "tool_call": True,
                "modalities": {"input": ["text"], "output": ["text"]},
                "cost": {"input": 999, "output": 999},
                "limit": {"context": 7, "output": 7},
            },
        },
    },
    "unknown-provider": {"id": "unknown-provider", "models": {"m": {"limit": {"context": 5, "output": 5}}}},
}
"""As https://models.dev/api.json is documented on https://models.dev: prices in USD per million tokens."""

LITELLM: dict[str, Any] = {
    "sample_spec": {"litellm_provider": "one of https://docs.litellm.ai/docs/providers", "mode": "chat"},
    "claude-fable-9": {
        "litellm_provider": "anthropic",
        "mode": "chat",
        "max_input_tokens": 900_000,
        "max_output_tokens": 64_000,
        "input_cost_per_token": 4e-06,
        "output_cost_per_token": 2e-05,
        "supports_function_calling": True,
        "supports_vision": True,
    },
    "claude-sonnet-5-5": {
        "litellm_provider": "anthropic",
        "mode": "chat",
        "max_input_tokens": 500_000,
        "max_output_tokens": 1_000,
        "input_cost_per_token": 1e-06,
        "output_cost_per_token": 2e-06,
        "supports_function_calling": True,
    },
}
"""As litellm's model_prices_and_context_window.json on GitHub: prices in USD per token."""

OPENROUTER: dict[str, Any] = {
    "data": [
        {
            "id": "anthropic/claude-sonnet-5.5",
            "canonical_slug": "anthropic/claude-5.5-sonnet",
            "name": "Anthropic: Claude Sonnet 5.5",
            "created": 1_790_000_000,
            "context_length": 1_000_000,
            "architecture": {
                "modality": "text+image->text",
                "input_modalities": ["text", "image", "file"],
                "output_modalities": ["text"],
                "tokenizer": "Claude",
                "instruct_type": None,
            },
            "pricing": {
                "prompt": "0.000003",
                "completion": "0.000015",
                "request": "0",
                "image": "0",
                "web_search": "0.01",
                "internal_reasoning": "0",
                "input_cache_read": "0.0000003",
                "input_cache_write": "0.00000375",
            },
            "top_provider": {"context_length": 1_000_000, "max_completion_tokens": 128_000, "is_moderated": True},
            "per_request_limits": None,
            "supported_parameters": ["max_tokens", "reasoning", "tool_choice", "tools"],
        },
        {
            "id": "meta/llama-9-text",
            "context_length": 131_072,
            "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
            "pricing": {"prompt": "0", "completion": "0"},
            "top_provider": {"context_length": None, "max_completion_tokens": None},
            "supported_parameters": ["max_tokens", "temperature"],
        },
        {
            "id": "openrouter/auto",
            "context_length": 2_000_000,
            "architecture": {"input_modalities": ["text", "image"], "output_modalities": ["text"]},
            "pricing": {"prompt": "-1", "completion": "-1"},
            "top_provider": {"context_length": None, "max_completion_tokens": None},
            "supported_parameters": ["tools"],
        },
        {
            "id": "google/gemini-draws",
            "context_length": 32_768,
            "architecture": {"input_modalities": ["text"], "output_modalities": ["image"]},
            "pricing": {"prompt": "0.1", "completion": "0.1"},
        },
    ]
}
"""As https://openrouter.ai/docs/api-reference/list-available-models: prices are texts, in USD per token."""

PLAIN: dict[str, Any] = {
    "object": "list",
    "data": [
        {"id": "acme/coder-1", "object": "model", "created": 1, "owned_by": "acme"},
        {"id": "acme/nv-embed-1", "object": "model", "created": 1, "owned_by": "acme"},
        {
            "id": "zai-org/GLM-9",
            "object": "model",
            "architecture": {"input_modalities": ["text"], "output_modalities": ["text"]},
            "providers": [
                {
                    "provider": "a",
                    "context_length": 200_000,
                    "pricing": {"input": 1, "output": 2},
                    "supports_tools": True,
                },
                {
                    "provider": "b",
                    "context_length": 100_000,
                    "pricing": {"input": 1, "output": 2},
                    "supports_tools": False,
                },
            ],
        },
    ],
}
"""As OpenAI's `GET /v1/models`, and Hugging Face's with its hosts."""


class ListServer:
    """What it serves, by path; `requests` are (path, headers), `answers` are the statuses."""

    def __init__(self) -> None:
        self.bodies: dict[str, bytes] = {
            "/api.json": json.dumps(MODELS_DEV).encode(),
            "/litellm.json": json.dumps(LITELLM).encode(),
            "/api/v1/models": json.dumps(OPENROUTER).encode(),
            "/v1/models": json.dumps(PLAIN).encode(),
        }
        self.requests: list[tuple[str, dict[str, str]]] = []
        self.answers: list[int] = []
        self.url = ""

    def answer(self, method: str, path: str, headers: dict[str, str]) -> tuple[int, bytes, str]:
        """Return status, body and ETag; a catalog refuses keys, a list of a provider a wrong key, both other methods."""
        self.requests.append((path, headers))
        body = self.bodies.get(path)
        given = headers.get("authorization")
        is_catalog = path.endswith(".json")
        if method != "GET" or (is_catalog and given is not None) or headers.get("content-length", "0") != "0":
            return 400, b"", ""
        if not is_catalog and given not in (None, f"Bearer {KEY}"):
            return 401, b"", ""
        if body is None:
            return 404, b"", ""
        etag = f'W/"{hash(body)}"'
        return (304, b"", etag) if headers.get("if-none-match") == etag else (200, body, etag)


@contextmanager
def list_server() -> Generator[ListServer]:
    """Serve the lists on loopback."""
    served = ListServer()

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            headers = {name.lower(): value for name, value in self.headers.items()}
            status, body, etag = served.answer(self.command, self.path, headers)
            served.answers.append(status)
            self.send_response(status)
            if etag:
                self.send_header("etag", etag)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        do_GET = do_POST = do_HEAD = _answer

        def log_message(self, format: str, *args: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    served.url = f"http://127.0.0.1:{server.server_port}"
    try:
        yield served
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
