"""Whether a policy was approved as it stands now, by the people that it asks for; asked before anything is released."""

from __future__ import annotations

import os
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from rrpolicy.errors import Problem, RefusedError
from rrpolicy.safe_io.document import UnreadableError
from rrpolicy.signing.allowed_signers import check_signers, read_signers
from rrpolicy.signing.envelope import SignedEnvelope, read_envelope
from rrpolicy.signing.signing import approval_path
from rrpolicy.signing.statement import approval_statement
from rrpolicy.verification.verify import APPROVAL_FILE, ATTESTATIONS_FOLDER

if TYPE_CHECKING:
    from rrpolicy.policy.model import Policy


def require_approval(policy: Policy, file: Path, into: Path, day: date) -> None:
    """Refuse a policy that is not approved as it stands; put the approval beside the release that is made under it.

    Args:
        policy: as its file states it now.
        file: that.
        into: the bundle in the making. Where matrices are withheld nothing is put there: who has an approval could
            confirm a guess of the policy.
        day: on which the approvers' keys have to be trusted.

    Raises:
        RefusedError: RR417 if there is no approval and the policy asks for one, or it is of another policy, or not
            signed by whom the policy asks for.
        PolicyError: RR2xx for the file of allowed signers.
    """
    place, required = approval_path(file), policy.release.require_approval
    if not os.path.lexists(place):
        if required:
            raise _not_approved_error(policy, f"is not approved: there is no {place}", file)
        return
    try:
        found = read_envelope(place)
    except UnreadableError as error:
        raise _not_approved_error(policy, f"has an approval that cannot be read: {error}", file) from error
    if found.payload != approval_statement(policy.name, policy.version, policy.digest(), policy.governance.digest()):
        raise _not_approved_error(policy, f"is not what was approved: {place} is of another policy or decision", file)
    _require_signatures(policy, file, found, day)
    if not policy.release.withholds:
        folder = into / ATTESTATIONS_FOLDER
        folder.mkdir()
        (folder / APPROVAL_FILE).write_bytes(found.written())


def _require_signatures(policy: Policy, file: Path, found: SignedEnvelope, day: date) -> None:
    settings = policy.release
    if settings.signers is None:
        return
    held = check_signers(found, read_signers(Path(policy.folder) / settings.signers, day).signers, day)
    if held.lacking(settings.require_approval):
        raise _not_approved_error(policy, f"is not approved: {held.why(settings.require_approval)}", file)


def _not_approved_error(policy: Policy, why: str, file: Path) -> RefusedError:
    hint = f"who approves it, as it stands now, signs it: `rrpolicy sign {file} --key FILE`"
    return RefusedError(Problem("RR417", f"the policy '{policy.name}' {why}", policy.place("release"), hint=hint))
