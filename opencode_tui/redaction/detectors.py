"""What secrets look like: keys of known services, private keys, values that a name calls a secret, addresses with a password.

Searching a long text for dozens of patterns is slow, and looking for a word is not: a pattern is tried only on a text that contains
one of its words. Patterns are compiled when they are first tried.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from functools import cache

from msgspec import Struct

KEY = "key"
PRIVATE_KEY = "private-key"
PASSWORD = "secret"
ADDRESS = "password-in-address"
EMAIL = "e-mail"

_B, _E = r"(?<![A-Za-z0-9_\-])", r"(?![A-Za-z0-9])"


class Detector(Struct, frozen=True):
    """One form of secret. `words`: one of them is in every match. The groups named `secret` are replaced, else the whole match.

    With `is_folded` the words are lower case and the text is searched without regard to case.
    """

    kind: str
    words: tuple[str, ...]
    pattern: str
    is_folded: bool = False


def _key(words: str, pattern: str) -> Detector:
    return Detector(KEY, tuple(words.split()), f"{_B}{pattern}{_E}")


# ruff: noqa: E501 - a pattern stays in one line

_NAME = (
    r"(?:[a-z0-9_\-.]*?(?:passw(?:or)?d|passphrase|passwd|secret|token(?!i[sz])|api[_\-]?key|apikey|access[_\-]?key|private[_\-]?key|"
    r"account[_\-]?key|signing[_\-]?key|encryption[_\-]?key|master[_\-]?key|auth[_\-]?key|webhook[_\-]?url|credentials?|client[_\-]?id[_\-]?secret|"
    r"(?:_pwd|_dsn|_pat)(?![a-z]))|pwd|pgpass)(?:s?(?![a-z])|(?:value|key|string|text|hash|data)(?![a-z])|s?[_\-0-9])[a-z0-9_\-]{0,20}"
)

DETECTORS: tuple[Detector, ...] = (
    Detector(
        PRIVATE_KEY,
        ("-----BEGIN ",),
        r"-----BEGIN (?:[A-Z0-9]+ ){0,3}PRIVATE KEY(?: BLOCK)?-----(?P<secret>[\s\S]*?)(?=-----END |\Z)",
    ),
    Detector(
        PRIVATE_KEY,
        ("PuTTY-User-Key-File",),
        r"PuTTY-User-Key-File-\d[\s\S]*?Private-Lines: \d+\s+(?P<secret>[\s\S]*?)(?=Private-MAC|\Z)",
    ),
    Detector(PRIVATE_KEY, ("AGE-SECRET-KEY-1",), r"AGE-SECRET-KEY-1[0-9A-Z]{20,}"),
    _key("sk- sk_ pk- rk_ pk_", r"(?:sk|rk|pk)[-_](?=[A-Za-z0-9_\-]*\d)(?=[A-Za-z0-9_\-]*[A-Za-z])[A-Za-z0-9_\-]{14,}"),
    _key(
        "gsk_ xai- hf_ pplx- nvapi- csk- fw_ tgp_ r8_",
        r"(?:gsk_|xai-|hf_|pplx-|nvapi-|csk-|fw_|tgp_|r8_)(?=[A-Za-z0-9_\-]*\d)[A-Za-z0-9_\-]{16,}",
    ),
    _key("ghp_ gho_ ghu_ ghs_ ghr_ github_pat_", r"(?:gh[pousr]_[A-Za-z0-9]{16,}|github_pat_[A-Za-z0-9_]{20,})"),
    _key(
        "glpat- gldt- glrt- glptt- glcbt- glsoat- glft- glimt- glagent-",
        r"gl(?:pat|dt|rt|ptt|cbt|soat|ft|imt|agent)-[A-Za-z0-9_\-]{16,}",
    ),
    _key("AKIA ASIA ABIA ACCA AROA AIDA AGPA ANPA", r"(?:AKIA|ASIA|ABIA|ACCA|AROA|AIDA|AGPA|ANPA)[A-Z0-9]{16}"),
    _key("AIza", r"AIza[A-Za-z0-9_\-]{30,}"),
    _key("ya29.", r"ya29\.[A-Za-z0-9_\-]{20,}"),
    _key("GOCSPX-", r"GOCSPX-[A-Za-z0-9_\-]{20,}"),
    _key("eyJ", r"eyJ[A-Za-z0-9_\-]{8,}\.(?:eyJ)?[A-Za-z0-9_\-]{4,}(?:\.[A-Za-z0-9_\-]*){0,3}"),
    _key("xoxb- xoxp- xoxa- xoxr- xoxs- xoxe xapp-", r"(?:xox[abprs]-|xoxe[.\-]|xapp-)[A-Za-z0-9.\-]{10,}"),
    Detector(
        KEY,
        ("hooks.slack.com",),
        r"hooks\.slack\.com/(?:services|workflows|triggers)/(?P<secret>[A-Za-z0-9/+_\-]{10,})",
    ),
    Detector(KEY, ("/api/webhooks/",), r"/api/webhooks/(?P<secret>\d{10,}/[A-Za-z0-9_\-]{20,})"),
    Detector(KEY, ("webhook.office.com",), r"webhook\.office\.com/webhookb2/(?P<secret>[A-Za-z0-9@/\-]{30,})"),
    Detector(KEY, ("bot",), r"\bbot(?P<secret>\d{6,12}:[A-Za-z0-9_\-]{30,})"),
    Detector(KEY, (":AA",), r"(?<!\d)\d{6,12}:AA[A-Za-z0-9_\-]{30,}"),
    Detector(
        KEY, (".G", ".X", ".Y"), rf"{_B}[MNO][A-Za-z0-9_\-]{{22,27}}\.[GXY][A-Za-z0-9_\-]{{5}}\.[A-Za-z0-9_\-]{{25,}}"
    ),
    _key("whsec_", r"whsec_[A-Za-z0-9+/=]{16,}"),
    _key("SG.", r"SG\.[A-Za-z0-9_\-]{16,}\.[A-Za-z0-9_\-]{16,}"),
    Detector(KEY, ("key-",), rf"{_B}key-[0-9a-f]{{32}}{_E}"),
    Detector(KEY, ("-us",), rf"{_B}[0-9a-f]{{32}}-us\d{{1,2}}{_E}"),
    Detector(KEY, ("SK", "AC"), rf"{_B}(?:SK|AC)[0-9a-f]{{32}}{_E}"),
    _key("npm_", r"npm_[A-Za-z0-9]{30,}"),
    _key("pypi-", r"pypi-[A-Za-z0-9_\-]{40,}"),
    _key("rubygems_", r"rubygems_[0-9a-f]{40,}"),
    _key("cio", r"cio[A-Za-z0-9]{32}"),
    _key("dckr_", r"dckr_(?:pat|oat)_[A-Za-z0-9_\-]{16,}"),
    _key("dop_v1_ doo_v1_ dor_v1_", r"do[opr]_v1_[0-9a-f]{40,}"),
    _key("shpat_ shpca_ shppa_ shpss_", r"shp(?:at|ca|pa|ss)_[0-9a-fA-F]{24,}"),
    _key("sq0atp- sq0csp- EAAA", r"(?:sq0(?:atp|csp)-[A-Za-z0-9_\-]{20,}|EAAA[A-Za-z0-9_\-]{50,})"),
    _key("hvs. hvb. hvr.", r"hv[sbr]\.[A-Za-z0-9_\-]{20,}"),
    _key(".atlasv1.", r"[A-Za-z0-9]{10,}\.atlasv1\.[A-Za-z0-9_\-]{40,}"),
    _key("ATATT3 ATCTT3 ATBB", r"(?:AT[AC]TT3[A-Za-z0-9_\-=]{20,}|ATBB[A-Za-z0-9]{28,})"),
    _key("lin_api_ lin_oauth_", r"lin_(?:api|oauth)_[A-Za-z0-9]{20,}"),
    _key("ntn_ secret_", r"(?:ntn_|secret_)(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{32,}"),
    _key("figd_", r"figd_[A-Za-z0-9_\-]{20,}"),
    _key("glsa_ glc_", r"(?:glsa|glc)_[A-Za-z0-9+/=_]{24,}"),
    _key("sntrys_ sntryu_", r"sntry[su]_[A-Za-z0-9+/=_\-]{24,}"),
    _key("NRAK- NRJS- NRII-", r"NR(?:AK|JS|II)-[A-Za-z0-9_\-]{16,}"),
    _key("dapi", r"dapi[0-9a-f]{32}(?:-\d)?"),
    _key("pat pat- .", r"pat[A-Za-z0-9]{14}\.[0-9a-f]{40,}"),
    _key("phc_ phx_ phs_", r"ph[cxs]_[A-Za-z0-9]{32,}"),
    _key("PMAK-", r"PMAK-[0-9a-f]{20,}-[0-9a-f]{20,}"),
    _key("tskey-", r"tskey-[a-z]+-[A-Za-z0-9\-]{12,}"),
    _key("sbp_ sb_secret_", r"(?:sbp_[0-9a-f]{30,}|sb_secret_[A-Za-z0-9_\-]{20,})"),
    _key("pscale_", r"pscale_(?:tkn|pw|oauth)_[A-Za-z0-9_\-.=]{20,}"),
    _key("vercel_ vcp_ vck_", r"(?:vercel_|vc[pk]_)(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{20,}"),
    _key("FlyV1 fm1 fm2_ fo1_", r"(?:FlyV1 )?f(?:m[12]|o1)_[A-Za-z0-9+/=_\-]{30,}"),
    _key("rnd_ nfp_", r"(?:rnd|nfp)_(?=[A-Za-z0-9]*\d)[A-Za-z0-9]{24,}"),
    _key("CFPAT- v1.0-", r"(?:CFPAT-[A-Za-z0-9_\-]{30,}|v1\.0-[0-9a-f]{20,}-[0-9a-f]{40,})"),
    _key("dp.", r"dp\.(?:pt|st|ct|sa|scim|audit)\.[A-Za-z0-9_\-.]{30,}"),
    _key("ops_eyJ", r"ops_eyJ[A-Za-z0-9_\-=]{40,}"),
    _key("pul-", r"pul-[0-9a-f]{40}"),
    _key("EZAK EZTK", r"EZ[AT]K[A-Za-z0-9]{40,}"),
    _key("tvly- jina_ sk-or-", r"(?:tvly-|jina_)(?=[A-Za-z0-9_\-]*\d)[A-Za-z0-9_\-]{20,}"),
    _key("oy2", r"oy2[a-z0-9]{43}"),
    Detector(KEY, ("sig=",), r"[?&;]sig=(?P<secret>[A-Za-z0-9%+/=_\-]{20,})"),
    Detector(
        KEY,
        ("x-amz-s", "x-goog-s", "x-amz-c"),
        r"[?&]x-(?:amz|goog)-(?:signature|security-token|credential)=(?P<secret>[^&\s\"'<>]{12,})",
        is_folded=True,
    ),
    Detector(
        KEY,
        ("authorization", "bearer ", "basic ", "x-api-key", "private-token", "x-auth-token"),
        r"(?:authorization|proxy-authorization|x-api-key|private-token|x-auth-token)[\"']?\s*[:=]\s*[\"'`]?(?:(?:bearer|basic|token|digest)\s+)?"
        r"(?P<secret>(?![{$<(\[])[^\s\"'`,;<>(){}\[\]]{8,})(?![^\s\"'`,;<>){}\]])",
        is_folded=True,
    ),
    Detector(KEY, ("bearer ",), r"\bbearer\s+(?P<secret>(?=[a-z0-9._~+/=\-]*\d)[a-z0-9._~+/=\-]{12,})", is_folded=True),
    Detector(
        KEY,
        ("_auth", "_authtoken"),
        r"_auth(?:token)?\s*=\s*[\"']?(?P<secret>(?!\$)(?=[a-z0-9+/_\-]*[\d=])[a-z0-9+/=_\-]{8,})(?![(.\w])",
        is_folded=True,
    ),
    Detector(
        ADDRESS,
        ("://",),
        r"[a-z][a-z0-9+.\-]*://[^\s/:@\"'<>`]*:(?P<secret>(?![{$<*%(])[^\s/@\"'<>`]{1,200})@",
        is_folded=True,
    ),
    Detector(
        ADDRESS,
        ("key=", "token=", "secret=", "password=", "passwd=", "signature="),
        r"(?<=[?&])[^=&\s]{0,40}(?:key|token|secret|password|passwd|signature)=(?P<secret>(?![{$<])[^&\s#\"'<>`)]{6,})",
        is_folded=True,
    ),
    Detector(PASSWORD, ("machine ",), r"\bmachine\s+\S+\s+login\s+\S+\s+password\s+(?P<secret>\S+)", is_folded=True),
    Detector(
        PASSWORD,
        ("curl ", "wget ", "http "),
        r"\b(?:curl|wget|https?)\b[^\n|;]{0,300}?\s(?:-u|--user)[ =][\"']?[^\s:\"']+:(?P<secret>[^\s\"']+)",
        is_folded=True,
    ),
    Detector(
        PASSWORD,
        ("--password", "--token", "--secret", "--api-key", "--pass"),
        r"--(?:password|passwd|pass|token|secret|api-key|access-token)[ =][\"']?(?P<secret>(?![-${<\[(])[^\s\"'`]{6,})",
        is_folded=True,
    ),
    Detector(
        PASSWORD,
        ("mysql", "sshpass"),
        r"\b(?:mysql\w*\b[^\n|;]{0,200}?|sshpass)\s-p[\"']?(?P<secret>(?![$])[^\s\"']{4,})",
        is_folded=True,
    ),
    Detector(
        PASSWORD,
        ("identified by", "password '"),
        r"(?:identified\s+by|with\s+password|\bpassword)\s+'(?P<secret>[^'\n]{4,})'",
        is_folded=True,
    ),
    Detector(
        PASSWORD,
        ("accountkey=", "sharedaccesskey=", "password=", "pwd="),
        r"\b(?:accountkey|sharedaccesskey|password|pwd)=(?P<secret>(?![{$<%])[^;\s\"'<>&(),\[\]]{6,})(?=[;\s\"']|\Z)",
        is_folded=True,
    ),
)
"""All forms that have a mark of their own; values that a name calls a secret and e-mail addresses are searched for after them."""

_OF_MANY_LINES = 2
"""How many of them match several lines; they come first."""

PIECE = 32_000
"""Characters that are searched at once, about: other threads have to wait for each search."""

_VALUE_WORDS = (
    "passw",
    "passphrase",
    "secret",
    "token",
    "key",
    "credential",
    "pwd",
    "_dsn",
    "_pat",
    "pgpass",
    "webhook",
)
_QUOTED = re.compile(
    rf"(?i)(?<![a-z0-9_])\\?[\"']?{_NAME}\\?[\"']?\]?\s*(?::\s*(?:str|string|Final)\s*)?(?::|=>|:=|=)\s*[rbf]?(?P<quote>\\?[\"'`])(?P<secret>[^\"'`\n\\]{{6,}})(?P=quote)"
)
_BARE = re.compile(
    r"(?m)(?<![A-Za-z0-9_])(?:export\s+|set\s+|ENV\s+|ARG\s+|-e\s+|-\s+)?(?P<name>[A-Z][A-Z0-9_]*(?:PASSW(?:OR)?D|PASSPHRASE|SECRET|TOKEN|API_?KEY|ACCESS_KEY|PRIVATE_KEY|_KEY|CREDENTIALS?|_PWD|_DSN|_PAT|PGPASSWORD|DATABASE_URL)"
    r"(?:_[A-Z0-9]+)?|PASSWORD|SECRET|TOKEN|PGPASSWORD)\s?=\s?(?P<secret>(?![$<{(\[\"'`])[^\s\"'`<>()\[\]{},;]{6,})"
)
_YAML = re.compile(
    rf"(?im)^[ \t]*(?:-[ \t]+)?(?:{_NAME})[ \t]*[:=][ \t]+(?P<secret>(?![$<{{(\[|>&*!\"'`])[^\s\"'`<>()\[\]{{}},;#]{{8,}})[ \t]*(?:#.*)?$"
)
_LOOSE = re.compile(
    rf"(?i)(?<![a-z0-9_]){_NAME}[\"']?[ \t]*[:=][ \t]*(?P<secret>[a-z0-9+/_\-=.]{{16,200}})(?![a-z0-9(\[])"
)
_EMAIL = re.compile(
    r"(?<![A-Za-z0-9._%+/\-@:])[A-Za-z0-9][A-Za-z0-9._%+\-]{0,63}@(?:[A-Za-z0-9](?:[A-Za-z0-9\-]{0,61}[A-Za-z0-9])?\.){1,6}(?P<end>[A-Za-z]{2,24})(?![A-Za-z0-9.@\-]*[A-Za-z0-9@])"
)
_NO_DOMAIN = frozenset(
    [
        "py",
        "js",
        "ts",
        "tsx",
        "jsx",
        "mjs",
        "cjs",
        "json",
        "md",
        "css",
        "html",
        "png",
        "jpg",
        "svg",
        "gif",
        "txt",
        "rs",
        "go",
        "rb",
        "sh",
        "toml",
        "yaml",
        "yml",
        "lock",
        "service",
        "timer",
        "target",
        "socket",
        "mount",
        "swift",
        "java",
        "kt",
    ]
)
_RESERVED = re.compile(
    r"@(?:[a-z0-9\-]+\.)*(?:example\.(?:com|org|net)|[a-z0-9\-]+\.(?:example|test|invalid|localhost))$", re.IGNORECASE
)
_PLACEHOLDER = re.compile(
    r"(?i)(?:your|my|the|some|insert|put|enter|replace|dummy|sample|example|placeholder|redacted|hidden|optional|required|changeme|none|null|true|false|undefined|string)"
    r"(?:[-_ .].*)?|[x*.•#\-_]+|.*(?:your[-_ ]|_here|placeholder|\*{3}|\.\.\.|…).*|(?:os\.|process\.|env\.|self\.|config\.|settings\.|secrets\.|this\.|args\.|options\.|req\.|request\.).*"
)
_PLAIN = re.compile(
    r"[A-Za-z]+(?:[_\-. /:][A-Za-z]+)*[.:!?]?|[A-Z0-9_]+|[a-z]+(?:_[a-z0-9]+)+|[\d.,:/_\-]{1,9}|\w+\[.*\]|\S+(?: +\S+){3,}|[A-Za-z]:?[\\/].*|\.{0,2}/.*|~/.*|[\w\-/]+\.(?:py|js|ts|tsx|json|md|txt|pem|toml|ya?ml)"
)
_ENTROPY = 3.0


@cache
def _compiled(at: int) -> re.Pattern[str]:
    found = DETECTORS[at]
    return re.compile(found.pattern, re.IGNORECASE if found.is_folded else 0)


def redact(text: str, counts: Counter[str]) -> str:
    """Return the text with its secrets and e-mail addresses replaced by `[hidden:KIND]`; `counts` grows by each."""
    if len(text) < 6:
        return text
    if len(text) > 2 * PIECE and "\n" in text:
        for at in range(_OF_MANY_LINES):
            if any(word in text for word in DETECTORS[at].words):
                text = _compiled(at).sub(_cover(DETECTORS[at].kind, counts), text)
        return "".join(_redact(piece, counts) for piece in _pieces(text))
    return _redact(text, counts)


def _pieces(text: str) -> Iterator[str]:
    """Yield the text in pieces that end with a line."""
    start = 0
    while start < len(text):
        end = text.find("\n", min(len(text), start + PIECE)) + 1
        yield text[start : end or len(text)]
        start = end or len(text)


def _redact(text: str, counts: Counter[str]) -> str:
    folded = text.lower()
    for at, detector in enumerate(DETECTORS):
        if any(word in (folded if detector.is_folded else text) for word in detector.words):
            changed = _compiled(at).sub(_cover(detector.kind, counts), text)
            if changed is not text and changed != text:
                text, folded = changed, changed.lower()
    if any(word in folded for word in _VALUE_WORDS):
        text = _QUOTED.sub(_cover(PASSWORD, counts, _is_secret), text)
        text = _BARE.sub(_cover(PASSWORD, counts, _is_bare_secret), text)
        text = _YAML.sub(_cover(PASSWORD, counts, _is_random), text)
        text = _LOOSE.sub(_cover(PASSWORD, counts, _is_loose_secret), text)
    if "DATABASE_URL" in text:
        text = _BARE.sub(_cover(PASSWORD, counts, _is_bare_secret), text)
    if "@" in text:
        text = _EMAIL.sub(_cover(EMAIL, counts, _is_email), text)
    return text


def cover(kind: str) -> str:
    """Return the text in place of a secret."""
    return f"[hidden:{kind}]"


def _cover(
    kind: str, counts: Counter[str], accept: Callable[[re.Match[str]], bool] | None = None
) -> Callable[[re.Match[str]], str]:
    def replace(match: re.Match[str]) -> str:
        whole = match[0]
        start, end = match.span("secret") if "secret" in match.re.groupindex else match.span()
        secret = match.string[start:end]
        if not secret.strip() or "[hidden:" in secret or (accept is not None and not accept(match)):
            return whole
        counts[kind] += 1
        return f"{whole[: start - match.start()]}{cover(kind)}{whole[end - match.start() :]}"

    return replace


def _is_secret(match: re.Match[str]) -> bool:
    """Return whether a quoted value after a name like `password` is one, and no word, name, path or placeholder."""
    secret = match["secret"]
    return not (
        _PLACEHOLDER.fullmatch(secret) or _PLAIN.fullmatch(secret) or any(one in secret for one in "${<%(=")
    ) or _is_strong(secret)


def _is_bare_secret(match: re.Match[str]) -> bool:
    secret = match["secret"]
    if match["name"].endswith("_KEY") and _PLAIN.fullmatch(secret):
        return False
    return not (
        _PLACEHOLDER.fullmatch(secret)
        or re.fullmatch(r"[\d_]{1,11}|[A-Z][A-Z0-9_]*|[\w.]*\.[a-z_]\w*|(?:\.{0,2}|~)/.*", secret)
    )


def _is_random(match: re.Match[str]) -> bool:
    secret = match["secret"]
    return not (
        _PLACEHOLDER.fullmatch(secret)
        or _PLAIN.fullmatch(secret)
        or (re.fullmatch(r"[A-Za-z_][\w.]*\??", secret) and not _is_strong(secret))
        or ("/" in secret and "." in secret)
    )


def _is_loose_secret(match: re.Match[str]) -> bool:
    return _is_strong(match["secret"]) and not _PLACEHOLDER.fullmatch(match["secret"])


def _is_strong(secret: str) -> bool:
    """Return whether a value has letters and digits mixed as only random ones have."""
    if len(secret) < 16 or " " in secret or not (re.search(r"\d", secret) and re.search(r"[A-Za-z]", secret)):
        return False
    if re.fullmatch(r"[a-z0-9_]+|[a-z0-9\-]+|[A-Z0-9_]+", secret) and ("_" in secret or "-" in secret):
        return False
    sizes = Counter(secret).values()
    return -sum(size / len(secret) * math.log2(size / len(secret)) for size in sizes) >= _ENTROPY


def _is_email(match: re.Match[str]) -> bool:
    address = match[0]
    return (
        match["end"].lower() not in _NO_DOMAIN
        and not address.startswith(("git@", "www@"))
        and not _RESERVED.search(address)
    )
