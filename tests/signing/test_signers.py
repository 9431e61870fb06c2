"""Approvals and the file of allowed signers: roles, rotated and stolen keys, two keys of one person, recalls."""

from __future__ import annotations

import json
import shutil
from datetime import date
from itertools import permutations
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.signing.allowed_signers import SignerCheck, read_signers
from rrpolicy.signing.signing_keys import make_signing_key
from tests.survey import SURVEY

WHO = {"desk-a": "Desk A", "desk-a-2": "Desk A", "desk-b": "Desk B", "desk-c": "Desk C"}
ROLES = {"Desk A": ["steward", "approver"], "Desk B": ["approver"], "Desk C": ["steward"]}
ASKED = 'require_roles = ["steward", "approver"]\nrequire_approval = ["approver"]\nsigners = "signers.toml"\n'
JANUARY, JULY, AUTUMN = "2027-01-20", "2027-07-01", "2027-10-20"


def run(*words: object) -> int:
    return main([str(word) for word in words])


def line_of(public: Path) -> str:
    return public.read_text().splitlines()[1]


def entry(keys: Path, key: str, **more: str) -> str:
    told = {"from": "2026-01-01"} | {name.rstrip("_"): value for name, value in more.items()}
    days = "".join(f"{name} = {day}\n" for name, day in told.items())
    name = WHO[key]
    roles = json.dumps(ROLES[name])
    return f'[[signer]]\nname = "{name}"\nroles = {roles}\nkey = "{line_of(keys / f"{key}.pem.pub")}"\n{days}\n'


@pytest.fixture(scope="module")
def keys(tmp_path_factory):
    folder = tmp_path_factory.mktemp("keys")
    for key in (*WHO, "stranger"):
        make_signing_key(folder / f"{key}.pem", None)
    return folder


@pytest.fixture
def office(tmp_path, keys, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("policy.toml").write_text(f"{SURVEY}{ASKED}")
    Path("signers.toml").write_text("".join(entry(keys, key) for key in WHO))
    return tmp_path


@pytest.fixture(scope="module")
def _made(tmp_path_factory, keys):
    """A release whose policy Desk B approved, and which nobody signed."""
    folder = tmp_path_factory.mktemp("made")
    (folder / "policy.toml").write_text(f"{SURVEY}{ASKED}")
    (folder / "signers.toml").write_text("".join(entry(keys, key) for key in WHO))
    assert run("sign", folder / "policy.toml", "--key", keys / "desk-b.pem") == 0
    rrpolicy.release(folder / "policy.toml", folder / "bundle")
    return folder / "bundle"


@pytest.fixture
def bundle(_made, office):
    return Path(shutil.copytree(_made, office / "bundle"))


def signed(bundle: Path, keys: Path, *names: str) -> None:
    for name in names:
        assert run("sign", bundle, "--key", keys / f"{name}.pem") == 0


# --- approvals ------------------------------------------------------------------------------------------------------


def refused(capsys, says: str) -> None:
    capsys.readouterr()
    assert run("release", "policy.toml", "--out", "bundle") == 4
    told = capsys.readouterr().err
    assert "RR417" in told
    assert says in " ".join(told.split()), told
    assert not Path("bundle").exists()


def test_nothing_is_released_until_the_policy_is_approved_as_it_stands(office, keys, capsys):
    refused(capsys, "is not approved: there is no policy.approval.dsse.json")
    assert run("sign", "policy.toml", "--key", keys / "desk-b.pem") == 0
    assert "next: commit policy.approval.dsse.json" in capsys.readouterr().out
    approved = Path("policy.toml").read_text()

    for before, after in (("epsilon = 2", "epsilon = 1"), ('owner = "', 'owner = "another ')):
        assert before in approved
        Path("policy.toml").write_text(approved.replace(before, after))
        refused(capsys, "is not what was approved")
    Path("policy.toml").write_text(approved + "[context]\nreview_by = 2030-01-01\n")
    refused(capsys, "is not what was approved")

    Path("policy.toml").write_text("# a comment changes nothing\n" + approved)
    assert run("release", "policy.toml", "--out", "bundle") == 0
    assert Path("bundle/attestations/approval.dsse.json").is_file()
    manifest = json.loads(Path("bundle/public/release.json").read_text())
    assert (manifest["require_roles"], manifest["require_approval"]) == (["steward", "approver"], ["approver"])


def test_an_approval_counts_only_of_whom_the_file_allows(office, keys, capsys):
    assert run("sign", "policy.toml", "--key", keys / "stranger.pem") == 0
    refused(capsys, "is not among the allowed signers")
    assert run("sign", "policy.toml", "--key", keys / "desk-c.pem") == 0
    refused(capsys, "nobody signed as approver")
    assert run("sign", "policy.toml", "--key", keys / "stranger.pem") == 4
    assert "has approved policy.toml already" in capsys.readouterr().err
    assert run("sign", "policy.toml", "--key", keys / "desk-b.pem") == 0
    assert "in addition to 2 before it" in capsys.readouterr().out
    Path("signers.toml").write_text(entry(keys, "desk-b", revoked="2026-06-01"))
    refused(capsys, "the key of Desk B was revoked on 2026-06-01")
    Path("signers.toml").write_text(entry(keys, "desk-b", until="2026-06-01"))
    refused(capsys, "the key of Desk B was trusted until 2026-06-01")
    Path("signers.toml").write_text(entry(keys, "desk-b", from_="2999-06-01"))
    refused(capsys, "the key of Desk B is trusted from 2999-06-01")


def test_an_approval_of_an_earlier_policy_is_replaced_by_one_of_the_new(office, keys):
    assert run("sign", "policy.toml", "--key", keys / "desk-b.pem") == 0
    Path("policy.toml").write_text(Path("policy.toml").read_text().replace("epsilon = 2", "epsilon = 3"))
    assert run("sign", "policy.toml", "--key", keys / "desk-b.pem") == 0
    assert len(json.loads(Path("policy.approval.dsse.json").read_text())["signatures"]) == 1
    assert run("release", "policy.toml", "--out", "bundle") == 0


@pytest.mark.parametrize("content", ["{}", "no json", None])
def test_an_approval_that_is_none_is_refused_even_if_none_is_asked_for(office, keys, capsys, bundle, content):
    Path("policy.toml").write_text(SURVEY)
    if content is None:
        signed(bundle, keys, "desk-a")
        content = Path("bundle/attestations/release.dsse.json").read_text()
    shutil.rmtree(bundle)
    Path("policy.approval.dsse.json").write_text(content)
    refused(capsys, "")
    assert run("sign", "policy.toml", "--key", keys / "desk-b.pem") == 4
    assert "RR431" in capsys.readouterr().err


def test_an_approval_counts_without_a_file_of_signers_by_its_digests_alone(office, keys, capsys):
    Path("policy.toml").write_text(SURVEY)
    assert run("sign", "policy.toml", "--key", keys / "stranger.pem") == 0
    Path("policy.toml").write_text(SURVEY.replace("epsilon = 2", "epsilon = 5"))
    refused(capsys, "is not what was approved")
    Path("policy.toml").write_text(SURVEY)
    assert run("release", "policy.toml", "--out", "bundle") == 0


def test_a_policy_that_asks_for_an_approval_names_the_file_of_signers(office, capsys):
    Path("policy.toml").write_text(SURVEY + 'require_approval = ["approver"]\n')
    assert run("check", "policy.toml") == 2
    assert "the key 'signers' is missing in [release]" in capsys.readouterr().err


def test_where_matrices_are_withheld_the_approval_stays_with_the_policy(office, keys):
    Path("policy.toml").write_text(f'{SURVEY}{ASKED}decoders = "withheld"\n')
    assert run("sign", "policy.toml", "--key", keys / "desk-b.pem") == 0
    assert run("release", "policy.toml", "--out", "bundle") == 0
    assert not Path("bundle/attestations").exists()
    signed(Path("bundle"), keys, "desk-a", "desk-b")
    assert run("verify", "bundle", "--signers", "signers.toml") == 0


# --- roles ----------------------------------------------------------------------------------------------------------


def verified(capsys, *more: object) -> str:
    capsys.readouterr()
    status = run("verify", "bundle", *more)
    told = capsys.readouterr()
    return f"{status} {' '.join((told.out + told.err).split())}"


def test_each_role_is_another_persons(bundle, keys, capsys):
    allowed = ("--signers", "signers.toml")
    assert "the release must be signed as steward and approver" in verified(capsys)
    assert verified(capsys, *allowed).startswith("1 ")
    signed(bundle, keys, "desk-a")
    assert "nobody signed as approver" in verified(capsys, *allowed)
    signed(bundle, keys, "desk-a-2")  # two keys of one person are one person
    assert verified(capsys, *allowed).startswith("1 ")
    signed(bundle, keys, "stranger")
    assert "is not among the allowed signers" in verified(capsys, *allowed)
    signed(bundle, keys, "desk-b")
    told = verified(capsys, *allowed)
    assert told.startswith("0 "), told
    assert "the release is signed by Desk B, as approver" in told


def test_with_a_file_of_signers_one_of_them_must_have_signed_whatever_the_release_asks_for(office, keys, capsys):
    """Who takes the roles out of a release, and the signatures away, is found out."""
    Path("plain.toml").write_text(SURVEY)
    rrpolicy.release("plain.toml", "bundle")
    assert verified(capsys).startswith("0 ")
    told = verified(capsys, "--signers", "signers.toml")
    assert told.startswith("1 ")
    assert "the release is signed by nobody whose signature counts" in told
    signed(Path("bundle"), keys, "stranger")
    assert "is not among the allowed signers" in verified(capsys, "--signers", "signers.toml")
    assert verified(capsys, "--signers", "signers.toml", "--unsigned").startswith("0 ")
    signed(Path("bundle"), keys, "desk-c")
    assert verified(capsys, "--signers", "signers.toml").startswith("0 ")


def test_the_file_of_signers_requires_roles_that_a_release_cannot_give_up(office, keys, capsys):
    """One allowed signer takes the required roles out of the policy, releases, and signs alone."""
    Path("policy.toml").write_text(SURVEY)
    rrpolicy.release("policy.toml", "bundle")
    signed(Path("bundle"), keys, "desk-c")
    assert run("verify", "bundle", "--signers", "signers.toml", "--as-of", JANUARY) == 0
    required = 'require_roles = ["steward", "approver"]\n'
    Path("signers.toml").write_text(required + Path("signers.toml").read_text())
    capsys.readouterr()
    assert run("verify", "bundle", "--signers", "signers.toml", "--as-of", JANUARY) == 1
    assert "nobody signed as approver" in " ".join(capsys.readouterr().out.split())
    signed(Path("bundle"), keys, "desk-b")
    assert run("verify", "bundle", "--signers", "signers.toml", "--as-of", JANUARY) == 0


def test_a_rotated_and_a_stolen_key_are_trusted_as_of_the_days_that_the_file_says(bundle, keys, capsys):
    signed(bundle, keys, "desk-a", "desk-b")
    Path("signers.toml").write_text(
        entry(keys, "desk-a", until="2027-06-30") + entry(keys, "desk-a-2", from_="2027-07-01")
        + entry(keys, "desk-b", revoked="2027-09-01")
    )  # fmt: skip
    allowed = ("--signers", "signers.toml", "--as-of")
    assert verified(capsys, *allowed, JANUARY).startswith("0 ")
    assert "the key of Desk A was trusted until 2027-06-30" in verified(capsys, *allowed, JULY)
    assert "the key of Desk B was revoked on 2027-09-01" in verified(capsys, *allowed, AUTUMN)
    found = rrpolicy.verify("bundle", signers="signers.toml", as_of=date.fromisoformat(AUTUMN))
    assert not found.passed


def test_an_approval_of_something_else_beside_a_release_is_found(bundle, keys, capsys):
    signed(bundle, keys, "desk-a", "desk-b")
    approval = bundle / "attestations/approval.dsse.json"
    whole = approval.read_text()
    Path("policy.toml").write_text(Path("policy.toml").read_text().replace("epsilon = 2", "epsilon = 3"))
    assert run("sign", "policy.toml", "--key", keys / "desk-b.pem") == 0
    shutil.copy("policy.approval.dsse.json", approval)
    assert "is not the approval of this release's policy" in verified(capsys, "--signers", "signers.toml")
    approval.unlink()
    assert "the release is not approved as approver" in verified(capsys, "--signers", "signers.toml")
    approval.write_text(whole)
    assert verified(capsys, "--signers", "signers.toml").startswith("0 ")


def test_evidence_and_attacks_of_an_approved_release(bundle, keys, capsys):
    assert run("attack", bundle, "--source", "demo:survey", "--write") == 0  # an approval is no signature of audit/
    assert run("report", "evidence", bundle, "--for", "iso27559") == 1
    signed(bundle, keys, "desk-a", "desk-b")
    assert run("report", "evidence", bundle, "--for", "iso27559", "--signers", "signers.toml") == 0
    assert run("report", bundle, "--page", "audit", "--out", "page.html") == 0
    assert "Policy approved" in Path("page.html").read_text()


def test_an_auditor_vouches_for_the_level_that_is_asked_for(bundle, keys, capsys):
    signed(bundle, keys, "desk-a", "desk-b")
    public, allowed = keys / "desk-c.pem.pub", ("--signers", "signers.toml")
    assert run("verify", bundle, *allowed, "--level", "audit", "--sign-with", keys / "desk-c.pem") == 0
    assert verified(capsys, *allowed, "--verified-by", f"{public}=audit").startswith("0 ")
    told = verified(capsys, *allowed, "--verified-by", f"{public}=source")
    assert told.startswith("1 ")
    assert "is signed by the key desk-c.pem.pub" in told
    assert "to the level source" in told
    assert verified(capsys, *allowed, "--verified-by", f"{public}=moon").startswith("2 RR250")


def brute(roles: tuple[str, ...], people: dict[str, tuple[str, ...]]) -> bool:
    """Return whether the roles can be given to different people, by trying every order of them."""
    return any(
        all(role in people[name] for role, name in zip(roles, order, strict=True))
        for order in permutations(people, len(roles))
    )


@settings(max_examples=200, deadline=None)
@given(
    st.lists(st.sampled_from("abc"), max_size=3).map(lambda r: tuple(dict.fromkeys(r))),
    st.dictionaries(st.sampled_from(["P", "Q", "R", "S"]), st.sets(st.sampled_from("abc")).map(lambda s: tuple(sorted(s)))),
)  # fmt: skip
def test_roles_are_filled_if_and_only_if_different_people_can_fill_them(roles, people):
    assert (not SignerCheck(people, (), ()).lacking(roles)) is brute(roles, people)


# --- the file of signers --------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("change", "code", "says"),
    [
        (lambda t: t.replace('name = "Desk A"', 'nome = "Desk A"', 1), "RR20", "nome"),
        (lambda t: t.replace("2026-01-01", '"January"', 1), "RR20", "from"),
        (lambda t: t.replace('key = "MC', 'key = "NC', 1), "RR250", "not a public Ed25519 key"),
        (lambda t: t.replace('key = "MC', 'key = "?C', 1), "RR250", "not a public Ed25519 key"),
        (lambda t: t.replace('name = "Desk A"', 'name = "Desk E"', 1) + t, "RR203", "have one key"),
        (lambda t: 'require_roles = ["steward", "chief"]\n' + t, "RR203", "no signer has the role 'chief'"),
        (lambda t: "", "RR209", "empty"),
    ],
)
def test_what_is_wrong_with_the_file_of_signers_has_its_line(office, change, code, says):
    text = Path("signers.toml").read_text()
    Path("signers.toml").write_text(change(text))
    with pytest.raises(rrpolicy.PolicyError, match=code) as caught:
        read_signers(Path("signers.toml"), date(2027, 1, 1))
    assert says in str(caught.value)
    assert all(problem.place is not None for problem in caught.value.problems)


def test_keys_new_prints_the_line_for_the_file_of_signers(office, capsys):
    assert run("keys", "new", "new.pem", "--no-passphrase") == 0
    assert f'key = "{line_of(Path("new.pem.pub"))}"' in capsys.readouterr().out


# --- recalls --------------------------------------------------------------------------------------------------------


def test_a_notice_of_recall_is_heeded_by_verify_and_by_estimates(bundle, keys, capsys):
    signed(bundle, keys, "desk-a", "desk-b")
    allowed = ("--signers", "signers.toml")
    assert run("sign", bundle, "--key", keys / "desk-a.pem", "--recall", " ") == 2
    assert run("sign", bundle, "--key", keys / "desk-a.pem", "--recall", "two columns were exchanged") == 0
    assert run("sign", bundle, "--key", keys / "desk-b.pem", "--recall", "again") == 4
    told = verified(capsys, *allowed)
    assert told.startswith("1 ")
    assert "RR133" in told
    assert "the release was recalled: two columns were exchanged" in told
    for where in (bundle, bundle / "public"):
        assert run("estimate", where, "--by", "sex") == 1
        said = capsys.readouterr().err
        assert "RR133" in said
        assert "two columns were exchanged" in said
    assert run("estimate", bundle, "--by", "sex", "--no-verify") == 0

    notice = bundle / "attestations/recall.dsse.json"
    whole = notice.read_text()
    notice.write_text("{")
    assert run("estimate", bundle, "--by", "sex") == 1
    (bundle / "public/release.json").chmod(0o644)
    notice.write_text(whole)


def test_a_notice_of_another_release_recalls_nothing_and_does_not_belong(bundle, office, keys, capsys):
    signed(bundle, keys, "desk-a", "desk-b")
    other = Path("other")
    Path("plain.toml").write_text(SURVEY)
    rrpolicy.release("plain.toml", other)
    assert run("sign", other, "--key", keys / "desk-a.pem", "--recall", "wrong table") == 0
    shutil.copy(other / "attestations/recall.dsse.json", bundle / "attestations/recall.dsse.json")
    assert run("estimate", bundle, "--by", "sex") == 0
    assert "is not a notice of this release" in verified(capsys, "--signers", "signers.toml")
    shutil.copy(bundle / "attestations/release.dsse.json", bundle / "attestations/recall.dsse.json")
    assert run("estimate", bundle, "--by", "sex") == 0
