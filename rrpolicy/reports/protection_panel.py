"""Success of an attacker without a release and with it, in words shared by the plan, the pages and compare."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import TYPE_CHECKING, Literal

from rrpolicy.escaping.printable import shortened_names
from rrpolicy.finding import Standing
from rrpolicy.numbers import figure, one_in, out_of_hundred, percent
from rrpolicy.privacy.protection.grade import CHANCE, ProtectionGrade
from rrpolicy.report import ProtectionPanel, RiskRow
from rrpolicy.wording import sentence, standing_words

if TYPE_CHECKING:
    from rrpolicy.finding import Finding as Requirement
    from rrpolicy.finding import Measure
    from rrpolicy.mechanism import Remark
    from rrpolicy.privacy.protection.result import ColumnInference, InferenceLevel, RecordLinkage, ReleaseProtection

RECORD_LINKING = "Finding a person's record"


def protection_panel(
    found: ReleaseProtection | None, findings: Iterable[Requirement] = (), remarks: Iterable[Remark] = ()
) -> ProtectionPanel | None:
    """Return the protection of a release for pages; None if not assessed."""
    if found is None:
        return None
    rows = tuple(_reading_row(ladder, found.linking) for ladder in found.ladders)
    if found.linking is not None:
        rows += (_linking_row(found.linking),)
    vacuous, assumed = has_no_limit(findings, remarks), _linking_assumption_note(found)
    heading = " ".join([f"Protection: {found.grade.value}.", *_weaker_grade_notes(found, vacuous), *assumed])
    tone = _panel_tone(found, vacuous, bool(assumed))
    return ProtectionPanel(found.grade.value, tone, heading, sentence(found.rule), rows)


def _panel_tone(found: ReleaseProtection, vacuous: bool, assumed: bool) -> Literal["good", "plain", "care", "bad"]:
    """Return the tone of a page's heading: never better for a higher success of an attacker."""
    if found.grade is ProtectionGrade.NONE:
        return "bad"
    worse = worse_linking_grade(found) or found.grade
    if vacuous or worse.rank >= ProtectionGrade.WEAK.rank:
        return "care"
    return "good" if worse is ProtectionGrade.STRONG and not assumed else "plain"


def has_no_limit(findings: Iterable[Requirement], remarks: Iterable[Remark]) -> bool:
    """Return whether no requirement limits anything, such as k = 1 alone."""
    vacuous = {remark.vacuous for remark in remarks if remark.vacuous}
    return all(finding.identity in vacuous for finding in findings if finding.limit is not None)


def worse_linking_grade(found: ReleaseProtection | None) -> ProtectionGrade | None:
    """Return the grade of finding a person's record if it is worse than the overall grade; else None."""
    if found is None or found.linking is None or found.linking.grade.reaches(found.grade):
        return None
    return found.linking.grade


def _weaker_grade_notes(found: ReleaseProtection, vacuous: bool) -> list[str]:
    """Return the aspects that are worse than the overall grade, in sentences."""
    notes = ["No privacy requirement limits anything."] if vacuous else []
    worse = worse_linking_grade(found)
    return notes if worse is None else [*notes, f"{RECORD_LINKING}: {worse.value}, which does not count in the grade."]


def _linking_assumption_note(found: ReleaseProtection) -> list[str]:
    """Return the assumption without which re-identification has a worse grade, in a sentence."""
    assumed = None if found.linking is None else found.linking.assumption
    if found.linking is None or assumed is None or CHANCE.grade(assumed.worst.value) is found.linking.grade:
        return []
    return [f"Assumed, not checked: no attacker knows {shortened_names(assumed.columns)}."]


def change_text(before: Measure, after: Measure) -> str:
    """Return a success without a release and with it: `95.0 % → 99.5 %`, `0.5 % → at most 100.0 %`."""
    return f"{percent(before.value)} → {standing_words(after, percent)}"


def guess_sentences(found: ReleaseProtection | None) -> Iterator[str]:
    """Yield the grade, and for each sensitive column the share of correct guesses without and with the release."""
    if found is None:
        return
    yield f"protection: {found.grade.value}"
    for one in found.ladders:
        guessed = change_text(one.statistics.guess, one.person.guess)
        yield f"{one.of}: {guessed} guessed rightly ({one.grade.value})"


def _reading_row(ladder: ColumnInference, linking: RecordLinkage | None) -> RiskRow:
    overall, statistics, person, record = (
        rung.guess for rung in (ladder.overall, ladder.statistics, ladder.person, ladder.record)
    )
    helped = f" It is read with the help of `{ladder.reads}`, which is released exactly." if ladder.reads else ""
    told = (
        f"Of 100 values of `{ladder.of}` an attacker guesses {out_of_hundred(overall.value)} rightly from overall "
        f"shares, {out_of_hundred(statistics.value)} from statistics of people with the same quasi-identifiers, and "
        f"{standing_words(person, out_of_hundred)} with the released records. If the attacker knows the person's "
        f"record:"
        f" {standing_words(record, out_of_hundred)}."
    )
    before, most = ladder.statistics.worst, ladder.person.worst
    worst = (
        f"Worst off is a person with `{ladder.worst}`: the probability given to that value rises from "
        f"{percent(before.value)} to {standing_words(most, percent)}."
    )
    return RiskRow(
        f"Reading {ladder.of}",
        ladder.grade.value,
        overall.value,
        statistics.value,
        person.value,
        record.value,
        told + helped,
        worst,
        _certain_people_text(ladder, linking),
        sentence(ladder.rule),
        f"{change_text(statistics, person)} guessed rightly; worst off (`{ladder.worst}`) "
        f"{change_text(before, most)}; certain of {_people_count_text(ladder.person)}.",
        f"If the record is known: {standing_words(record, percent)} guessed rightly; certain of "
        f"{_people_count_text(ladder.record)}.{helped}",
    )


def _certain_people_text(ladder: ColumnInference, linking: RecordLinkage | None) -> str:
    """Return the number of people whose value is certain, for an attacker who knows the record and one who does not."""
    known, away, record = ladder.person.certain.value, ladder.given_away, ladder.record.certain.value
    groups = (
        f", {figure(away, 15)} of them because everybody in their released group has the same value" if away else ""
    )
    text = f"An attacker who has to find the record first is certain of {_people_count_text(ladder.person)}{groups}"
    if not known and linking is not None and linking.certain.value:
        text += f", although {_found_records_text(linking)} for certain: a record does not show the value"
    if record > known:
        return f"{text}; an attacker who knows which record is the person's, of {_people_count_text(ladder.record)}."
    return f"{text}."


def _people_count_text(level: InferenceLevel) -> str:
    """Return the people whose value is certain; under a bound on guesses their number is a bound as well."""
    number = level.certain.value
    if not number:
        return "nobody's value"
    people = "one person's value" if number == 1 else f"{figure(number, 15)} people's values"
    return f"at most {people}" if level.guess.standing is Standing.UPPER_BOUND else people


def _found_records_text(linking: RecordLinkage) -> str:
    found = linking.certain.value
    records = f"{figure(found, 15)} {'record is' if found == 1 else 'records are'} found"
    return f"at most {records}" if linking.certain.standing is Standing.UPPER_BOUND else records


def _linking_row(linking: RecordLinkage) -> RiskRow:
    mean, worst = linking.mean, linking.worst
    told = (
        f"An attacker who knows a person's quasi-identifiers finds the person's record with a chance of "
        f"{standing_words(mean, one_in)} on average; without them, "
        f"{one_in(linking.without.value)}.{_linking_assumption_text(linking)}"
    )
    certain = "Nobody's record is found for certain."
    if linking.certain.value:
        certain = sentence(f"{_found_records_text(linking)} for certain")
    return RiskRow(
        RECORD_LINKING,
        linking.grade.value,
        linking.without.value,
        None,
        mean.value,
        None,
        told,
        f"Worst off, a person is found with a chance of {standing_words(worst, one_in)}.",
        certain,
        sentence(linking.rule),
        f"{one_in(linking.without.value)} → {standing_words(mean, one_in)} on average; worst off "
        f"{standing_words(worst, one_in)}; {certain[0].lower()}{certain[1:]}",
    )


def _linking_assumption_text(linking: RecordLinkage) -> str:
    """Return a sentence on finding a record if assumed unlinkable columns are linked; "" without such an assumption."""
    found = linking.assumption
    if found is None:
        return ""
    it = shortened_names(found.columns)
    mean, most = (f"{standing_words(each, one_in)}" for each in (found.mean, found.worst))
    return (
        f" This assumes that no attacker knows {it} of a person, which nothing checks: one who does finds the record "
        f"with a chance of {mean} on average, and worst off {most}."
    )
