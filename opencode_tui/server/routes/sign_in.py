"""Routes of the HTTP client for sign-ins with the browser, and for the accounts of ChatGPT; OpenCode's API does not have them."""

from typing import Annotated

from fastapi import Path, Response

from opencode_tui.schema.api.sign_in import SignInAccount, SignInAddress, SignInDone, SignInRequest, SignInStarted
from opencode_tui.schema.http_headers import OWN
from opencode_tui.server.answer import answer_record, answer_records, answer_value
from opencode_tui.server.request import FolderClient
from opencode_tui.server.router import new_router

router = new_router("opencode-tui", prefix=OWN)

SignInId = Annotated[str, Path(alias="signInID", pattern=r"^[0-9a-f]{16}$")]
AccountId = Annotated[str, Path(alias="accountID", pattern=r"^[0-9a-f]{12}$")]


@router.get("/account", response_model=list[SignInAccount])
async def list_accounts(client: FolderClient) -> Response:
    """Return the accounts of ChatGPT, signed in or not."""
    return answer_records(await client.sign_ins.accounts())


@router.post("/account/{accountID}/select", response_model=bool)
async def select_account(client: FolderClient, account_id: AccountId) -> Response:
    """Use an account from now on."""
    await client.sign_ins.select(account_id)
    return answer_value(True)


@router.delete("/account/{accountID}", response_model=str)
async def sign_out_account(client: FolderClient, account_id: AccountId) -> Response:
    """Revoke and delete the tokens of an account; return why they could not be revoked, empty if they were."""
    return answer_value(await client.sign_ins.sign_out(account_id))


@router.post("/sign-in", response_model=SignInStarted)
async def begin_provider_sign_in(client: FolderClient, request: SignInRequest) -> Response:
    """Begin a sign-in to a provider, open the browser, and return the address."""
    return answer_record(await client.sign_ins.begin(request))


@router.post("/sign-in/{signInID}/wait", response_model=SignInDone)
async def wait_for_provider_sign_in(client: FolderClient, sign_in_id: SignInId) -> Response:
    """Wait for the end of a sign-in, and return who signed in."""
    return answer_record(await client.sign_ins.wait(sign_in_id))


@router.post("/sign-in/{signInID}/address", response_model=bool)
async def paste_sign_in_address(client: FolderClient, sign_in_id: SignInId, given: SignInAddress) -> Response:
    """Go on with the whole address that the browser shows at the end."""
    await client.sign_ins.paste(sign_in_id, given.address)
    return answer_value(True)


@router.delete("/sign-in/{signInID}", response_model=bool)
async def cancel_provider_sign_in(client: FolderClient, sign_in_id: SignInId) -> Response:
    """End a sign-in; nothing of it is stored."""
    await client.sign_ins.cancel(sign_in_id)
    return answer_value(True)
