"""Check before a release that the current policy was approved by the people that it names."""

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
    """Refuse a policy without a current approval; put the approval into the release that is made under it.

    If matrices are withheld, the approval is not put there: it could confirm a guess of the policy.

    Raises:
        RefusedError: RR417 if the policy requires an approval and there is none, or it is for another policy, or not
            signed by the required people.
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
