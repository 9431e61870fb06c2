"""The ledger's file through the command line: what was changed, moved, taken out or cut off is found; hostile files end closed."""

from __future__ import annotations

import itertools
import json
import multiprocessing
import os
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from rrpolicy.canonical_json import canonical
from rrpolicy.cli.main import main
from rrpolicy.errors import RefusedError
from rrpolicy.governance.ledger.chain import MAX_LINE_BYTES, read_chain
from rrpolicy.governance.ledger.entry import (
    HistoryJoin,
    LedgerBudgetEntry,
    RecallEntry,
    ReleaseEntry,
    ReleaseSettlement,
    entry_hash,
)
from rrpolicy.governance.ledger.ledger_file import init_ledger, lock_ledger, read_ledger


def release(previous: str, label: str = "a") -> ReleaseEntry:
    data = {"data": entry_hash(label.encode())}
    return ReleaseEntry(previous, label, None, "P", "1.0.0", "sha256:0", None, "any", 3, 1, {}, {}, data, (), ())


@pytest.fixture
def ledger(tmp_path: Path) -> Path:
    """Return a ledger of three releases, the first of them settled."""
    path = tmp_path / "releases.jsonl"
    assert main(["ledger", "init", str(path)]) == 0
    for label in "abc":
        add(path, label)
    with lock_ledger(path) as book:
        book.append(ReleaseSettlement(book.ledger.head, next(iter(book.ledger.releases)), "released", "sha256:1"))
    return path


def add(path: Path, label: str) -> None:
    with lock_ledger(path) as book:
        book.append(release(book.ledger.head, label))


def lines(path: Path) -> list[bytes]:
    return path.read_bytes().splitlines(keepends=True)


def verified(path: Path, capsys: pytest.CaptureFixture[str], *options: str) -> tuple[int, str]:
    status = main(["ledger", "verify", str(path), *options])
    told = capsys.readouterr()
    return status, told.out + told.err


def test_a_whole_ledger_is_verified_and_what_is_open_is_shown(ledger, capsys):
    status, told = verified(ledger, capsys)

    assert status == 0
    assert "the chain is intact: 5 entries, 3 releases" in told
    assert told.count("open: P 1.0.0 as ") == 2
    capsys.readouterr()
    assert main(["ledger", "verify", str(ledger), "--json"]) == 0
    document = json.loads(capsys.readouterr().out)
    assert document["schema"] == "rrpolicy.ledger-verification/1"
    assert document["head"] == entry_hash(lines(ledger)[-1].rstrip(b"\n"))


def test_a_ledger_is_never_begun_over_another_file(ledger, capsys):
    before = ledger.read_bytes()
    assert main(["ledger", "init", str(ledger)]) == 4
    assert "RR411" in capsys.readouterr().err
    assert ledger.read_bytes() == before


def test_two_ledgers_have_no_hash_in_common(tmp_path):
    assert init_ledger(tmp_path / "a") != init_ledger(tmp_path / "b")


def test_every_order_but_the_right_one_and_every_line_left_out_is_found(ledger, capsys):
    whole = lines(ledger)
    for order in itertools.permutations(range(len(whole))):
        if order != tuple(range(len(whole))):
            ledger.write_bytes(b"".join(whole[i] for i in order))
            assert verified(ledger, capsys)[0] == 4, order
    for left_out in range(len(whole) - 1):
        ledger.write_bytes(b"".join(whole[:left_out] + whole[left_out + 1 :]))
        assert verified(ledger, capsys)[0] == 4, left_out
    for twice in range(len(whole)):
        ledger.write_bytes(b"".join([*whole[: twice + 1], *whole[twice:]]))
        assert verified(ledger, capsys)[0] == 4, twice


def test_every_changed_byte_is_found_or_changes_the_head(ledger):
    content = ledger.read_bytes()
    head = read_chain(content, "x").head
    for place in range(0, len(content), 3):
        changed = bytearray(content)
        changed[place] ^= 1
        assert heads_of(bytes(changed)) != (head,)


def heads_of(content: bytes) -> tuple[str, ...]:
    """Return the heads of a ledger; none if it is refused."""
    try:
        return read_chain(content, "x").heads
    except RefusedError:
        return ()


def test_what_is_cut_off_is_found_against_a_head_that_was_seen(ledger, capsys):
    whole = lines(ledger)
    head = entry_hash(whole[-1].rstrip(b"\n"))
    assert verified(ledger, capsys, "--expect-head", head)[0] == 0
    add(ledger, "later")
    assert verified(ledger, capsys, "--expect-head", head)[0] == 0

    ledger.write_bytes(b"".join(whole[:-1]))
    assert verified(ledger, capsys)[0] == 0
    status, told = verified(ledger, capsys, "--expect-head", head)
    assert status == 4
    assert "RR440" in told
    assert "cut off or put back" in told


@pytest.mark.parametrize("cut", [1, 2, 40])
def test_a_last_line_that_was_cut_off_is_found(ledger, capsys, cut):
    ledger.write_bytes(ledger.read_bytes()[:-cut])
    assert verified(ledger, capsys)[0] == 4


def test_two_branches_that_followed_the_same_entry_are_found_and_can_be_joined(ledger, capsys):
    whole = ledger.read_bytes()
    add(ledger, "left")
    left = lines(ledger)[-1]
    ledger.write_bytes(whole)
    add(ledger, "right")
    right = lines(ledger)[-1]
    heads = [entry_hash(line.rstrip(b"\n")) for line in (left, right)]

    ledger.write_bytes(whole + b"<<<<<<< HEAD\n" + left + b"=======\n" + right + b">>>>>>> other\n")
    status, told = verified(ledger, capsys)
    assert status == 4
    assert "a mark of a merge" in told

    for sides in ((left, right), (right, left)):
        ledger.write_bytes(whole + b"".join(sides))
        status, told = verified(ledger, capsys)
        assert status == 4
        assert "two writers followed the same entry" in told
        with lock_ledger(ledger) as book:
            assert set(book.ledger.heads) == set(heads)
            first, *others = book.ledger.heads
            book.append(HistoryJoin(first, tuple(others), "merged two branches"))
        assert verified(ledger, capsys)[0] == 0
        assert {e.label for e in read_ledger(ledger).releases.values()} == {*"abc", "left", "right"}


def entered(path: str, label: str) -> None:
    for i in range(10):
        add(Path(path), f"{label}{i}")


def test_writers_at_the_same_time_wait_for_each_other(ledger):
    context = multiprocessing.get_context("fork")
    writers = [context.Process(target=entered, args=(str(ledger), f"w{n}-")) for n in range(4)]
    for writer in writers:
        writer.start()
    for writer in writers:
        writer.join()
        assert writer.exitcode == 0

    found = read_ledger(ledger)
    assert len(found.heads) == 1
    assert len(found.releases) == 43
    assert [p.name for p in ledger.parent.iterdir()] == [ledger.name]


def test_a_release_that_was_withdrawn_counts_no_more_and_one_that_appeared_is_not_withdrawn(ledger):
    appeared, second, _ = read_ledger(ledger).releases
    with lock_ledger(ledger) as book:
        book.append(ReleaseSettlement(book.ledger.head, second, "withdrawn", None, "never left the office"))
    assert second not in read_ledger(ledger).releases
    before = ledger.read_bytes()
    with lock_ledger(ledger) as book, pytest.raises(RefusedError, match="withdraws a release whose bundle appeared"):
        book.append(ReleaseSettlement(book.ledger.head, appeared, "withdrawn", None, "no"))
    assert ledger.read_bytes() == before


@pytest.mark.parametrize(
    "edited",
    [
        {"outcome": "withdrawn"},
        {"outcome": "withdrawn", "release": None},
        {"outcome": "withdrawn", "release": None, "reason": " "},
        {"release": None},
        {"reason": "because"},
    ],
)
def test_a_last_line_that_withdraws_without_a_reason_is_found(ledger, capsys, edited):
    *before, last = lines(ledger)
    ledger.write_bytes(b"".join(before) + canonical({**json.loads(last), **edited}) + b"\n")

    status, told = verified(ledger, capsys)
    assert (status, "RR440" in told, "line 5 is not an entry" in told) == (4, True, True)


def test_a_last_line_that_was_edited_with_care_is_missed_by_its_head(ledger, capsys):
    head = read_ledger(ledger).head
    *before, last = lines(ledger)
    forged = {**json.loads(last), "outcome": "withdrawn", "release": None, "reason": "it never left the office"}
    ledger.write_bytes(b"".join(before) + canonical(forged) + b"\n")

    status, told = verified(ledger, capsys, "--expect-head", head)
    assert (status, "RR440" in told) == (4, True)


def test_withdrawing_needs_a_reason(ledger, capsys):
    entry = next(iter(read_ledger(ledger).open))
    before = ledger.read_bytes()

    assert main(["ledger", "add", str(ledger), "--withdraw", entry, "--reason", " "]) == 2
    assert "RR250 the reason is empty" in capsys.readouterr().err
    assert ledger.read_bytes() == before


def hostile(name: str, whole: list[bytes]) -> bytes:
    first, second = whole[0], json.loads(whole[1])
    end: dict[str, Any] = {
        "deep": b'{"kind":' + b"[" * 5000 + b"]" * 5000 + b"}\n",
        "nul": b"\0" * 100 + b"\n",
        "twice": whole[1].replace(b'{"', b'{"kind":"release","', 1),
        "number": whole[1].replace(b'"records":3', b'"records":1e999'),
        "huge number": whole[1].replace(b'"records":3', b'"records":' + b"9" * 5000),
        "bool": whole[1].replace(b'"records":3', b'"records":true'),
        "spaces": json.dumps(second).encode() + b"\n",
        "unknown field": canonical({**second, "person": "a"}) + b"\n",
        "unknown kind": canonical({**second, "kind": "other"}) + b"\n",
        "unknown schema": canonical({**second, "schema": "rrpolicy.ledger/9"}) + b"\n",
        "not utf-8": b'{"kind":"\xff"}\n',
        "array": b"[]\n",
        "empty line": b"\n",
        "long": b'{"kind":"' + b"x" * MAX_LINE_BYTES + b'"}\n',
        "carriage": whole[1].replace(b"\n", b"\r\n"),
        "surrogate": whole[1].replace(b'"label":"a"', rb'"label":"\ud800"'),
    }
    return first + end[name] if name in end else {"empty": b"", "no first": b"".join(whole[1:])}[name]


HOSTILE = """deep,nul,twice,number,huge number,bool,spaces,unknown field,unknown kind,unknown schema,not utf-8,array,
empty line,long,carriage,surrogate,empty,no first""".replace("\n", "").split(",")


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_ledger_ends_closed(ledger, capsys, name):
    ledger.write_bytes(hostile(name, lines(ledger)))
    status, told = verified(ledger, capsys)
    assert status == 4
    assert "RR440" in told
    assert len(told) < 2000


def test_what_is_no_file_of_its_own_is_refused(ledger, tmp_path, capsys):
    link, pipe, folder = tmp_path / "link", tmp_path / "pipe", tmp_path / "folder"
    link.symlink_to(ledger)
    os.mkfifo(pipe)
    folder.mkdir()
    for path in (link, pipe, folder):
        status, told = verified(path, capsys)
        assert (status, "RR440" in told) == (4, True), path
    status, told = verified(tmp_path / "missing", capsys)
    assert (status, "RR443" in told) == (4, True)
    with pytest.raises(RefusedError, match="RR440"), lock_ledger(link):
        pass


def test_a_full_disk_leaves_the_ledger_as_it_was(ledger, monkeypatch):
    before = ledger.read_bytes()

    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with lock_ledger(ledger) as book, pytest.raises(RefusedError, match="RR408"):
        book.append(release(book.ledger.head, "d"))
    assert ledger.read_bytes() == before
    assert [p.name for p in ledger.parent.iterdir()] == [ledger.name]


def test_the_file_keeps_its_mode(ledger):
    ledger.chmod(0o640)
    add(ledger, "d")
    assert ledger.stat().st_mode & 0o777 == 0o640


def test_an_entry_that_joins_one_entry_with_itself_is_refused(ledger):
    before = ledger.read_bytes()
    with lock_ledger(ledger) as book, pytest.raises(RefusedError, match="joins an entry with itself"):
        book.append(HistoryJoin(book.ledger.head, (book.ledger.head,), "a test"))
    assert ledger.read_bytes() == before


@pytest.mark.parametrize(
    ("entry", "expected"),
    [
        (lambda head, own: LedgerBudgetEntry(head, None, (), "2026-01-01"), "a budget requires something"),
        (lambda head, own: RecallEntry(head, own, " ", "board", "2026-01-01"), "a recall has a reason"),
    ],
)
def test_an_entry_without_content_is_not_made(ledger, entry, expected):
    found = read_ledger(ledger)
    with pytest.raises(ValueError, match=expected):
        entry(found.head, next(iter(found.releases)))


def test_a_failed_replacement_leaves_the_ledger_as_it_was_and_locked_by_nobody(ledger, monkeypatch):
    before = ledger.read_bytes()

    def denied(path: Path, target: Path) -> None:
        raise OSError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(Path, "replace", denied)
        with lock_ledger(ledger) as book, pytest.raises(RefusedError, match="RR407"):
            book.append(release(book.ledger.head, "d"))
    assert ledger.read_bytes() == before
    add(ledger, "d")
    assert len(read_ledger(ledger).releases) == 4


def test_who_waits_for_a_ledger_says_so_and_follows_the_other(ledger, caplog):
    with lock_ledger(ledger) as book:
        waiting = threading.Thread(target=add, args=(ledger, "e"))
        waiting.start()
        while "waiting for another release" not in caplog.text:
            time.sleep(0.01)
        book.append(release(book.ledger.head, "d"))
    waiting.join()
    assert [entry.label for entry in read_ledger(ledger).releases.values()] == list("abcde")
