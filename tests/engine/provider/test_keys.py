"""Keys and headers as files and clipboards give them: blanks around them are not sent; what cannot be sent is named, not shown."""

import json

import pytest

from opencode_tui.config.auth import AuthStore
from opencode_tui.config.redact import redact_text
from opencode_tui.engine.provider.catalog import Catalog, CatalogSettings
from opencode_tui.engine.provider.llm import LlmRequest
from opencode_tui.engine.provider.model_table import ModelTable
from opencode_tui.engine.provider.providers import Providers
from opencode_tui.engine.tool.search_service import find_service
from opencode_tui.schema.error import AuthError, ProviderError, split_remedy
from opencode_tui.schema.model import ModelRef
from opencode_tui.storage.paths import Paths
from tests.engine.provider.asking import ask, request
from tests.engine.provider.reading import Heard
from tests.support.provider.model_server import ModelServer
from tests.support.rows import each

KEY = "sk-plain-0123456789abcdef"
TABLE = ModelTable()
REF = ModelRef(provider_id="keyed", model_id="fake-model")
PLACES = ("variable", "options", "auth.json")
BROKEN = {
    "two lines": f"{KEY}\nsecond",
    "two lines of Windows": f"{KEY}\r\nsecond",
    "a NUL": f"{KEY}\x00",
    "an escape": f"\x1b[200~{KEY}\x1b[201~",
    "a delete": f"{KEY}\x7fx",
    "bytes that are no text": f"{KEY}\udcff",
}


def opened(server: ModelServer, key: str, place: str, adapter: str = "openai", **options: object) -> Providers:
    """Return the providers with one that has the key in this place."""
    own = {"baseURL": server.url("openai"), "adapter": adapter, **options}
    given = {"env": ["OWN_KEY"], "options": {**own, **({"apiKey": key} if place == "options" else {})}}
    settings = CatalogSettings(provider={"keyed": {**given, "models": {"fake-model": {}}}})
    return Providers(
        catalog=Catalog(
            settings=settings,
            table=TABLE,
            keys=lambda _: key if place == "auth.json" else None,
            environment={"OWN_KEY": key} if place == "variable" else {},
        )
    )


async def asked(providers: Providers, headers: dict[str, str] | None = None) -> Heard:
    model = providers._catalog.resolve(REF)  # pyright: ignore[reportPrivateUsage]
    model = model.changed(headers=headers) if headers else model
    heard = await ask(providers.llm(model), LlmRequest(model, (), request("hello").messages))
    await providers.close()
    return heard


@each("place", PLACES)
@each("around", ["{}\n", "{}\r\n", "{}\r", " {}", "{} ", "\t{}\n\n", "{}\u00a0", "{}"])
async def test_what_is_around_a_key_is_not_sent(server: ModelServer, place: str, around: str) -> None:
    heard = await asked(opened(server, around.format(KEY), place))
    assert (heard.error, heard.joined("text")) == (None, "Echo: hello")
    assert server.requests[-1].headers["authorization"] == f"Bearer {KEY}"


@each("place", PLACES)
@each("kind", BROKEN)
async def test_a_key_that_cannot_be_sent_is_one_line_without_it(server: ModelServer, place: str, kind: str) -> None:
    before = len(server.requests)
    with pytest.raises(AuthError) as raised:
        await asked(opened(server, BROKEN[kind], place))
    text, failure = str(raised.value), raised.value.failure
    title, remedy = split_remedy(text)
    assert title == "the API key of keyed has a line break or another character that cannot be sent"
    assert ("provider.keyed.options.apiKey" if place == "options" else "opencode-tui auth login keyed") in remedy
    assert (failure.kind, failure.retryable, len(server.requests)) == ("auth", False, before)
    assert KEY not in f"{text}{failure}" and "\n" not in text


async def test_a_key_of_blanks_is_none(server: ModelServer) -> None:
    for place in PLACES:
        heard = await asked(opened(server, " \n", place))
        assert heard.error is None and "authorization" not in server.requests[-1].headers


@each("value", ["blue\n", " blue\r\n", "blue"])
async def test_what_is_around_a_header_is_not_sent(server: ModelServer, value: str) -> None:
    heard = await asked(opened(server, KEY, "options", headers={"X-Team": value}), {"x-tier": value})
    assert heard.error is None
    assert [server.requests[-1].headers[name] for name in ("x-team", "x-tier")] == ["blue", "blue"]


@each(
    ("name", "value"),
    [("X-Team", "secret-0001\nb"), ("X-Team", "secret-0001\x00"), ("X Team", "secret-0001"), ("", "x")],
)
async def test_a_header_that_cannot_be_sent_is_named_with_its_setting(
    server: ModelServer, name: str, value: str
) -> None:
    with pytest.raises(ProviderError) as raised:
        await asked(opened(server, KEY, "options", headers={name: value}))
    of_provider = raised.value
    of_model = (await asked(opened(server, KEY, "options"), {name: value})).error
    assert of_model is not None
    for error, setting in (
        (of_provider, "provider.keyed.options.headers"),
        (of_model, "provider.keyed.models.fake-model.headers"),
    ):
        assert str(error) == (
            f"keyed: the header {name!r} has a line break or another character that cannot be sent; fix: correct {setting}"
        )
        assert (error.failure.retryable, "secret" in str(error.failure)) == (False, False)
    assert server.requests == []


async def test_the_trial_of_doctor_says_the_same(server: ModelServer) -> None:
    providers = opened(server, BROKEN["two lines"], "variable")
    said = await providers.try_provider("keyed")
    await providers.close()
    assert said.startswith("the API key of keyed has a line break") and KEY not in said


def test_one_bad_key_leaves_the_lists_of_the_other_providers(server: ModelServer) -> None:
    given = {name: {"options": {"baseURL": f"https://{name}.test/v1", "apiKey": key}} for name, key in
             (("one", BROKEN["a NUL"]), ("two", KEY))}  # fmt: skip
    catalog = Catalog(settings=CatalogSettings(provider=given), table=TABLE, keys=lambda _: None, environment={})
    assert [address for _, address, _ in catalog.own_lists()] == ["https://two.test/v1/models"]
    assert "cannot be sent" in catalog.describe_access("one") and catalog.describe_access("two") == ""


def test_a_stored_key_is_read_without_what_is_around_it(paths: Paths) -> None:
    store = AuthStore(paths=paths)
    store.login("brave", KEY)
    file = paths.data / "auth.json"
    file.write_text(json.dumps({"brave": {"type": "api", "key": f"{KEY}\n"}, "blank": {"type": "api", "key": " \n"}}))
    file.chmod(0o600)
    kept = AuthStore(paths=paths)
    assert (kept.key("brave"), kept.key("blank")) == (KEY, None)


def test_the_key_of_a_search_service_is_read_without_what_is_around_it() -> None:
    found = find_service({"BRAVE_API_KEY": f" {KEY}\r\n"}, lambda _: None)
    assert found is not None and found.key == KEY
    assert find_service({"BRAVE_API_KEY": "\n"}, lambda _: None) is None


@each("secret", list(BROKEN.values()))
def test_a_secret_that_a_library_quotes_is_covered(secret: str) -> None:
    for quoted in (repr(secret), f"Illegal header value {secret!r}", secret):
        assert KEY not in redact_text(quoted, (secret,))
