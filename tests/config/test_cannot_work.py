"""Settings that parse but cannot work are named at load: a wrong value as an error, a contradiction as a warning."""

import re
from typing import Any

import pytest

from opencode_tui.schema.error import ConfigError
from tests.support.world.settings import SettingsWorld

BASE = "http://127.0.0.1:9/v1"


def provider(model: dict[str, Any] | None = None, options: dict[str, Any] | None = None, **more: Any) -> dict[str, Any]:
    """Return settings with one provider `x` of one model `m` that is complete, but for what is given."""
    full = {"limit": {"context": 100_000, "output": 10_000}, **(model or {})}
    entry = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": BASE, **(options or {})}, "models": {"m": full}}
    return {"provider": {"x": {**entry, **more}}}


def limit(**tokens: int) -> dict[str, Any]:
    return provider({"limit": tokens})


def mcp(**entry: Any) -> dict[str, Any]:
    return {"mcp": {"m": entry}}


WRONG: list[tuple[str, dict[str, Any], str, str]] = [
    ("a timeout of 0", provider(options={"timeout": 0}), "provider.x.options.timeout", "a number above 0 or false"),
    ("false is not 0", {"compaction": {"prepare": 0}}, "compaction.prepare", "false"),
    ("an absurd timeout", provider(options={"chunkTimeout": 10**12}), "options.chunkTimeout", "at most"),
    ("a port of 99999", provider(options={"baseURL": "http://h:99999/v1"}), "options.baseURL", "port"),
    ("another scheme", provider(options={"baseURL": "ftp://host/v1"}), "options.baseURL", "http://"),
    ("no scheme", provider(options={"baseURL": "localhost:80"}), "options.baseURL", "http://"),
    ("no host", provider(options={"baseURL": "http://"}), "options.baseURL", "http://"),
    ("a key with a line break", provider(options={"apiKey": "sk-a\nb"}), "options.apiKey", "line breaks"),
    ("a key with a space", provider(options={"apiKey": "Bearer sk-a"}), "options.apiKey", "spaces"),
    ("a header with a line break", provider(options={"headers": {"x": "a\r\ny: b"}}), "options.headers.x", "one line"),
    ("a header's name", provider(options={"headers": {"x y": "a"}}), "options.headers", "HTTP header"),
    ("a header of a model", provider({"headers": {"x:": "a"}}), "models.m.headers", "HTTP header"),
    ("a provider with a slash", {"provider": {"a/b": {}}}, "provider.a/b", "without slashes"),
    ("a provider with a space", {"provider": {"a b": {}}}, "provider.a b", "spaces"),
    ("a provider without a name", {"provider": {"": {}}}, "provider", "provider's id"),
    ("an agent above its folder", {"agent": {"../x": {}}}, "agent", "`..`"),
    ("an agent without a name", {"agent": {"": {}}}, "agent", "empty parts"),
    ("a command with a slash", {"command": {"/x": {"template": "t"}}}, "command", "empty parts"),
    ("a command with a backslash", {"command": {"a\\b": {"template": "t"}}}, "command", "a name"),
    ("any origin", {"server": {"cors": ["*"]}}, "server.cors[0]", "without *"),
    ("the origin null", {"server": {"cors": ["null"]}}, "server.cors[0]", "an origin"),
    ("an origin with a path", {"server": {"cors": ["https://a.example/x"]}}, "server.cors[0]", "without a path"),
    ("an origin with a wildcard", {"server": {"cors": ["https://*.example"]}}, "server.cors[0]", "without *"),
    ("an origin without a scheme", {"server": {"cors": ["a.example"]}}, "server.cors[0]", "an origin"),
    ("an origin with a user", {"server": {"cors": ["https://u:p@a.example"]}}, "server.cors[0]", "an origin"),
    ("a host that is a URL", {"server": {"hostname": "http://localhost"}}, "server.hostname", "without http://"),
    ("a host with a port", {"server": {"hostname": "localhost:80"}}, "server.hostname", "without a port"),
    ("a host with a space", {"server": {"hostname": "a b"}}, "server.hostname", "a host name"),
    ("an empty instruction", {"instructions": [""]}, "instructions[0]", "not empty"),
    ("an empty plugin", {"plugin": [" "]}, "plugin[0]", "not empty"),
    ("an empty provider", {"disabled_providers": [""]}, "disabled_providers[0]", "not empty"),
    ("an empty program", mcp(type="local", command=[""]), "mcp.m.command", "a program"),
    ("a variable with =", mcp(type="local", command=["x"], environment={"A=B": "1"}), "mcp.m.environment", "variable"),
    ("another kind of server", mcp(type="sse", url="http://x"), "mcp.m.type", '"local" or "remote"'),
    ("a server without a kind", mcp(command=["x"]), "mcp.m.type", '"local" or "remote"'),
    ("a file without a name", {"username": "{file:}"}, "username", "{file:path}"),
    ("a variable without a name", {"username": "{env: }"}, "username", "{env:NAME}"),
    ("a near agent", {"default_agent": "Build"}, "default_agent", "build"),
]


@pytest.mark.parametrize(("settings", "key", "words"), [pytest.param(*case[1:], id=case[0]) for case in WRONG])
def test_a_value_that_is_wrong_by_itself_is_an_error_with_file_line_key_and_remedy(
    world: SettingsWorld, settings: dict[str, Any], key: str, words: str
) -> None:
    path = world.person(settings)
    with pytest.raises(ConfigError) as caught:
        world.load()
    message = str(caught.value)
    assert f"{path} line 1: " in message and "\n" not in message
    assert key in message and words in message
    assert "sk-a" not in message


STRANGE: list[tuple[str, dict[str, Any], str, str]] = [
    ("an answer longer than the context", limit(context=1000, output=5000), "limit.output", "more than limit.context"),
    ("an answer as long as the context", limit(context=1000, output=1000), "limit.output", "no space"),
    ("an input larger than the context", limit(context=1000, input=2000, output=10), "limit.input", "limit.context"),
    (
        "a reserve that leaves nothing",
        {**limit(context=1000, output=10), "compaction": {"reserved": 1000}},
        "compaction.reserved",
        "x/m",
    ),
    ("seconds for milliseconds", provider(options={"timeout": 30}), "options.timeout", "30 ms = 0.03 s"),
    (
        "a pause longer than the request",
        provider(options={"timeout": 1000, "chunkTimeout": 2000}),
        "options.chunkTimeout",
        "longer than timeout",
    ),
    ("credentials in an address", provider(options={"baseURL": "https://u:p@h/v1"}), "options.baseURL", "password"),
    (
        "a key over plain http",
        provider(options={"baseURL": "http://api.example/v1", "apiKey": "k"}),
        "options.baseURL",
        "https",
    ),
    ("an endpoint", provider(options={"baseURL": f"{BASE}/chat/completions"}), "options.baseURL", "remove it"),
    ("a query", provider(options={"baseURL": f"{BASE}?v=1"}), "options.baseURL", "query"),
    ("a shell's variable", provider(options={"apiKey": "$OPENAI_API_KEY"}), "options.apiKey", "{env:NAME}"),
    ("a model that is not there", {**provider(), "model": "x/other"}, "model", "choose one of m"),
    (
        "a model of a disabled provider",
        {"model": "openai/gpt-5", "disabled_providers": ["openai"]},
        "model",
        "disabled_providers",
    ),
    (
        "a small model of a disabled provider",
        {"small_model": "openai/gpt-5-mini", "disabled_providers": ["openai"]},
        "small_model",
        "disabled_providers",
    ),
    (
        "an agent's model of a provider that is not enabled",
        {"agent": {"plan": {"model": "openai/gpt-5"}}, "enabled_providers": ["anthropic"]},
        "agent.plan.model",
        "enabled_providers",
    ),
    (
        "a command's model in the blacklist",
        {**provider(blacklist=["m"]), "command": {"c": {"template": "t", "model": "x/m"}}},
        "command.c.model",
        "blacklist",
    ),
    (
        "a model out of the whitelist",
        {**provider(whitelist=["other"]), "model": "x/m"},
        "model",
        "not in the whitelist",
    ),
    ("black and white", provider(whitelist=["m"], blacklist=["m"]), "provider.x.whitelist", "blacklist"),
    ("an empty whitelist", provider(whitelist=[]), "provider.x.whitelist", "no model"),
    (
        "enabled and disabled",
        {"enabled_providers": ["a", "b"], "disabled_providers": ["a"]},
        "enabled_providers",
        "is disabled",
    ),
    ("no provider at all", {"enabled_providers": []}, "enabled_providers", "no provider is left"),
    ("a command's agent", {"command": {"c": {"template": "t", "agent": "biuld"}}}, "command.c.agent", "'build'"),
    (
        "a command's disabled agent",
        {"command": {"c": {"template": "t", "agent": "plan"}}, "agent": {"plan": {"disable": True}}},
        "command.c.agent",
        "is disabled",
    ),
    ("an empty command", {"command": {"c": {"template": ""}}}, "command.c.template", "write a prompt"),
    ("a command that cannot be typed", {"command": {"a b": {"template": "t"}}}, "command.a b", "cannot be typed"),
    ("an agent but for its case", {"agent": {"Build": {"prompt": "p"}}}, "agent.Build", "'build' only in case"),
    ("two providers but for their case", {"provider": {"Own": {}, "own": {}}}, "provider.own", "only in case"),
    ("a host for all", {"server": {"hostname": "0.0.0.0"}}, "server.hostname", "OPENCODE_SERVER_PASSWORD"),
    ("rules before the last one", {"permission": {"edit": "deny", "*": "ask"}}, "permission.*", 'put "*" first'),
    (
        "patterns before the last one",
        {"agent": {"plan": {"permission": {"bash": {"rm *": "deny", "*": "ask"}}}}},
        "agent.plan.permission.bash.*",
        "rm *",
    ),
    (
        "a pattern for what has none",
        {"permission": {"todowrite": {"x": "deny"}}},
        "permission.todowrite",
        "never match",
    ),
    ("an empty pattern", {"permission": {"bash": {"": "deny"}}}, "permission.bash.", "never matches"),
    ("a path with a dot", {"permission": {"read": {"a/./secrets/*": "deny"}}}, "a/./secrets/*", "./"),
    ("a path with two slashes", {"permission": {"edit": {"a//b": "deny"}}}, "a//b", "//"),
    ("a path above the project", {"permission": {"read": {"../x/*": "deny"}}}, "../x/*", "absolute"),
    ("a variable in a path", {"permission": {"read": {"${HOME}/x": "deny"}}}, "${HOME}/x", "$HOME"),
    ("braces in a path", {"permission": {"read": {"*.{env,key}": "deny"}}}, "*.{env,key}", "braces"),
    ("a folder for its files", {"permission": {"edit": {"secrets/": "allow"}}}, "secrets/", "secrets/*"),
    ("an address without a scheme", {"permission": {"webfetch": {"a.org/*": "deny"}}}, "a.org/*", "https://"),
    (
        "an address whose host is open",
        {"permission": {"webfetch": {"https://a.org*": "allow"}}},
        "https://a.org*",
        "other hosts",
    ),
    ("a tool that needs edit", {"permission": {"write": "deny"}}, "permission.write", "edit"),
    ("a pattern for the language servers", {"permission": {"lsp": {"x": "deny"}}}, "permission.lsp", "never match"),
    ("an unknown primary tool", {"experimental": {"primary_tools": ["bsh"]}}, "experimental.primary_tools", "'bash'"),
    ("a plugin that is not there", {"plugin": ["./none.py"]}, "plugin[0]", "no such file"),
    ("a plugin in TypeScript", {"plugin": ["./p.ts"]}, "plugin[0]", "Python"),
    ("a plugin of npm", {"plugin": ["opencode-helper@1.0"]}, "plugin[0]", "npm"),
    ("an instruction that is not there", {"instructions": ["/none/a.md"]}, "instructions[0]", "no such file"),
    ("an instruction of another scheme", {"instructions": ["ftp://h/a.md"]}, "instructions[0]", "https://"),
    ("an instruction with a password", {"instructions": ["https://u:p@h/a.md"]}, "instructions[0]", "password"),
    ("skills that are not there", {"skills": {"paths": ["~/none"]}}, "skills.paths[0]", "no such folder"),
    ("a placeholder in capitals", {"username": "{ENV:HOME}"}, "username", "{env:NAME}"),
    ("a placeholder without an end", {"username": "{env:HOME"}, "username", "{env:NAME}"),
    ("a key at the top", {"apiKey": "k"}, "apiKey", "'provider.*.options.apiKey'"),
    ("a key one level too high", {"provider": {"x": {"baseURL": BASE}}}, "provider.x.baseURL", ".options.baseURL'"),
    ("a limit one level too high", {"reserved": 5}, "reserved", "'compaction.reserved'"),
    ("another program's key", {"mcpServers": {}}, "mcpServers", "'mcp'"),
    (
        "the variables of a server by another program's name",
        {"mcp": {"m": {"type": "local", "command": ["sh"], "env": {"A": "b"}}}},
        "mcp.m.env",
        "'environment'",
    ),
    (
        "the arguments of a server in a list of their own",
        {"mcp": {"m": {"type": "local", "command": ["sh"], "args": ["x"]}}},
        "mcp.m.args",
        "'command'",
    ),
    (
        "the variables of a formatter by another section's name",
        {"formatter": {"ruff": {"env": {"A": "b"}}}},
        "formatter.ruff.env",
        "'environment'",
    ),
    (
        "the variables of a language server by another section's name",
        {"lsp": {"pyright": {"environment": {"A": "b"}}}},
        "lsp.pyright.environment",
        "'env'",
    ),
    (
        "a modifier without a key",
        {"keybinds": {"session_new": "ctrl+"}},
        "keybinds.session_new",
        "'ctrl+' is not a key",
    ),
    ("two modifiers without a key", {"keybinds": {"leader": "ctrl+alt+"}}, "keybinds.leader", "'ctrl+alt+' is not"),
    (
        "one key for two actions",
        {"keybinds": {"session_new": "f5", "session_list": "F5"}},
        "session_list",
        "session_new",
    ),
    (
        "the default key of another action",
        {"keybinds": {"session_new": "<leader>L"}},
        "session_new",
        "of session_list;",
    ),
    ("the default leader key", {"keybinds": {"session_new": "ctrl+x"}}, "keybinds.session_new", "key of leader;"),
    ("a default key of writing", {"keybinds": {"input_undo": "ctrl+k"}}, "input_undo", "of input_delete_to_line_end;"),
    ("no key of this name", {"keybinds": {"session_new": "ctl+x"}}, "keybinds.session_new", "is not a key"),
    ("no key at all", {"keybinds": {"session_new": ""}}, "keybinds.session_new", "write none"),
    ("a capital letter", {"keybinds": {"session_new": "shift+a"}}, "keybinds.session_new", "reserved"),
    ("no key to send", {"keybinds": {"input_submit": "none"}}, "keybinds.input_submit", "cannot send"),
    ("no key to stop", {"keybinds": {"session_interrupt": "none"}}, "keybinds.session_interrupt", "cannot interrupt"),
    ("no key to close", {"keybinds": {"page_close": "none"}}, "keybinds.page_close", "cannot close a page"),
    ("a default key of the page", {"keybinds": {"diff_next": "p"}}, "keybinds.diff_next", "key of diff_previous;"),
    ("a default key of every page", {"keybinds": {"diff_next": "j"}}, "keybinds.diff_next", "key of page_down;"),
    (
        "a key of two pages",
        {"keybinds": {"diff_next": "z", "page_down": "z"}},
        "keybinds.page_down",
        "of diff_next too",
    ),
    ("a key of two answers", {"keybinds": {"permission_once": "n"}}, "permission_once", "key of permission_reject;"),
    ("sending as an answer", {"keybinds": {"permission_once": "return"}}, "keybinds.permission_once", "reserved"),
    ("a character of a filter", {"keybinds": {"sessions_view": "v"}}, "keybinds.sessions_view", "reserved"),
    ("a sequence in a list", {"keybinds": {"list_down": "<leader>d"}}, "keybinds.list_down", "without <leader>"),
    ("no leader", {"keybinds": {"leader": "none"}}, "keybinds.leader", "choose a key"),
    ("a leader that is led", {"keybinds": {"leader": "<leader>a"}}, "keybinds.leader", "one key"),
    ("two leaders", {"keybinds": {"leader": "ctrl+x,ctrl+o"}}, "keybinds.leader", "one key"),
]


@pytest.mark.parametrize(("settings", "key", "words"), [pytest.param(*case[1:], id=case[0]) for case in STRANGE])
def test_what_contradicts_itself_or_names_what_is_not_there_is_a_warning_with_file_and_line(
    world: SettingsWorld, settings: dict[str, Any], key: str, words: str
) -> None:
    path = world.person(settings)
    found = [notice for notice in world.load().warnings if notice.key.endswith(key)]
    assert [notice.source for notice in found[:1]] == [str(path)]
    assert found[0].line == 1
    assert words in found[0].message


RIGHT: list[dict[str, Any]] = [
    provider(),
    provider(options={"timeout": False, "chunkTimeout": 5000}),
    provider(options={"baseURL": "http://[::1]:8080/v1", "apiKey": "{env:KEY}"}),
    provider(options={"baseURL": "https://api.example/v1", "headers": {"X-Title": "a b"}}),
    {**provider(), "model": "x/m", "small_model": "x/m", "agent": {"plan": {"model": "x/m"}}},
    {"server": {"hostname": "127.0.0.1", "cors": ["https://app.example:8443", "tauri://localhost"]}},
    {"permission": {"*": "ask", "bash": {"*": "ask", "git *": "allow"}}},
    {
        "permission": {
            "read": {
                "secrets/*": "deny",
                "~/.ssh/*": "deny",
                "/srv/a b/[id].ts": "ask",
                "*.{x}": "deny",
                "$HOME/a": "ask",
            }
        }
    },
    {
        "permission": {
            "edit": {"*": "ask", "docs/*.md": "allow", "../other/*": "ask"},
            "list": {"src": "deny", "/": "ask"},
        }
    },
    {
        "permission": {
            "webfetch": {"https://a.org/*": "allow", "http*": "ask", "*a.org*": "deny", "HTTPS://b.org/*": "deny"}
        }
    },
    {
        "permission": {
            "external_directory": {"~/x/*": "allow", "/": "deny"},
            "grep": {"a//b": "deny"},
            "my_tool": "deny",
        }
    },
    {"agent": {"team/review": {"prompt": "p"}}, "command": {"git/fix": {"template": "t"}}},
    {
        "keybinds": {
            "leader": "ctrl+o",
            "session_new": "f6,<leader>n",
            "session_list": "alt+shift+l",
            "help_view": "none",
        }
    },
    {"keybinds": {"input_move_up": "up", "history_previous": "up", "app_exit": "ctrl+c", "input_clear": "ctrl+c"}},
    {"keybinds": {"app_exit": "f4", "messages_copy": "ctrl+c", "input_clear": "ctrl+l"}},
    {"keybinds": {"session_new": "<leader>l", "session_list": "<leader>n", "messages_first": "home"}},
    {
        "keybinds": {
            "diff_next": "f7",
            "timeline_fork": "v,shift+f",
            "page_close": "escape,f4",
            "permission_once": "o",
        }
    },
    {"keybinds": {"context_sort": "<leader>s", "question_write": "t", "mcp_off": "z", "background_stop": "z"}},
    {"keybinds": {"session_rename": "ctrl+p", "session_new": "ctrl+a", "leader": "ctrl+o", "history_next": "left"}},
    {"instructions": ["CONTRIBUTING.md", "docs/*.md", "https://example.com/a.md"]},
    {"disabled_providers": ["openai"], "model": "anthropic/claude"},
    {"agent": {"plan": {"name": "a {b} c"}}, "theme": "nord"},
]


@pytest.mark.parametrize("settings", RIGHT)
def test_what_works_is_not_named(world: SettingsWorld, settings: dict[str, Any]) -> None:
    world.person(settings)
    assert world.load(KEY="k").warnings == []


@pytest.mark.parametrize(("given", "share"), [(True, "auto"), (False, "disabled"), ("manual", "manual")])
def test_share_may_be_a_boolean_as_it_once_was(world: SettingsWorld, given: object, share: str) -> None:
    world.person({"share": given})
    assert world.load().effective["share"] == share


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("agents/a.md", "---\nmode: primary\nmode: subagent\n---\np", "mode: duplicate key"),
        ("plugins/a.ts", "export {}", "Python"),
        ("tool/b.js", "export {}", "Python"),
        ("config.json", "{}", "rename it to opencode.json"),
    ],
)
def test_files_of_a_settings_folder_that_do_not_do_what_they_seem_to_are_named(
    world: SettingsWorld, name: str, content: str, words: str
) -> None:
    path = world.write(world.paths.config / name, content)
    (warning,) = world.load().warnings
    assert warning.source == str(path) and words in str(warning)


def test_two_files_for_one_agent_are_named(world: SettingsWorld) -> None:
    world.write(world.paths.config / "agents" / "a.md", "one")
    world.write(world.paths.config / "agent" / "a.md", "two")
    (warning,) = world.load().warnings
    assert "keep one of them" in warning.message


def test_front_matter_without_an_end_is_an_error(world: SettingsWorld) -> None:
    path = world.write(world.paths.config / "agents" / "a.md", "---\nmode: primary\nprompt")
    with pytest.raises(ConfigError, match=f"{re.escape(str(path))}: line 1: .*three dashes"):
        world.load()


def test_the_file_of_the_theme_is_read(world: SettingsWorld) -> None:
    path = world.write(world.paths.config / "themes" / "mine.json", "{")
    world.person({"theme": "mine"})
    (warning,) = world.load().warnings
    assert (warning.source == str(path) and "unexpected" in warning.message) or "expected" in warning.message


@pytest.mark.parametrize(
    ("name", "value", "words"),
    [
        ("OPENCODE_DISABLE_PRUNE", "yes", "expected true or false"),
        ("OPENCODE_DISABLE_PRUNES", "1", "did you mean OPENCODE_DISABLE_PRUNE?"),
    ],
)
def test_a_switch_of_the_environment_that_is_neither_on_nor_off_is_named(
    world: SettingsWorld, name: str, value: str, words: str
) -> None:
    (warning,) = world.load(**{name: value}).warnings
    assert warning.source == name and words in warning.message


def test_variables_of_opencode_that_mean_nothing_here_are_no_mistake(world: SettingsWorld) -> None:
    assert world.load(OPENCODE="1", OPENCODE_BIN_PATH="/x", OPENCODE_DISABLE_LSP_DOWNLOAD="true").warnings == []


def test_sharing_every_session_needs_a_server(world: SettingsWorld) -> None:
    (warning,) = world.load(OPENCODE_AUTO_SHARE="1").warnings
    assert warning.source == "OPENCODE_AUTO_SHARE" and "enterprise.url" in warning.message
    world.person({"enterprise": {"url": "https://share.example.com"}, "share": "auto"})
    assert world.load().warnings == []


def test_a_key_that_others_can_read_is_named(world: SettingsWorld) -> None:
    path = world.person(provider(options={"apiKey": "sk-1234567890"}))
    path.parent.chmod(0o755)
    path.chmod(0o644)
    (warning,) = world.load().warnings
    assert "chmod 600" in warning.message and "sk-1234567890" not in str(warning)
    path.chmod(0o600)
    assert world.load().warnings == []
    path.chmod(0o602)
    assert "everyone can change it" in str(world.load().warnings[0])


def test_a_file_of_the_repository_that_is_a_link_out_of_it_needs_trust(world: SettingsWorld) -> None:
    outside = world.write(world.root / "outside.json", {"username": "u", "compaction": {"reserved": 7}})
    (world.project / "opencode.json").symlink_to(outside)
    loaded = world.load()
    assert [notice.key for notice in loaded.ignored] == ["username", "compaction.reserved"]
    assert loaded.effective == {}
    world.trust()
    assert world.load().effective == {"username": "u", "compaction": {"reserved": 7}}


def test_a_command_whose_template_needs_trust_does_not_stop_the_start(world: SettingsWorld) -> None:
    world.repository({"command": {"home": {"description": "d", "template": "{env:HOME}"}}})
    loaded = world.load()
    assert [notice.key for notice in loaded.ignored] == ["command.home"]
    assert "command" not in loaded.effective


def test_what_a_variable_holds_is_never_quoted(world: SettingsWorld) -> None:
    world.person({"command": {"c": {"template": "t", "agent": "{env:HIDDEN}"}}, "model": "{env:MODEL}"})
    world.repository({"disabled_providers": ["own"]})
    loaded = world.load(HIDDEN="canary-1", MODEL="canary-2/m")
    assert [notice.key for notice in loaded.warnings] == ["command.c.agent"]
    assert "canary" not in " ".join(map(str, loaded.warnings))
