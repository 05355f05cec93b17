"""Secrets are found in the texts in which they occur; ordinary code is left alone."""

import base64
from collections import Counter
from pathlib import Path

import pytest

import opencode_tui
from opencode_tui.redaction.detectors import PIECE, redact, redact_cut
from tests.support.rows import each

L = "q7Zr2Vx9Kd4Tn8Bs6Wm1Hc5Jp3Lf0Gy"
"""32 random characters."""
H = "3f9a1c7be4d20586af13c9e7d0b2465f"
D = "839201746512"


def encoded(kind: str) -> str:
    """Return a private key as kubeconfig files and secrets of Kubernetes have it."""
    head, end = (f"{kind} PRIVATE KEY".strip(), " BLOCK" if kind == "PGP" else "")
    return base64.b64encode(f"-----BEGIN {head}{end}-----\n{L}{L}\n-----END {head}{end}-----\n".encode()).decode()


SECRETS: dict[str, tuple[str, str]] = {
    "openai": (f"OpenAI(api_key='sk-proj-{L}')", f"sk-proj-{L}"),
    "anthropic": (f"key is sk-ant-api03-{L}-{L} ok", f"sk-ant-api03-{L}-{L}"),
    "openrouter": (f"sk-or-v1-{H}{H}", H),
    "groq": (f"gsk_{L}{L}", L),
    "xai": (f'"xai-{L}{L}"', L),
    "hugging face": (f"huggingface-cli login hf_{L}", L),
    "perplexity": (f"pplx-{L}", L),
    "nvidia": (f"nvapi-{L}", L),
    "replicate": (f"r8_{L}", L),
    "stripe live": (f"stripe.key = sk_live_{L}", L),
    "stripe restricted": (f"rk_live_{L}", L),
    "stripe webhook": (f"whsec_{L}", L),
    "github classic": (f"git clone https://ghp_{L}abcd@github.example/a/b", L),
    "github app": (f"ghs_{L}", L),
    "github fine": (f"github_pat_{L}_{L}", L),
    "gitlab": (f"glpat-{L[:20]}", L[:20]),
    "gitlab runner": (f"glrt-{L[:20]}", L[:20]),
    "aws id": ("aws_access_key_id = AKIAQ7ZR2VX9KD4TN8BS", "AKIAQ7ZR2VX9KD4TN8BS"),
    "aws secret": (f"AWS_SECRET_ACCESS_KEY={L}/+abc", L),
    "aws session in a file": (f"aws_session_token = {L}{L}==", L),
    "aws presigned": (f"https://b.s3.example/x?X-Amz-Signature={H}{H}&X-Amz-Date=1", H),
    "google api": (f"AIza{L}abc", L),
    "google oauth": (f"ya29.{L}{L}", L),
    "google client": (f"GOCSPX-{L}", L),
    "azure storage": (f"DefaultEndpointsProtocol=https;AccountName=a;AccountKey={L}{L}==;EndpointSuffix=x", L),
    "azure sas": (f"https://a.blob.example/c?sv=2022&sig={L}%3D", L),
    "jwt": (f"cookie: session=eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.{L}", L),
    "slack bot": (f"xoxb-{D}-{D}-{L}", L),
    "slack app": (f"xapp-1-A012-{D}-{H}", H),
    "slack hook": (f"https://hooks.slack.com/services/T012AB/B034CD/{L}", L),
    "discord hook": (f"https://discord.example/api/webhooks/{D}839201/{L}{L}", L),
    "discord bot": (f"M{L[:23]}.Gq7Zr2.{L}", L),
    "telegram": (f"https://api.telegram.example/bot{D[:10]}:AA{L}x/send", f"AA{L}"),
    "sendgrid": (f"SG.{L[:22]}.{L}abcdefghijk", L),
    "mailgun": (f"key-{H}", H),
    "mailchimp": (f"{H}-us14", H),
    "twilio": (f"SK{H}", H),
    "npm": (f"npm_{L}abcd", L),
    "npmrc": (f"//registry.example/:_authToken={L}", L),
    "pypi": (f"pypi-AgEIcHlwaS5vcmc{L}{L}", L),
    "docker hub": (f"docker login -p dckr_pat_{L}", L),
    "digitalocean": (f"dop_v1_{H}{H}", H),
    "shopify": (f"shpat_{H}", H),
    "square": (f"sq0atp-{L}", L),
    "vault": (f"VAULT=hvs.{L}{L}", L),
    "terraform cloud": (f"{L[:14]}.atlasv1.{L}{L}", f"atlasv1.{L}"),
    "atlassian": (f"ATATT3xFfGF0{L}={H}", L),
    "linear": (f"lin_api_{L}", L),
    "notion": (f"ntn_{L}abc", L),
    "figma": (f"figd_{L}", L),
    "grafana": (f"glsa_{L}_{H[:8]}", L),
    "sentry": (f"sntrys_{L}{L}", L),
    "new relic": ("NRAK-Q7ZR2VX9KD4TN8BS6WM1HC5JP3L", "Q7ZR2VX9KD4TN8BS6WM1HC5JP3L"),
    "databricks": (f"dapi{H}", H),
    "postman": (f"PMAK-{H[:24]}-{H}ab", H),
    "tailscale": (f"tskey-auth-k{L[:11]}CNTRL-{L}", L),
    "supabase": (f"sbp_{H}{H[:8]}", H),
    "planetscale": (f"pscale_tkn_{L}", L),
    "doppler": (f"dp.pt.{L}{L}", L),
    "pulumi": (f"pul-{H}{H[:8]}", H),
    "age": (f"AGE-SECRET-KEY-1{L.upper()}", L.upper()),
    "rsa": (f"-----BEGIN RSA PRIVATE KEY-----\nMIIE{L}\n{L}\n-----END RSA PRIVATE KEY-----\n", L),
    "openssh in json": (
        f'{{"key": "-----BEGIN OPENSSH PRIVATE KEY-----\\n{L}\\n-----END OPENSSH PRIVATE KEY-----"}}',
        L,
    ),
    "a private key without an end": (f"-----BEGIN EC PRIVATE KEY-----\n{L}\n", L),
    "pgp": (f"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\n{L}\n-----END PGP PRIVATE KEY BLOCK-----", L),
    "bearer": (f"curl -H 'Authorization: Bearer {L}' https://a.example", L),
    "basic": ("authorization: Basic dXNlcjpodW50ZXIyMg==", "dXNlcjpodW50ZXIyMg=="),
    "api key header": (f'headers={{"X-API-Key": "{L}"}}', L),
    "gitlab header": (f"PRIVATE-TOKEN: {L}", L),
    "postgres": ("postgres://app:hunter2!x@db.example:5432/shop", "hunter2!x"),
    "redis": ("redis://:s3cr3t-pw@cache.example:6379/0", "s3cr3t-pw"),
    "https login": ("https://deploy:pa55word@git.example/a.git", "pa55word"),
    "parameter": (f"https://a.example/x?api_key={L}&b=1", L),
    "export": ("export DB_PASSWORD=correcthorse9", "correcthorse9"),
    "dotenv": ("STRIPE_SECRET=abc123def456\nNAME=x", "abc123def456"),
    "docker": ("docker run -e MYSQL_ROOT_PASSWORD=tr0ub4dor db", "tr0ub4dor"),
    "python": ('password = "Tr0ub4dor&3"', "Tr0ub4dor&3"),
    "javascript": ("const clientSecret = 'n0t-for-y0u!'", "n0t-for-y0u!"),
    "json": ('{"apiKey": "9f8e7d6c5b4a"}', "9f8e7d6c5b4a"),
    "escaped json": (r"{\"password\": \"Tr0ub4dor3x\"}", "Tr0ub4dor3x"),
    "yaml": (f"db:\n  password: tr0ub4-dor3\n  token: {L}", "tr0ub4-dor3"),
    "netrc": ("machine api.example login me password hunter2xyz", "hunter2xyz"),
    "curl user": ("curl -s -u admin:hunter2xyz https://a.example", "hunter2xyz"),
    "option": ("deploy --token 8d7f6a5s4d3f2g1h --now", "8d7f6a5s4d3f2g1h"),
    "sql": ("CREATE USER a IDENTIFIED BY 'hunter2xyz';", "hunter2xyz"),
    "sql server": ("Server=a;Database=b;User Id=c;Password=hunter2xyz;", "hunter2xyz"),
    "mysql": ("mysql -u root -phunter2xyz shop", "hunter2xyz"),
    "github app, stateless": (f"GH_TOKEN is ghs_123456_eyJhbGciOiJSUzI1NiJ9.eyJpYXQiOjE3fQ.{L}-{L}", L),
    "gitlab flags": (f"glffct-{L[:20]}", L[:20]),
    "gitlab application": (f"gloas-{H}{H}", H),
    "gitlab registration": (f"GR1348941{L[:20]}", L[:20]),
    "gitlab session": (f"_gitlab_session={H}", H),
    "alibaba": (f"id LTAI{L[:20]}", f"LTAI{L[:20]}"),
    "bedrock": (f"ABSK{L}{L}{L}{L}==", L),
    "bedrock for a day": (f"bedrock-api-key-{L}{L}=", L),
    "azure application": (f"secret_value is aB~8Q~{L}ab", L),
    "azure devops": (f"az login {L}{L[:20]}JQQJ99AKACAAAAAAAAAAAAASAZDO1aB2", f"{L}{L[:20]}"),
    "google refresh": (f"1//0g{L}-{L}", L),
    "artifactory": (f"AKCp8{L}{L}", L),
    "artifactory reference": (f"cmVmdGtuO{L}{L[:24]}", L),
    "1password": ("A3-Q7ZR2V-X9KD4T-N8BS6-WM1HC-5JP3L-F0GYA", "WM1HC"),
    "hugging face, letters": ("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", "qwertzuiopasdfghjklyxcvbnmQWERTZUI"),
    "hugging face organization": ("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", "qwertzuiopasdfghjklyxcvbnmQWERTZUI"),
    "harness": (f"pat.{L[:22]}.{H[:24]}.{L[:20]}", L[:20]),
    "heroku": (f"HRKU-AA{L}-{L[:24]}", L),
    "openshift": (f"oc login sha256~{L}{L[:12]}", L),
    "brevo": (f"xkeysib-{H}{H}-{L[:16]}", H),
    "dynatrace": (f"dt0c01.{L[:24]}.{L}{L}", L),
    "clojars": (f"CLOJARS_{H}{H[:28]}", H),
    "duffel": (f"duffel_live_{L}{L[:11]}", L),
    "shippo": (f"shippo_test_{H}{H[:8]}", H),
    "flutterwave": (f"FLWSECK_TEST-{H}-X", H),
    "octopus": ("API-Q7ZR2VX9KD4TN8BS6WM1HC5JP3", "Q7ZR2VX9KD4TN8BS6WM1HC5JP3"),
    "sourcegraph": (f"sgp_{H[:16]}_{H}{H[:8]}", H),
    "sonar": (f"sqp_{L}{L[:9]}", L),
    "typeform": (f"tfp_{L}{L[:27]}", L),
    "facebook page": (f"EAAC{L}{L}{L}{L}", L),
    "yandex": (f"AQVN{L}abcd", L),
    "maxmind": (f"{L[:6]}_{L[:29]}_mmk", L[:29]),
    "plaid": ("access-sandbox-3f9a1c7b-e4d2-0586-af13-c9e7d0b2465f", "c9e7d0b2465f"),
    "prefect": (f"pnu_{L}abcde", L),
    "vault, older": (f"token s.{L[:24]} ok", L[:24]),
    "aws, oldest": ("A3TXQ7ZR2VX9KD4TN8BS", "Q7ZR2VX9KD4TN8BS"),
    "twilio, upper case": (f"SK{H.upper()}", H.upper()),
    "slack legacy": (f"xoxo-{D}-{D}-{H}", H),
    "kubeconfig": (f"client-key-data: {encoded('RSA')}", encoded("RSA")[24:60]),
    "kubeconfig, elliptic": (f"    client-key-data: {encoded('EC')}", encoded("EC")[24:60]),
    "a key in base64": (f'"tls.key": "{encoded("")}"', encoded("")[24:60]),
    "openssh in base64": (encoded("OPENSSH"), encoded("OPENSSH")[24:60]),
    "pgp in base64": (encoded("PGP"), encoded("PGP")[24:60]),
    "kubernetes": (
        "apiVersion: v1\nkind: Secret\ntype: Opaque\ndata:\n  a: aHVudGVyMg==\n  dsn: aHVudGVyMw==",
        "aHVudGVyMw==",
    ),
    "kubectl": ("apiVersion: v1\ndata:\n  a: aHVudGVyMg==\n  dsn: aHVudGVyMw==\nkind: Secret", "aHVudGVyMw=="),
    "kubernetes as read": ("\n00001| kind: Secret\n00002| stringData:\n00003|   dsn: hunter2", "hunter2"),
    "docker login": (f'"auths": {{"ghcr.example": {{"auth": "{L}=="}}}}', L),
    "shadow": (f"ada:$6$saltsalt${L}{L}:19000:0:99999:7:::", L),
    "yescrypt": (f"ada:$y$j9T$abc${L}:19000", L),
    "htpasswd": ("ada:$apr1$x8d.5hyC$kl3KfZx1dI3wvX8jtabcd/", "kl3KfZx1dI3wvX8jtabcd/"),
    "bcrypt": (f"ada:$2y$10${L}abcdefghijklmnopqrstu", L),
    "argon2": (f"$argon2id$v=19$m=65536,t=3,p=4${L[:22]}${L}", L),
    "cookie": ("curl -H 'Cookie: lang=de; sid=38afes7a8d7s6d87'", "38afes7a8d7s6d87"),
    "cookie of a server": ("Set-Cookie: sessionid=8a7s6d87as6d8; HttpOnly", "8a7s6d87as6d8"),
    "token in an address": (f"git clone https://{H}@github.example/a/b", H),
    "docker login by option": ("docker login -u me -p hunter2xyz registry.example", "hunter2xyz"),
    "redis by option": ("redis-cli -h a -a hunter2xyz ping", "hunter2xyz"),
    "sshpass": ("sshpass -p 'hunter2xyz' ssh a", "hunter2xyz"),
    "php": ("define( 'DB_PASSWORD', 'hunter2xyz' );", "hunter2xyz"),
    "default of a variable": ('os.getenv("API_TOKEN", "hunter2xyz")', "hunter2xyz"),
    "putty": (f"PuTTY-User-Key-File-3: ssh-ed25519\nPrivate-Lines: 1\n{L}\nPrivate-MAC: 1", L),
    "e-mail": ("Author: Ada <ada.lovelace@analytical.engine.org>", "ada.lovelace@analytical.engine.org"),
}

ORDINARY = """
password: str = Field(min_length=8)
token = next(tokens)
api_key = os.environ["API_KEY"]
secret = config.get("secret")
const token = await getToken();
token: string;
max_tokens = 4096
token_count=12
TOKEN_LIMIT=100000
KEY_ENTER = 13
PRIMARY_KEY=id
self.password = password
if password == "" or not token:
def check(token: str, key: bytes) -> None:
    key = "user_id"
sk-learn-contrib and pk_column_name and fw_update_everything and hf_hub_download
rk_stage_coefficients r8_unorm_format
from app import router
@app.route("/login")
git clone git@github.com:owner/project.git
npm install react@18.2.0 lodash@4.17.21
icon@2x.png
user@example.com
const x: Record<string, string> = { token: "string", password: "password" }
<input type="password" name="password" placeholder="Enter your password">
apiKey: "your-api-key-here"
API_KEY=your_api_key
OPENAI_API_KEY=${OPENAI_API_KEY}
export TOKEN=$(cat token.txt)
AWS_SECRET_ACCESS_KEY=<your secret>
http://localhost:8080/path
https://example.com/a?page=2&sort=key
commit 3f9a1c7be4d20586af13c9e7d0b2465f3f9a1c7b
sha256:3f9a1c7be4d20586af13c9e7d0b2465f3f9a1c7be4d20586af13c9e7d0b2465f
integrity sha512-q7Zr2Vx9Kd4Tn8Bs6Wm1Hc5Jp3Lf0Gy==
msg_0193b7c8d9e0AbCdEfGhIjKlMn prt_0193b7c8d9e0AbCdEfGhIjKlMn ses_0193b7c8d9e0AbCdEfGhIjKlMn
SECRET_NAMES = frozenset({"a"})
secrets.token_urlsafe(24)
primary_key=True, foreign_key="users.id"
keyboard = "qwerty"
monkey: banana
tokens: Sequence[str]
authorization: str | None
headers["Authorization"] = f"Bearer {token}"
-----BEGIN CERTIFICATE-----
ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAIOMqqnkVzrm0SdG6UOoqKLsabgH5C9okWi0dh2l9GKJl
bearer of bad news
basic authentication
password = getpass.getpass("Password: ")
token = "start of a sentence"
secret_key = "secret_key"
lambda key: key.lower()
for key, value in items.items():
std::map<std::string, Token> tokens;
let key = event.key;
passwd:x:1000:1000::/home:/bin/sh
cookie: Cookie = Cookie.parse(header)
document.cookie = "theme=darkmode"
res.cookie(name, value)
"auth": "required", "auth": "oauth2-client-credentials"
kind: SecretStore
echo $1$2$3 and $5$6
LS0tLS1CRUdJTiBDRVJUSUZJQ0FURS0tLS0tCk1JSUNtVENDQVlHZ0F3SUJBZ0lVYmN6
LS0tLS1CRUdJTiBQVUJMSUMgS0VZLS0tLS0KTUlJQklqQU5CZ2txaGtpRzl3MEJBUUVG
s.someLongMethodNameOfAClass s.a1
sqa_review_of_the_release pat.example.com API-DOCUMENTATION
https://git@example.com/a https://some-user-name-of-a-team@example.com/a
os.getenv("DB_PASSWORD", "password")
AZDO_PROJECT and YCombinator and A3-format
docker login -u me --password-stdin
"""


@each("name", SECRETS)
def test_a_secret_is_replaced_and_counted(name: str):
    text, secret = SECRETS[name]
    counts: Counter[str] = Counter()
    for surrounded in (text, f"before\n{text}\nafter", f"x {text} y"):
        changed = redact(surrounded, counts)
        assert secret not in changed, changed
        assert "[hidden:" in changed
    assert counts.total() >= 3


def test_there_are_secrets_of_a_hundred_kinds():
    assert len(SECRETS) >= 100


@each("line", ORDINARY.strip().splitlines())
def test_ordinary_code_is_left_alone(line: str):
    counts: Counter[str] = Counter()
    assert redact(line, counts) == line
    assert not counts


@pytest.mark.slow
def test_the_source_of_this_program_is_left_alone():
    files = [path for path in Path(opencode_tui.__file__).parent.rglob("*.py") if path.parent.name != "redaction"]
    found = {str(path): counts for path in files if (counts := _found(path.read_text(encoding="utf-8")))}
    assert len(files) > 200
    assert found == {}


def _found(text: str) -> Counter[str]:
    counts: Counter[str] = Counter()
    redact(text, counts)
    return counts


def test_a_text_that_was_redacted_stays_as_it_is():
    counts: Counter[str] = Counter()
    once = redact("\n".join(text for text, _ in SECRETS.values()), counts)
    before = counts.copy()
    assert redact(once, counts) == once
    assert counts == before


@pytest.mark.slow
def test_a_long_text_is_searched_in_pieces_with_the_same_result():
    lines = [text for text, _ in SECRETS.values()]
    filler = [f"line {number} of an ordinary text" for number in range(400)]
    long = "\n".join(part for _ in range(8) for one in lines for part in (*filler[:40], one))
    counts: Counter[str] = Counter()
    changed = redact(long, counts)
    assert len(long) > 4 * PIECE
    assert [secret for _, secret in SECRETS.values() if secret in changed] == []
    # what follows the key without an end is hidden up to the end of the next one
    assert changed.count("line 7 of an ordinary text") == 8 * (len(lines) - 1)


@pytest.mark.slow
def test_a_long_line_is_searched_in_linear_time():
    counts: Counter[str] = Counter()
    pieces = (
        "a",
        "password ",
        "://",
        "key=",
        "@a.",
        "sk-",
        "-----BEGIN ",
        "token = ",
        "A_KEY",
        "cookie: a=",
        "cookie a=b1; ",
        "$6$a",
        "://a1",
    )
    lines = (
        "LS0tLS1CRUdJTiB ",
        "docker login ",
        '"auth": "',
        "define('",
        "kind: Secret\n",
        "data:\n a: b\n",
        "kind: Secret\ndata:\n a: b\n",
    )
    for piece in (*pieces, *lines):
        redact(piece * (200_000 // len(piece)), counts)
    assert counts.total() < 200_000


@each(
    ("text", "left"),
    [
        ("mail bob@exam…", "mail [hidden:e-mail]…"),
        ("mail bob@…", "mail [hidden:e-mail]…"),
        ("open https://ada:pass…", "open [hidden:password-in-address]…"),
        ("the key sk-abcdefgh12…", "the key [hidden:key]…"),
        ("open http://localhost:80…", "open http://localhost:80…"),
        ("clone git@github.com:a/b…", "clone git@github.com:a/b…"),
        ("use @decorator…", "use @decorator…"),
        ("mail bob@exam", "mail [hidden:e-mail]"),
        ("why fails postgres://admin:hunter2se", "why fails [hidden:password-in-address]"),
        ("open http://localhost:80", "open http://localhost:80"),
        ("open https://ada:pass@a.example", "open https://ada:pass@a.example"),
    ],
)
def test_the_start_of_a_secret_at_a_cut_end_is_covered(text: str, left: str):
    counts = Counter[str]()
    assert redact_cut(text, counts) == left
    assert sum(counts.values()) == (text != left)
