"""A year of an office with a git server, as a script: each step of the honest year passes, each attack is refused.

Two clones, a bare repository, three signers, a rotated and a stolen key, a cut ledger, a renamed policy, a recalled
release, and an audit from the archive alone. Everything goes through the command line.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

from rrpolicy.cli.main import main
from rrpolicy.governance.ledger.ledger_file import read_ledger

GIT = {"GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CONFIG_SYSTEM": "/dev/null", "HOME": "/nonexistent"}
BASELINE = """\
schema = 1
[policy]
name = "office baseline"
version = "1.0.0"
may_relax = ["accept", "other_columns"]
[context]
demands = ["recipients", "review_by"]
[[privacy]]
model = "local-dp"
epsilon = 8
[release]
signers = "signers.toml"
require_roles = ["steward", "approver"]
require_approval = ["approver"]
"""
POLICY = """\
schema = 1
[policy]
name = "{name}"
version = "1.0.0"
owner = "survey office"
purpose = "teaching"
extends = "baseline.toml"
[source]
uri = "people.csv"
population = "residents of the city"
[attributes]
person = {{ role = "identifier" }}
sex = {{ role = "quasi-identifier", domain = ["f", "m"] }}
area = {{ role = "quasi-identifier", domain = ["north", "south", "west"] }}
disease = {{ role = "sensitive", domain = ["flu", "none"] }}
[[privacy]]
model = "local-dp"
epsilon = {epsilon}
[mechanism]
name = "pram"
[ledger]
file = "releases.jsonl"
overlap = "same"
[[ledger.budget]]
model = "local-dp"
epsilon = {budget}
[context]
recipients = ["accredited researchers"]
review_by = 2027-12-31
"""
WHO = {"steward": ["steward"], "steward-2": ["steward"], "approver": ["approver"], "auditor": ["auditor"]}
PERSON = {"steward": "desk one", "steward-2": "desk one", "approver": "desk two", "auditor": "desk three"}
SPRING, SUMMER, AUTUMN = "2027-03-01", "2027-07-01", "2027-10-01"


@dataclass
class Office:
    """A server, two clones, keys that lie in neither, and what a call said last."""

    folder: Path
    capsys: pytest.CaptureFixture[str]
    patch: pytest.MonkeyPatch
    told: str = ""

    @property
    def server(self) -> Path:
        return self.folder / "server.git"

    def git(self, *words: str, at: str = "one") -> str:
        command = ["git", "-c", "user.name=office", "-c", "user.email=office@localhost", *words]
        done = subprocess.run(
            command, cwd=self.folder / at, env={**os.environ, **GIT}, check=True, capture_output=True, text=True
        )
        return done.stdout.strip()

    def run(self, *words: object, at: str = "one") -> int:
        self.patch.chdir(self.folder / at)
        self.capsys.readouterr()
        status = main([str(word) for word in words])
        said = self.capsys.readouterr()
        self.told = " ".join((said.out + said.err).split())
        return status

    def passes(self, *words: object, at: str = "one") -> None:
        assert self.run(*words, at=at) == 0, self.told

    def refuses(self, code: str, *words: object, at: str = "one") -> None:
        assert self.run(*words, at=at) in {1, 2, 4}, self.told
        assert code in self.told

    def path(self, name: str, at: str = "one") -> Path:
        return self.folder / at / name

    def pull(self, at: str = "one") -> None:
        """Bring what releases pushed into a branch, as they say."""
        self.git("checkout", "--", "releases.jsonl", at=at)
        self.git("pull", "--quiet", "--rebase", "origin", "main", at=at)

    def key(self, who: str) -> Path:
        return self.folder / f"{who}.pem"

    def committed(self, message: str, at: str = "one") -> None:
        self.git("add", "--all", at=at)
        self.git("commit", "--quiet", "--message", message, at=at)

    def signers(self, at: str = "one", **days: str) -> None:
        """Write the file of allowed signers; `days` are further lines of a key's entry."""
        parts = []
        for key, roles in WHO.items():
            public = Path(f"{self.key(key)}.pub").read_text().splitlines()[1]
            more = days.get(key.replace("-", "_"), "from = 2026-01-01")
            parts.append(f'[[signer]]\nname = "{PERSON[key]}"\nroles = {json.dumps(roles)}\nkey = "{public}"\n{more}\n')
        self.path("signers.toml", at).write_text("\n".join(parts))


@pytest.fixture
def office(tmp_path, capsys):
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {**GIT, "RRPOLICY_PASSPHRASE": "correct horse"}.items():
            patch.setenv(name, value)
        made = Office(tmp_path, capsys, patch)
        (tmp_path / "one").mkdir()
        made.git("init", "--quiet", "--bare", "--initial-branch", "main", str(made.server))
        made.git("init", "--quiet", "--initial-branch", "main")
        made.git("remote", "add", "origin", str(made.server))
        for who in (*WHO, "thief"):
            assert made.run("keys", "new", made.key(who)) == 0
        yield made


def people(path: Path) -> None:
    areas = ("north", "south", "west")
    rows = (f"p{i},{'fm'[i % 2]},{areas[i % 3]},{'flu' if i % 5 == 0 else 'none'}" for i in range(600))
    path.write_text("\n".join(["person,sex,area,disease", *rows]) + "\n")


def the_office_begins(office: Office) -> None:
    office.path("baseline.toml").write_text(BASELINE)
    office.path("wages.toml").write_text(POLICY.format(name="wages", epsilon=4, budget=6))
    office.path(".gitignore").write_text("people.csv\nrelease-*\n")
    office.signers()
    people(office.path("people.csv"))
    office.passes("check", "wages.toml", "--extends", "baseline.toml", "--today", SPRING)
    office.passes("check", "baseline.toml")  # rules alone
    office.passes("ledger", "init", "releases.jsonl", "--budget", "wages.toml")
    office.refuses("RR417", "release", "wages.toml", "--out", "release-1", "--as", "q1", "--today", SPRING)
    office.passes("sign", "wages.toml", "--key", office.key("approver"))
    office.committed("The policy, who may sign, and an empty ledger")
    office.git("push", "--quiet", "origin", "main")
    office.git("clone", "--quiet", str(office.server), str(office.folder / "two"))
    people(office.path("people.csv", "two"))


def a_weakening_is_seen_however_it_is_hidden(office: Office) -> None:
    whole = office.path("wages.toml").read_text()
    office.path("wages.toml").write_text(whole.replace("epsilon = 4", "epsilon = 5"))
    for spelled in ("wages.toml", "./wages.toml", "../one/wages.toml", office.path("wages.toml")):
        office.refuses("RR140", "diff", "--since", "origin/main", "--", spelled)
    office.refuses("RR417", "release", "wages.toml", "--out", "release-x", "--today", SPRING)  # approved was another
    office.path("wages.toml").write_text(whole)
    signers = office.path("signers.toml").read_text()
    thief = Path(f"{office.key('thief')}.pub").read_text().splitlines()[1]
    another = f'[[signer]]\nname = "desk four"\nroles = ["approver"]\nkey = "{thief}"\nfrom = 2026-01-01\n'
    office.path("signers.toml").write_text(signers + another)  # who may approve is changed by the way
    office.refuses("release.signers", "diff", "--since", "origin/main", ".")
    assert "RR140" in office.told
    office.path("signers.toml").write_text(signers)
    office.git("mv", "wages.toml", "incomes.toml")
    renamed = whole.replace('"wages"', '"incomes"').replace("epsilon = 4", "epsilon = 5")
    office.path("incomes.toml").write_text(renamed)
    office.refuses("RR140", "diff", "--since", "origin/main", ".")
    office.git("reset", "--quiet", "--hard", "origin/main")
    office.passes("diff", "--since", "origin/main", ".")


def a_release_is_entered_on_the_server_then_signed_and_verified(office: Office) -> None:
    office.passes(
        "release", "wages.toml", "--out", "release-1", "--as", "q1", "--push", "origin/main", "--today", SPRING
    )
    allowed = ("--signers", "signers.toml", "--as-of", SPRING, "--today", SPRING)
    ledger = ("--ledger", "releases.jsonl")
    office.passes("verify", "release-1", "--unsigned", *ledger, "--today", SPRING)
    office.refuses("RR136", "verify", "release-1", *allowed, *ledger)
    office.passes("sign", "release-1", "--key", office.key("steward"))
    office.passes("sign", "release-1", "--key", office.key("thief"))  # anybody can sign; it counts for nothing
    office.refuses("RR136", "verify", "release-1", *allowed)
    office.passes("sign", "release-1", "--key", office.key("approver"))
    sources = ("--source", "people.csv", *ledger, *allowed)
    office.passes("verify", "release-1", *sources, "--sign-with", office.key("auditor"))
    auditor = f"{office.key('auditor')}.pub"
    office.passes("verify", "release-1", *allowed, "--verified-by", f"{auditor}=source")
    office.refuses("RR136", "verify", "release-1", *allowed, "--verified-by", f"{auditor}=key")
    office.pull()


def the_budget_holds_whatever_is_tried(office: Office) -> None:
    again = ("release", "wages.toml", "--as", "q2", "--push", "origin/main", "--today", SPRING)
    office.refuses("RR441", *again, "--out", "release-2", at="two")  # the other clone's ledger knew nothing

    loose = POLICY.format(name="panel", epsilon=4, budget=24)
    tries = {
        "another policy": (loose, "RR441"),
        "a look-alike": (loose.replace("residents of the city", "resid\u0435nts of the city"), "RR446"),
        "a new spelling": (loose.replace("residents of the city", "Residents of the City"), "RR446"),
    }
    for text, code in tries.values():
        office.path("panel.toml").write_text(text)
        office.passes("sign", "panel.toml", "--key", office.key("approver"))
        office.refuses(code, "release", "panel.toml", "--out", "release-x", "--push", "origin/main", "--today", SPRING)

    ledger, whole = office.path("releases.jsonl"), office.path("releases.jsonl").read_bytes()
    ledger.write_bytes(b"".join(whole.splitlines(keepends=True)[:2]))  # cut, in a pull request
    office.refuses("RR440", "ledger", "verify", "releases.jsonl", "--since", "origin/main")
    office.refuses("RR440", "diff", "--since", "origin/main", ".")
    office.refuses("RR441", *again, "--out", "release-x")  # and the server's ledger is the one that counts
    ledger.write_bytes(whole)

    office.path("panel.toml").write_text(loose)
    office.refuses("RR250", "ledger", "add", "releases.jsonl", "--budget", "panel.toml", "--reason", "more")
    why = ("--reason", "the board accepts epsilon 24", "--by", "review board")
    office.passes("ledger", "add", "releases.jsonl", "--budget", "panel.toml", *why)
    office.passes("sign", "panel.toml", "--key", office.key("approver"))
    office.committed("The board raised the budget")
    office.git("push", "--quiet", "origin", "HEAD:main")
    office.passes(
        "release", "panel.toml", "--out", "release-2", "--as", "q2", "--push", "origin/main", "--today", SPRING
    )
    office.passes("ledger", "show", "releases.jsonl")
    assert "review board: the board accepts epsilon 24" in office.told
    office.passes("ledger", "verify", "releases.jsonl", "--bundle", "release-1", "--bundle", "release-2")


def two_clones_race_and_one_of_them_is_told(office: Office) -> None:
    office.pull(at="two")
    from rrpolicy.governance.ledger.ledger_file import LedgerBranch

    fetch, raced = LedgerBranch.fetch, list[int | None]()
    words = ("release", "panel.toml", "--push", "origin/main", "--today", SPRING)

    def between(self: LedgerBranch) -> bytes:
        content = fetch(self)
        if not raced:
            raced.append(None)
            raced[0] = office.run(*words, "--out", "release-race", "--as", "race", at="two")
            office.patch.chdir(office.folder / "one")
        return content

    office.patch.setattr(LedgerBranch, "fetch", between)
    office.refuses("RR449", *words, "--out", "release-3", "--as", "q3")
    office.patch.setattr(LedgerBranch, "fetch", fetch)
    assert raced == [0]
    assert not office.path("release-3").exists()
    office.refuses("RR447", *words, "--out", "release-3", "--as", "race")
    office.passes(*words, "--out", "release-3", "--as", "q3")
    assert len(read_ledger(office.path("releases.jsonl")).releases) == 4


def a_key_is_rotated_and_one_is_stolen(office: Office) -> None:
    office.signers(
        steward="from = 2026-01-01\nuntil = 2027-06-30", steward_2="from = 2027-07-01",
        approver="from = 2026-01-01\nrevoked = 2027-09-01",
    )  # fmt: skip
    as_of = ("--signers", "signers.toml", "--today", SPRING, "--as-of")
    office.passes("verify", "release-1", *as_of, SPRING)
    office.refuses("was trusted until 2027-06-30", "verify", "release-1", *as_of, SUMMER)
    office.refuses("was revoked on 2027-09-01", "verify", "release-1", *as_of, AUTUMN)
    thief = ("release", "panel.toml", "--out", "release-x", "--push", "origin/main", "--today", AUTUMN)
    office.refuses("RR417", *thief)  # what the stolen key approved counts no more
    for who in ("steward-2", "approver"):
        office.passes("sign", "release-2", "--key", office.key(who))
    office.passes("verify", "release-2", *as_of, SUMMER)


def a_release_is_recalled_and_corrected(office: Office) -> None:
    office.git("checkout", "--", "signers.toml")
    office.pull()
    (entry, *_) = read_ledger(office.path("releases.jsonl")).releases
    office.passes("sign", "release-1", "--key", office.key("steward"), "--recall", "two areas were exchanged")
    why = ("--reason", "two areas were exchanged", "--by", "data steward")
    office.passes("ledger", "add", "releases.jsonl", "--recall", entry, *why)
    shutil.copytree(office.path("release-1"), office.path("for-an-analyst"))
    shutil.rmtree(office.path("for-an-analyst/audit"))
    office.refuses("RR133", "estimate", "for-an-analyst", "--by", "disease")
    office.refuses("RR133", "estimate", "for-an-analyst/public", "--by", "disease")
    shutil.rmtree(office.path("for-an-analyst"))
    office.refuses("RR133", "verify", "release-1", "--signers", "signers.toml", "--as-of", SPRING)
    office.committed("The first release is recalled")
    office.git("push", "--quiet", "origin", "HEAD:main")
    corrected = ("release", "panel.toml", "--out", "release-4", "--as", "q2b", "--replaces", "release-2")
    office.passes(*corrected, "--push", "origin/main", "--today", SPRING)
    unsigned = ("--unsigned", "--ledger", "releases.jsonl", "--today", SPRING)
    office.refuses("RR133", "verify", "release-2", *unsigned)
    office.passes("verify", "release-4", *unsigned)


def the_board_looks_once_a_quarter(office: Office) -> None:
    office.path("kept").mkdir()
    for name in ("release-1", "release-3", "release-4"):
        shutil.move(office.path(name), office.path("kept") / name)
    assert office.run("ledger", "inventory", ".", "--bundles", "kept", "--json", "--today", AUTUMN) == 1
    found = json.loads(office.told)
    states = {one["label"]: one["state"] for one in found["releases"]}
    assert states == {"q1": "recalled", "q2": "replaced", "race": "in use", "q3": "in use", "q2b": "in use"}
    decide = [what for one in found["releases"] for what in one["decide"]]
    assert any("its bundle is still at" in what for what in decide)
    assert sum("nobody has signed it" in what for what in decide) == 2
    assert office.run("ledger", "inventory", ".", "--bundles", "kept", "--out", "board.html", "--today", AUTUMN) == 1
    assert "Recalled" in office.path("board.html").read_text() or "recalled" in office.path("board.html").read_text()


def an_audit_from_the_archive_alone(office: Office) -> None:
    bundle = "kept/release-3"
    for who in ("steward", "approver"):
        office.passes("sign", bundle, "--key", office.key(who))
    kept = ("--ledger", "releases.jsonl", "--signers", "signers.toml")
    office.passes("export", "archive", bundle, "--out", "../q3.zip", *kept)
    signers = office.path("signers.toml").read_text()
    for clone in ("one", "two"):
        shutil.rmtree(office.folder / clone)
    shutil.rmtree(office.server)
    (office.folder / "later").mkdir()
    office.path("signers.toml", "later").write_text(signers)  # the auditor's own copy
    allowed = ("--signers", "signers.toml", "--as-of", SPRING)
    office.passes("verify", "../q3.zip", *allowed, at="later")
    assert "the released rows: they are not at hand" in office.told
    assert "is signed by desk two, as approver" in office.told
    office.passes("ledger", "verify", str(unpacked(office) / "ledger.jsonl"), at="later")


def unpacked(office: Office) -> Path:
    folder = office.folder / "unpacked"
    shutil.unpack_archive(office.folder / "q3.zip", folder)
    return folder


@pytest.mark.slow
def test_a_year_with_a_server_three_signers_and_everybody_who_cheats(office):
    the_office_begins(office)
    a_weakening_is_seen_however_it_is_hidden(office)
    a_release_is_entered_on_the_server_then_signed_and_verified(office)
    the_budget_holds_whatever_is_tried(office)
    two_clones_race_and_one_of_them_is_told(office)
    a_key_is_rotated_and_one_is_stolen(office)
    a_release_is_recalled_and_corrected(office)
    the_board_looks_once_a_quarter(office)
    an_audit_from_the_archive_alone(office)
