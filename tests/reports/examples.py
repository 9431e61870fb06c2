"""Reports built by hand: a tiny one, one that fails, a big one, and one whose labels try to break out."""

from __future__ import annotations

from rrpolicy.estimate.default_level import LEVEL
from rrpolicy.frozen import replace
from rrpolicy.report import (
    AccuracyRow,
    AssociationRow,
    AttackRow,
    AttributePanel,
    CompanionRow,
    Download,
    Fact,
    FindingRow,
    Histogram,
    MarginalPanel,
    MarginalRow,
    MatrixPanel,
    Obstacle,
    PairPanel,
    Promise,
    ProtectionPanel,
    Published,
    ReleasedSet,
    Report,
    RiskRow,
    Section,
    SetPanel,
    Spread,
    Tile,
    Usage,
    UtilityRow,
)

HOSTILE = (
    "<script>alert('x')</script>",
    '" onmouseover="alert(1)',
    "two\nlines\tand a tab",
    "\u202egnirts desrever a\u202c",
    "ذكر",
    "</style><img src=http://example.invalid/x.png>",
    "{{ 7 * 7 }} {% raw %}",
    "&amp; &lt;b&gt;",
    "",
    "a very long label without any place to break it " * 3 + "x" * 120,
)


def matrix(labels: tuple[str, ...], keep: float) -> MatrixPanel:
    """Return a matrix that keeps each category a little less than the one before it."""
    kept = [keep - 0.01 * v / len(labels) for v in range(len(labels))]
    places = range(len(labels))
    rows = tuple(tuple(kept[v] if u == v else (1 - kept[v]) / (len(labels) - 1) for v in places) for u in places)
    return MatrixPanel(labels, labels, rows)


def finding(**changes: object) -> FindingRow:
    row: dict[str, object] = {
        "model": "local-dp",
        "requirement": "epsilon <= 6, record scope",
        "verdict": "satisfied",
        "achieved": "5.8211",
        "standing": "exact",
        "limit": "at most 6",
        "margin": "0.179 below the limit (3 % of it)",
        "basis": "channel",
        "adversary": "Knows everything about everybody but one person's values, and sees that person's released record.",
        "assumptions": ("hours is assumed unlinkable: nobody else records working hours.",),
        "companions": (
            CompanionRow("epsilon, attribute scope", "5.8211", "exact", "Counts the randomised attributes only."),
            CompanionRow("factor on the odds", "at most 337.35", "upper bound", "No odds move by more than e^epsilon."),
        ),
        "not_covered": ("How likely a guess is to be right.", "What the whole table says of a group."),
        "histogram": None,
        "groups_over": None,
        "people_over": None,
        "reference": "Ikarashi et al. 2014, section 4",
        "assessor": "core (rrpolicy 0.1.0)",
        "place": "line 31, privacy.1",
        "promise": "whatever is released of a person would be at most 403 times as likely with another record",
        "used": 0.97,
    }
    return FindingRow(**(row | changes))  # type: ignore[arg-type]


def pk() -> FindingRow:
    return finding(
        model="pk-anonymity",
        requirement="k >= 2",
        achieved="2.00002",
        limit="at least 2",
        margin="0.00002 above the limit (0.001 % of it)",
        companions=(CompanionRow("1/k", "0.499995", "exact", "The chance of finding a given person's record."),),
        place="line 28, privacy.0",
        used=0.99999,
    )


def spread() -> Histogram:
    edges = tuple(i / 20 for i in range(21))
    people = (4100, 9000, 12000, 9000, 6200, 4000, 2500, 1500, 900, 400, 200, 100, 60, 25, 10, 5, 0, 0, 0, 0)
    before = (
        100,
        900,
        2000,
        3000,
        4200,
        5000,
        6500,
        6500,
        5900,
        4400,
        3200,
        2100,
        1660,
        1025,
        810,
        705,
        500,
        400,
        300,
        800,
    )
    top = (("sex=F, age_group=65+, region=North", 0.7712, 3), ("sex=M, age_group=0-19, region=South", 0.741, 2))
    return Histogram("chance that the record is found", edges, people, before, top)


def disclosure() -> FindingRow:
    return finding(
        model="identity-disclosure",
        requirement="linking <= 1/2 for everybody",
        used=1.5424,
        promise="",
        verdict="failed",
        achieved="at most 0.7712",
        standing="upper bound",
        limit="at most 0.5",
        margin="0.271 above the limit (54 % of it)",
        basis="original",
        histogram=spread(),
        groups_over=41,
        people_over=200,
        companions=(
            CompanionRow("success of the best guess", "0.61 ± 0.02", "estimate", "How often a guess is right."),
            *by_value("disease", {"": 0.7712, "Flu": 0.31, "Cancer": 0.7712, HOSTILE[0]: 0.25}),
        ),
    )


def by_value(attribute: str, risks: dict[str, float]) -> tuple[CompanionRow, ...]:
    meaning = {
        "risk": "the record and the value",
        "value read correctly": "the value alone",
        "largest within-group share": "the commonest value",
    }
    return tuple(
        CompanionRow(name, f"{r + i / 10:.4g}", "upper bound" if value == "Flu" else "exact", meaning[name], of)
        for value, r in risks.items()
        for of in [f"{attribute} = {value}" if value else attribute]
        for i, name in enumerate(meaning)
    )


def marginal(name: str, categories: tuple[str, ...], *, audit: bool) -> MarginalPanel:
    total = sum(range(1, len(categories) + 1))
    rows = []
    for i, category in enumerate(categories, 1):
        share = i / total
        released = 0.7 * share + 0.3 / len(categories)
        width = 0.006 + 0.02 / len(categories)
        remark = "interval unreliable: fewer than 5 released records" if i == 1 and len(categories) > 5 else None
        estimate = share + (0.003 if i % 2 else -0.004)
        rows.append(
            MarginalRow(
                category,
                round(share, 3) if audit else None,
                released,
                estimate,
                max(0, estimate - width),
                estimate + width,
                remark,
            )
        )
    return MarginalPanel(name, 0.95, tuple(rows), None, 0)


def panel(name: str, labels: tuple[str, ...], keep: float = 0.73214) -> AttributePanel:
    return AttributePanel(
        name,
        name,
        "quasi-identifier",
        "randomised: kept, or replaced by another category, each equally likely",
        "solved from the requirements and the number of records",
        (
            Fact("Keep probability", f"{keep} (36607/50000)"),
            Fact("Retention probability", "0.64285"),
            Fact("Epsilon of this attribute alone", "2.103"),
        ),
        matrix(labels, keep),
        f"{len(labels)} categories, declared by the policy",
        change=f"up to {100 * (1 - keep):.1f} % exchanged at random, by category",
        changed=(1 - keep, 1.01 - keep),
    )


SEX = ("Female", "Male")
AGE = ("0-19", "20-39", "40-64", "65+")
EDUCATION = ("No schooling", "Primary", "Lower secondary", "Upper secondary", "Bachelor", "Master or doctorate")
DISEASE = ("None", "Cardiovascular", "Diabetes", "Respiratory", "Musculoskeletal", "Mental health", "Cancer", "Other")


def attack(name: str, outcome: str = "as predicted", attained: float = 28_140.0) -> AttackRow:
    return AttackRow(
        name,
        "sex and age of everybody, and the channel",
        "released records whose person the attacker names",
        outcome,  # type: ignore[arg-type]
        "",
        f"{attained:,.1f} of 50,000",
        "28,129.7 of 50,000 (56.3 %)",
        "27,960.8 to 28,298.5",
        "1 of 50,000 (< 0.01 %)",
        "exact mean and variance given the original counts",
        Spread(attained, 28_129.7, 27_960.8, 28_298.5),
    )


def not_run(name: str, reason: str = "the release is not a partition") -> AttackRow:
    return AttackRow(name, "the class of everybody", "", "undecided", reason, None, None, None, None, "", None)


def published(
    texts: tuple[str, ...] = ("Text.", "Another one."), paths: tuple[str, ...] = ("data.parquet",)
) -> Published:
    first = texts[0]
    return Published(
        about=texts,
        usage=Usage(first, tuple(Fact(t, t) for t in texts), ("import rrpolicy", *texts), f"rrpolicy {first}"),
        protection=tuple(Fact(t, t) for t in texts),
        accuracy=(
            *(AccuracyRow(t, t, "± 0.59 points", "± 0.44 points", "upper bound", LEVEL) for t in texts),
            AccuracyRow(first, "Shares are exact.", None, None, None),
        ),
        promises=(Promise("", "pk-anonymity: k >= 2", "satisfied"), Promise(first, first, "satisfied")),
        open=texts,
        owner=first,
        downloads=tuple(Download(p, p, "1.2 kB", "0123456789ab") for p in (*paths, "release.json")),
    )


def sets(name: str, values: tuple[str, ...]) -> SetPanel:
    held = tuple(ReleasedSet((i, (i + 1) % len(values)), 1 / (i + 3)) for i in range(len(values)))
    return SetPanel(name, values, 2, tuple(0.1 for _ in values), held, len(values) + 3)


def report(page: str = "public", **changes: object) -> Report:
    audit = page == "audit"
    fields: dict[str, object] = {
        "page": page,
        "title": "Household survey, version 1.2.0, release 2026-11",
        "decision": "Both privacy requirements and the utility requirement are met.",
        "passed": True,
        "facts": (
            Fact("Records", "50,000"),
            Fact("Released attributes", "6, of which 4 are randomised"),
            Fact("Format", "Parquet"),
            Fact("Sampler", "cells: equal records are drawn together"),
        ),
        "assumptions": ("hours is assumed unlinkable: nobody else records working hours.", "One person is one record."),
        "findings": (pk(), finding()),
        "derived": (),
        "remarks": (Fact("Gain over equal allocation", "The expected squared error is 31 % lower."),),
        "attributes": (
            panel("sex", SEX, 0.91),
            panel("age_group", AGE),
            panel("education", EDUCATION),
            panel("disease", DISEASE, 0.55),
            AttributePanel(
                "region",
                "region",
                "insensitive",
                "released unchanged",
                "",
                (),
                None,
                "6 categories, declared by the policy",
            ),
            AttributePanel(
                "hours",
                "hours",
                "insensitive",
                "released unchanged; it has no list of categories",
                "",
                (),
                None,
                "no list of categories",
            ),
        ),
        "dropped": (
            "person_id: identifier, counted only for how many records a person has, and never released",
            "notes: excluded, not needed here",
        )
        if audit
        else (),
        "marginals": tuple(
            marginal(n, c, audit=audit)
            for n, c in (("sex", SEX), ("age_group", AGE), ("education", EDUCATION), ("disease", DISEASE))
        ),
        "utility": (
            UtilityRow(
                "expected-l2",
                "every randomised attribute",
                "0.01312",
                "exact",
                "at most 0.02",
                "satisfied",
                "0.01287" if audit else None,
                "Root of the expected squared distance between reconstructed and original shares.",
            ),
        ),
        "sections": (
            Section(
                "Allocation",
                ("Two starts agreed.",),
                (Fact("Starts", "2"),),
                ("Attribute", "Equal", "Chosen"),
                (("sex", ".80", ".91"),),
            ),
        ),
        "provenance": (
            Fact("rrpolicy", "0.1.0"),
            Fact("Plugin", "pram (rrpolicy 0.1.0)"),
            Fact("Digest of the policy", "sha256:" + "4f" * 32),
            Fact("Digest of the released table", "sha256:" + "a0" * 32),
        ),
        "attacks": (attack("Record linkage"), not_run("Homogeneity (disease)")) if audit else (),
        "bar": (
            Fact("Owner", "Department of Population Statistics"),
            Fact("Purpose", "Teaching and methodological research"),
        ),
        "tiles": (
            Tile(
                "Re-identification",
                "at most 50 in 100",
                "No attacker links a person.",
                "Limited by this policy.",
                "limited",
            ),
            Tile("Reading a value", "up to 95 %", "`disease` can be guessed.", "Not limited by this policy.", "open"),
            Tile("Usefulness", "± 0.4 points", "Half a 95 % interval of one share of `sex`.", "", "plain"),
        ),
        "pairs": PairPanel(("sex", "age_group"), ((0.002,), (0.0041, None)), (("sex", "disease"),)) if audit else None,
        "associations": (
            AssociationRow(("sex", "disease"), "0.31", "0.29", "0.02"),
            AssociationRow(("sex", "age_group"), "0.12", None, None),
        )
        if audit
        else (),
        "following": (Fact("Verify it", "rrpolicy verify BUNDLE --source TABLE"),) if audit else (),
        "texts": (Fact("policy.toml", '[policy]\nname = "survey"\n'),) if audit else (),
        "points": ("'hours' is released unmodified assuming that it identifies nobody.",) if audit else (),
        "headline": "`sex` is exact; the sensitive column (`disease`) is randomised with published probabilities.",
        "sets": (sets("disease", DISEASE),),
        "published": None if audit else published(),
    }
    return Report(**(fields | changes))  # type: ignore[arg-type]


def failing() -> Report:
    undecided = finding(verdict="undecided", achieved=None, standing=None, margin=None)
    return report(
        "audit",
        passed=False,
        decision="2 of 4 requirements not met: identity-disclosure, linking <= 1/2 for everybody (fails); local-dp (undecided).",
        findings=(disclosure(), pk(), undecided),
        derived=("The categories of region were observed in the data.", "The marginal of race: the matrix keeps it."),
        attacks=(attack("Record linkage", "not as predicted", 30_000.0), attack("Attribute inference, by record")),
    )


def hostile() -> Report:
    text = " | ".join(HOSTILE)
    return report(
        "audit",
        title=text,
        decision=text,
        facts=tuple(Fact(t, t) for t in HOSTILE),
        assumptions=HOSTILE,
        findings=(
            finding(
                model=text, requirement=text, adversary=text, not_covered=HOSTILE, reference=text, histogram=spread()
            ),
        ),
        derived=HOSTILE,
        remarks=tuple(Fact(t, t) for t in HOSTILE),
        attributes=(panel(HOSTILE[0], HOSTILE), panel(HOSTILE[3], HOSTILE)),
        dropped=HOSTILE,
        marginals=(marginal(HOSTILE[0], HOSTILE, audit=True), marginal(HOSTILE[4], HOSTILE, audit=True)),
        sections=(Section(text, HOSTILE, (), HOSTILE[:2], ((HOSTILE[0], HOSTILE[1]),)),),
        provenance=tuple(Fact(t, t) for t in HOSTILE),
        attacks=(attack(text), *(not_run(t, t) for t in HOSTILE)),
        bar=tuple(Fact(t, t) for t in HOSTILE),
        tiles=tuple(Tile(t, t, t, t, "open") for t in HOSTILE[:3]),
        pairs=PairPanel(HOSTILE[:2], ((0.1,), (0.2, 0.3)), (HOSTILE[:2],)),
        following=tuple(Fact(t, t) for t in HOSTILE),
        texts=tuple(Fact(t, t) for t in HOSTILE),
    )


def hostile_public() -> Report:
    paths = ("javascript:alert(1)", "//example.invalid/x", "../audit/plan.json", *HOSTILE)
    return replace(
        hostile(),
        page="public",
        findings=(finding(model=HOSTILE[0]), *hostile().findings),
        headline=" | ".join(HOSTILE),
        sets=(sets(HOSTILE[0], HOSTILE),),
        published=published(HOSTILE, paths),
        attacks=(),
    )


def big() -> Report:
    labels = tuple(f"Category number {i:02d}" for i in range(16))
    names = tuple(f"attribute_{i:02d}" for i in range(40))
    return report(
        "audit",
        findings=(disclosure(), pk(), finding()),
        attributes=tuple(panel(n, labels, 0.4) for n in names),
        marginals=tuple(marginal(n, labels, audit=True) for n in names),
    )


def graded(**changes: object) -> Report:
    """Return an audit page with a grade, all points and all that the first screen can hold."""
    rows = tuple(
        RiskRow(
            f"Reading {name}",
            "weak",
            0.33,
            0.433,
            0.438,
            0.973,
            "Of 100 values an attacker guesses 33 rightly.",
            "Worst off is one person.",
            "An attacker who has to find the record first is certain of nobody's value.",
            "The records raise it by 27.7 points (weak: up to 50.0 points).",
            "43.3 % → 43.8 % guessed rightly; worst off (`50k to 80k`) 13.1 % → 53.5 %; certain of nobody's value.",
            "If the record is known: 97.3 % guessed rightly; certain of 12 people's values.",
        )
        for name in ("disease", "income_band")
    )
    usable = (
        Fact("Good (2 of 4)", "sex, age"),
        Fact("Rough (1 of 4)", "age x sex"),
        Fact("Not usable (1 of 4)", "a x b"),
    )
    fields: dict[str, object] = {
        "protection": ProtectionPanel(
            "weak",
            "care",
            "Protection: weak. Finding a person's record: none.",
            "The grade is that of `disease`: the records raise the probability of one person's true value by 27.7 points.",
            rows,
        ),
        "pairs": PairPanel(("sex", "age"), ((0.002,), (0.0041, 0.01)), (), (), usable),
        "points": tuple(
            f"`warning/{i}` is waived until 2027-06-30 by the head of the office: a course" for i in range(7)
        ),
        "bar": (
            Fact("People", "50,000, one record each"),
            Fact("Columns", "7: 6 randomised, 1 unchanged"),
            Fact("Recipients", "not stated"),
            Fact("Owner", "Department of Population Statistics"),
            Fact("Purpose", "Teaching and methodological research"),
        ),
        "headline": "All columns are randomised. Of every 100 values these are the true ones: of `disease` 97.",
    }
    return report("audit", **(fields | changes))


def wide() -> Report:
    """Return a page of tables that no page of paper and no telephone is wide enough for."""
    names = tuple(f"q{i:02d}_satisfaction_with_service" for i in range(27))
    many = tuple(f"Category number {i:02d}" for i in range(40))
    companions = tuple(CompanionRow("risk", "0.1", "exact", "a chance", name) for name in names)
    errors = tuple(tuple((i + j + 1) / 100 for j in range(i + 1)) for i in range(len(names)))
    return graded(
        attributes=(panel("region", many, 0.4),),
        findings=(pk(), finding(companions=companions)),
        pairs=PairPanel(names, errors, (), (), (Fact("Good (27 of 378)", ", ".join(names[:6])),)),
        sets=(sets("region", many),),
    )


def planned() -> Report:
    return report(
        "plan",
        passed=False,
        decision="1 of 3 requirements not met: expected-l2 at most 0.001 (failed).",
        marginals=(),
        obstacles=(
            Obstacle(
                "RR104", "expected-l2: 0.019 is over 0.001", "", "raise the limit\nor relax the requirement", "line 42"
            ),
        ),
    )


EXAMPLES = {
    "public": report,
    "audit": lambda: report("audit"),
    "failing": failing,
    "hostile": hostile,
    "hostile public": hostile_public,
    "big": big,
    "graded": graded,
    "wide": wide,
    "plan": planned,
}
