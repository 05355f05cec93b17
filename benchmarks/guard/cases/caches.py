"""Links in the caches that commands may write, and poison for what the user starts outside later."""

from benchmarks.guard.case import Act, Case, Program, steps

_VARIABLES = (
    "XDG_CACHE_HOME",
    "XDG_CONFIG_HOME",
    "XDG_STATE_HOME",
    "PIP_CACHE_DIR",
    "UV_CACHE_DIR",
    "GOCACHE",
    "GOMODCACHE",
    "CCACHE_DIR",
    "CARGO_HOME",
    "GRADLE_USER_HOME",
    "npm_config_cache",
    "NUGET_PACKAGES",
    "PRE_COMMIT_HOME",
    "TMPDIR",
)
_SHAPES = {
    "a link to a folder of the user": 'rm -rf "${0}"; ln -s @H/notes "${0}"',
    "a dangling link": 'rm -rf "${0}"; ln -s @H/not-there "${0}"',
    "a file": 'rm -rf "${0}"; echo x > "${0}"',
}
_INNER = (
    ("CARGO_HOME", "registry"),
    ("CARGO_HOME", "bin"),
    ("GRADLE_USER_HOME", "caches"),
    ("npm_config_cache", "_cacache"),
    ("XDG_CONFIG_HOME", "git"),
    ("XDG_CONFIG_HOME", "go"),
    ("XDG_CACHE_HOME", "pip"),
    ("XDG_CACHE_HOME", "config"),
)

_LINKS = tuple(
    Case(
        f"${name} becomes {shape}",
        steps(command.format(name), "mktemp; true", Act("restart"), "true", Program(("doctor",))),
    )
    for name in _VARIABLES
    for shape, command in _SHAPES.items()
)

_INNER_LINKS = tuple(
    Case(
        f"{part} in ${name} becomes a link to a folder of the user",
        steps(
            f'cd "${name}" && rm -rf {part}; ln -s @H/notes {part}; ln -s @H/not-there other',
            "true",
            Act("restart"),
            "true",
            Act("delete"),
        ),
        home={".config/git/ignore": "x", ".config/go/env": "GOFLAGS="},
    )
    for name, part in _INNER
)

_CACHED = {
    "pip": ".cache/pip/wheels/a.whl",
    "uv": ".cache/uv/archive-v0/x/demo.py",
    "a tool of uv": ".local/share/uv/tools/demo/demo.py",
    "npm": ".npm/_cacache/content-v2/x",
    "npx": ".npm/_npx/1/node_modules/x/index.js",
    "cargo's sources": ".cargo/registry/src/x/lib.rs",
    "cargo's packages": ".cargo/registry/cache/x.crate",
    "cargo's programs": ".cargo/bin/demo",
    "go's modules": "go/pkg/mod/x@v1/x.go",
    "go's builds": ".cache/go-build/00/x-d",
    "go's programs": "go/bin/demo",
    "Maven": ".m2/repository/x/1/x.jar",
    "Gradle": ".gradle/caches/modules-2/x.jar",
    "Gradle's start": ".gradle/init.d/x.gradle",
    "ccache": ".cache/ccache/0/x",
    "pre-commit": ".cache/pre-commit/repo1/x.py",
    "NuGet": ".nuget/packages/x/x.dll",
    "yarn": ".cache/yarn/v6/x",
    "poetry": ".cache/pypoetry/x",
    "a program of the user": ".local/bin/demo",
}

_WAYS = {
    "appended to": "echo pwned >> {0}; true",
    "replaced": "rm -f {0}; mv README.md {0}; cp src/a.py {0}; ln -sf @P/src/a.py {0}",
    "changed by a hard link": "ln {0} hard && echo pwned >> hard; cp -l {0} hard2; echo pwned >> hard2",
}

_POISON = tuple(
    Case(f"what {tool} keeps is {way}", steps(command.format(f"@H/{path}")), home={path: "good"})
    for tool, path in _CACHED.items()
    for way, command in _WAYS.items()
)

_SECRETS = tuple(
    Case(
        f"a secret beside a tool's files: {path}",
        steps(f"cat @H/{path}; cp @H/{path} .; cat $(basename {path})"),
        home={path: "<password>CANARY-OUTSIDE-7731</password>"},
    )
    for path in (
        ".local/share/uv/credentials/x",
        ".dotnet/corefx/cryptography/x",
        ".cargo/credentials.toml",
        ".cargo/credentials",
        ".npmrc",
        ".m2/settings.xml",
        ".m2/settings-security.xml",
        ".gradle/gradle.properties",
        ".pypirc",
        ".config/pip/pip.conf",
        ".config/gh/hosts.yml",
        ".docker/config.json",
        ".config/gcloud/x.db",
        ".config/pypoetry/auth.toml",
        ".composer/auth.json",
        ".bundle/config",
        ".terraform.d/credentials.tfrc.json",
        ".nuget/NuGet/NuGet.Config",
        ".hex/hex.config",
        ".aws/credentials",
        ".kube/config",
        ".git-credentials",
        ".config/git/credentials",
        ".gnupg/secring.gpg",
        ".gem/credentials",
    )
)

CACHES = (*_LINKS, *_INNER_LINKS, *_POISON, *_SECRETS)
