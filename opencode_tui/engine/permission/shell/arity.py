"""The number of words that identify a kind of command, so that `git status *` can be allowed without allowing all of git.

Source: reference, section 27 (Bash arity table), widened by our own knowledge of the tools.
"""

from collections.abc import Mapping, Sequence
from functools import cache

_TWO = (
    "git npm pnpm yarn bun deno docker podman cargo go make pip pip3 pipx uv poetry pdm conda mamba hatch kubectl oc helm brew apt"
    " apt-get dnf yum pacman apk snap systemctl service terraform tofu pulumi vagrant rustup rustc nvm fnm volta asdf mise bundle"
    " gem rake rails mix composer php-artisan dotnet gradle gradlew mvn sbt stack cabal opam dune swift flutter dart zig"
    " python python3 node ruby just task nx turbo lerna rush pre-commit tox nox pulumi ansible hg svn jj fossil tmux screen"
    " openssl ip nmcli networksetup defaults launchctl heroku fly flyctl netlify supabase firebase wrangler psql sqlite3 redis-cli"
)
_THREE = (
    "npm run|npm exec|npm init|npm view|bun run|bun x|deno task|docker compose|docker container|docker image|docker network"
    "|docker volume|docker builder|docker buildx|podman container|podman image|git config|git remote|git stash"
    "|git submodule|git worktree|git bisect|git notes|git lfs|git flow|gcloud|gh|glab|aws|az|sfdx|doctl|vercel|cargo add"
    "|cargo run|cargo install|consul kv|kubectl kustomize|kubectl rollout|kubectl config|terraform workspace"
    "|terraform state|pnpm run|pnpm dlx|pnpm exec|yarn run|yarn dlx|yarn exec|yarn workspace|uv run|uv pip|uv tool"
    "|poetry run|pdm run|hatch run|pip config|rails generate|go mod|go tool|python -m|python3 -m|bundle exec|composer run"
    "|dotnet tool|ip addr|ip link|ip route|aws s3|openssl req|openssl x509|helm repo"
)


@cache
def _arity() -> Mapping[str, int]:
    return {**dict.fromkeys(_TWO.split(), 2), **dict.fromkeys(_THREE.split("|"), 3)}


def command_prefix(words: Sequence[str]) -> tuple[str, ...]:
    """Return the leading words that identify a kind of command: by the longest matching entry of the table, else one word."""
    for length in range(min(len(words), 3), 0, -1):
        arity = _arity().get(" ".join(words[:length]))
        if arity is not None:
            return tuple(words[:arity])
    return tuple(words[:1])
