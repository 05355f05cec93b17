"""Files with secrets in folders that commands may read: those of the system that only root can read, and those of tools.

Source: docs/internals/sandbox.md#secret-files.
"""

import os
import re
import stat
import time
from collections.abc import Iterable, Iterator, Sequence
from glob import iglob
from pathlib import Path

_SYSTEM = (
    "/etc/shadow", "/etc/shadow-", "/etc/gshadow", "/etc/gshadow-", "/etc/security/opasswd", "/etc/sudoers", "/etc/sudoers.d",
    "/etc/.git", "/etc/ssl/private", "/etc/pki/tls/private", "/etc/pki/CA/private", "/etc/pki/entitlement", "/etc/pki/consumer",
    "/etc/ssh/*_key", "/etc/kubernetes", "/etc/rancher", "/etc/wireguard", "/etc/nebula", "/etc/tinc", "/etc/cloudflared",
    "/etc/letsencrypt", "/etc/krb5.keytab", "/etc/krb5kdc", "/etc/NetworkManager/system-connections", "/etc/netplan",
    "/etc/wpa_supplicant", "/etc/ppp/*-secrets", "/etc/openvpn", "/etc/ipsec.secrets", "/etc/ipsec.d/private",
    "/etc/swanctl/private", "/etc/strongswan", "/etc/docker/key.json", "/etc/docker/certs.d", "/etc/containers/auth.json",
    "/etc/mysql/debian.cnf", "/etc/vault.d", "/etc/consul.d", "/etc/nomad.d", "/etc/gitlab", "/etc/gitlab-runner",
    "/etc/salt/pki", "/etc/puppetlabs/puppet/ssl", "/etc/puppet/ssl", "/etc/chef/*.pem", "/etc/ceph/*.keyring",
    "/etc/exim4/passwd.client", "/etc/postfix/sasl_passwd*", "/etc/dovecot/private", "/etc/samba/smbpasswd",
    "/etc/bind/rndc.key", "/etc/rndc.key", "/etc/credstore", "/etc/credstore.encrypted", "/etc/cryptsetup-keys.d",
    "/etc/apt/auth.conf", "/etc/apt/auth.conf.d", "/etc/msmtprc", "/etc/davfs2/secrets", "/etc/restic", "/etc/borgmatic",
    "/etc/rclone", "/etc/mosquitto/passwd", "/etc/redis", "/etc/nginx/.htpasswd", "/etc/apache2/.htpasswd",
    "/etc/cifs*credentials*", "/etc/samba/*credentials*", "/var/lib/snapd/state.json", "/var/lib/snapd/cookie",
    "/var/lib/snapd/assertions/private-keys*", "/private/etc/master.passwd", "/private/etc/sudoers", "/private/etc/sudoers.d",
    "/private/etc/ssh/*_key", "/private/etc/krb5.keytab", "/private/etc/ppp/*-secrets",
)  # fmt: skip
"""Names and patterns of the secrets of the system and its services."""

_SETTINGS = ("/etc", "/usr/local/etc", "/private/etc")
"""Where root can read what others cannot: all of that is hidden from commands, and private keys with it."""

_KEY_NAME = re.compile(r"\.(?:key|pem|p12|pfx|keytab|keyring|ppk)$|_key$|^id_(?:rsa|dsa|ecdsa|ed25519)$", re.IGNORECASE)
_KEY_STORE = re.compile(r"\.(?:p12|pfx|keytab|keyring)$", re.IGNORECASE)
_KEY = b"PRIVATE KEY"
_KEY_BYTES = 64 * 1024
_ENTRY_LIMIT = 20_000
_DEPTH = 6
_KEEP_S = 300.0

_TOOLS = (
    ".local/share/uv/credentials", ".local/share/pypoetry/auth.toml", ".dotnet/corefx/cryptography", ".cargo/credentials.toml",
    ".cargo/credentials", ".npmrc", ".yarnrc.yml", ".yarnrc", ".pypirc", ".netrc", ".gem/credentials", ".bundle/config",
    ".m2/settings.xml", ".m2/settings-security.xml", ".m2/settings-security4.xml", ".gradle/gradle.properties",
    ".composer/auth.json", ".hex/hex.config", ".cabal/config", ".cabal/credentials", ".stack/upload", ".conan/.conan.db",
    ".conan2/credentials.json", ".conan2/.conan.db", ".terraform.d/credentials.tfrc.json", ".nuget/NuGet/NuGet.Config",
    ".pub-cache/credentials.json", ".pulumi/credentials.json", ".fly/config.yml", ".wasmer/wasmer.toml", ".foundry/keystores",
    ".rattler/credentials.json", ".continuum", ".conda/aau_token", ".pip/pip.conf", ".denorc", ".vsce", ".jfrog", ".sentryclirc",
    ".twilio-cli", ".netlify/config.json", ".railway/config.json", ".turso/settings.json", ".lmstudio/credentials",
)  # fmt: skip
"""Below the home: files and folders of tools that hold keys, tokens, passwords."""

_ALWAYS = re.compile(
    r"\.?(?:credentials?(?:\.(?:json|toml|ya?ml|db|xml|ini|plain))?|auth\.(?:json|toml|ya?ml)|\.netrc|_netrc|\.pypirc|"
    r"\.git-credentials|hex\.config|settings-security4?\.xml|keystores?|access[-_]token|id_(?:rsa|dsa|ecdsa|ed25519))",
    re.IGNORECASE,
)
"""Names that hold secrets in any tool's folder."""

_IF_SECRET = re.compile(
    r"\.?npmrc|\.yarnrc(?:\.yml)?|pip\.(?:conf|ini)|gradle\.properties|settings\.xml|nuget\.config|\.?condarc|config\.(?:ya?ml|json|toml)|"
    r"settings\.(?:json|toml)|pypoetry\.toml|bunfig\.toml|wasmer\.toml",
    re.IGNORECASE,
)
"""Names that hold secrets only in some tools' folders: those files count whose text has one."""

_SECRET = re.compile(
    rb"://[^/\s@]+:[^/\s@]+@|_auth|token[\"']?\s*[:=]|password[\"']?\s*[:=>]|passwd|secret[\"']?\s*[:=]|api_?key[\"']?\s*[:=]",
    re.IGNORECASE,
)
_TOOL_ENTRIES = 500
"""Names that are examined in one folder of a tool."""


class SystemSecrets:
    """The secrets of the system that this user can read, looked for every few minutes."""

    def __init__(self) -> None:
        self._found: tuple[Path, ...] = ()
        self._until = 0.0

    def find(self) -> tuple[Path, ...]:
        """Return their paths. Blocks: for root some 30 ms at first, since all settings of the system are examined."""
        if time.monotonic() >= self._until:
            named = (Path(path) for pattern in _SYSTEM for path in iglob(pattern, include_hidden=True))
            kept = [path for path in named if _is_readable(path)]
            if os.geteuid() == 0:
                kept += _only_for_root()
            self._found = _without_nested(path for path in kept if not _is_empty(path))
            self._until = time.monotonic() + _KEEP_S
        return self._found


SYSTEM_SECRETS = SystemSecrets()
"""Of this machine."""


def tool_secrets(home: Path, folders: Sequence[Path]) -> tuple[Path, ...]:
    """Return the secrets of tools in folders of tools, which are real paths and may be read. Blocks for some lookups.

    In folders of tools that are not listed here, names count that hold secrets everywhere, in the upper two levels.
    """
    known = [home / name for name in _TOOLS]
    found = [path for path in known if os.path.lexists(path) and any(one in path.parents for one in folders)]
    for folder in folders:
        if folder.is_relative_to(home) and folder != home:
            found += _named_secrets(folder, levels=2)
    return _without_nested(found)


def _named_secrets(folder: Path, *, levels: int) -> Iterator[Path]:
    try:
        with os.scandir(folder) as entries:
            listed = [entry for entry, _ in zip(entries, range(_TOOL_ENTRIES), strict=False)]
    except OSError:
        return
    for entry in listed:
        if entry.is_symlink():
            continue
        if _ALWAYS.fullmatch(entry.name) or (_IF_SECRET.fullmatch(entry.name) and _contains(entry.path, _SECRET)):
            yield Path(entry.path)
        elif levels > 1 and entry.is_dir():
            yield from _named_secrets(Path(entry.path), levels=levels - 1)


def _only_for_root() -> Iterator[Path]:
    """Yield the settings of the system that others than root cannot read, and private keys."""
    waiting = [(name, 0) for name in _SETTINGS]
    seen = 0
    while waiting:
        folder, depth = waiting.pop()
        try:
            with os.scandir(folder) as entries:
                listed = list(entries)
        except OSError:
            continue
        seen += len(listed)
        if seen > _ENTRY_LIMIT:
            return
        for entry in listed:
            try:
                mode = entry.stat(follow_symlinks=False).st_mode
            except OSError:
                continue
            if stat.S_ISDIR(mode):
                if not mode & stat.S_IXOTH:
                    yield Path(entry.path)
                elif depth < _DEPTH:
                    waiting.append((entry.path, depth + 1))
            elif stat.S_ISREG(mode) and (not mode & stat.S_IROTH or _is_key(entry)):
                yield Path(entry.path)


def _is_key(entry: "os.DirEntry[str]") -> bool:
    if not _KEY_NAME.search(entry.name):
        return False
    return _KEY_STORE.search(entry.name) is not None or _contains(entry.path, re.compile(re.escape(_KEY)))


def _contains(path: str, pattern: "re.Pattern[bytes]") -> bool:
    try:
        with open(path, "rb") as file:
            return pattern.search(file.read(_KEY_BYTES)) is not None
    except OSError:
        return False


def _is_readable(path: Path) -> bool:
    """Return whether this user can read a path, which is no link."""
    return not path.is_symlink() and os.access(path, os.R_OK)


def _is_empty(path: Path) -> bool:
    """Return whether there is nothing to hide; each path that is hidden costs every command a mount."""
    try:
        return not any(path.iterdir()) if path.is_dir() else path.stat().st_size == 0
    except OSError:
        return False


def _without_nested(paths: Iterable[Path]) -> tuple[Path, ...]:
    given = dict.fromkeys(paths)
    return tuple(path for path in given if not any(parent in given for parent in path.parents))
