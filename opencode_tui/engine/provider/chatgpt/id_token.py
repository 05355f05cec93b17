"""Checks the ID token of a sign-in. PyJWT checks the signature and the claims of time; the rest is here.

Source: developers.openai.com/siwc/token-sharing-open-source/sign-in; OpenID Connect Core 1.0, 3.1.3.7.
Imported at a sign-in: PyJWT takes 0.1 s.
"""

import secrets
from typing import Any

import jwt
from msgspec import Struct

from opencode_tui.schema.record import JsonObject

_LEEWAY_S = 60
"""Seconds by which the clocks may differ."""

_REQUIRED = ("iss", "sub", "aud", "exp", "iat", "nonce")


class IdTokenError(Exception):
    """The token is not one of this sign-in; the text says why and contains nothing of it."""


class Identity(Struct, frozen=True):
    """Who signed in. `subject` is the identity; the others are for display only."""

    subject: str
    email: str = ""


def check_id_token(token: str, keys: JsonObject, *, issuer: str, client_id: str, nonce: str) -> Identity:
    """Return who signed in. Raises IdTokenError. `keys` is the JSON Web Key Set of the issuer."""
    try:
        header = jwt.get_unverified_header(token)
        if header.get("alg") != "RS256":
            raise IdTokenError("it is not signed with RS256")
        known = jwt.PyJWKSet.from_dict(keys).keys
        key = next((one for one in known if one.key_id == header.get("kid") and one.key_type == "RSA"), None)
        if key is None:
            raise IdTokenError("the issuer has no key of this signature")
        claims: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=["RS256"],
            audience=client_id,
            issuer=issuer,
            leeway=_LEEWAY_S,
            options={"require": list(_REQUIRED)},
        )
    except jwt.ExpiredSignatureError:
        raise IdTokenError("it has expired") from None
    except jwt.InvalidIssuerError:
        raise IdTokenError("it is of another issuer") from None
    except jwt.InvalidAudienceError:
        raise IdTokenError("it is for another client") from None
    except jwt.PyJWTError as error:
        raise IdTokenError(f"it is not valid ({type(error).__name__})") from None
    audience: object = claims["aud"]
    party = claims.get("azp")
    if party != client_id and (party is not None or (isinstance(audience, list) and audience != [client_id])):
        raise IdTokenError("it is for another client")
    given = claims["nonce"]
    if not isinstance(given, str) or not secrets.compare_digest(given.encode(), nonce.encode()):
        raise IdTokenError("it belongs to another sign-in")
    if not isinstance(claims["sub"], str) or not claims["sub"]:
        raise IdTokenError("it names nobody")
    email = claims.get("email")
    return Identity(claims["sub"], email if isinstance(email, str) else "")
