"""Three public surveys that ship with statsmodels, each with the same four roles."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from importlib.resources import files
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class Survey:
    """A table, in the four columns that questions are asked of.

    Attributes:
        name: of the data set of statsmodels.
        about: what it is, and how many records it has.
        outcome: a column of two categories; `yes` is the one that is asked for.
        yes: category of `outcome`.
        group: a column of text, whose categories are listed.
        groups: its categories.
        other: a column of two categories of text.
        others: its categories.
        number: a column of whole numbers.
        numbers: its categories.
        risk: the share that the likeliest sensitive value of a released record may have.
        crowd: the least class that nobody stands out from.
    """

    name: str
    about: str
    outcome: str
    outcomes: tuple[str, str]
    group: str
    groups: tuple[str, ...]
    other: str
    others: tuple[str, str]
    number: str
    numbers: tuple[int, ...]
    risk: str
    crowd: int
    _made: Callable[[pd.DataFrame], dict[str, pd.Series]]

    @property
    def yes(self) -> str:
        """Return the category of the outcome that is asked for."""
        return self.outcomes[1]

    @cached_property
    def frame(self) -> pd.DataFrame:
        """Return the records: the outcome, the group, the other and the number."""
        import pandas as pd

        file = files("statsmodels.datasets").joinpath(self.name, f"{self.name}.csv")
        with file.open("rb") as opened:
            read = pd.read_csv(opened, sep="\t" if self.name == "anes96" else ",")
        read.columns = [str(c).strip("'") for c in read.columns]
        made = self._made(read)
        return pd.DataFrame({name: made[name].to_numpy() for name in self.columns})

    @property
    def columns(self) -> tuple[str, str, str, str]:
        """Return the columns."""
        return self.outcome, self.group, self.other, self.number


def _cut(values: pd.Series, ends: list[float], words: list[str]) -> pd.Series:
    import pandas as pd

    return pd.cut(values, [float("-inf"), *ends, float("inf")], labels=words).astype(object)


FAIR = Survey(
    "fair",
    "6,366 women on their marriage (Fair 1978, from a magazine's survey of 1974)",
    outcome="affair",
    outcomes=("no", "yes"),
    group="religious",
    groups=("not", "mildly", "fairly", "strongly"),
    other="children",
    others=("none", "some"),
    number="rate_marriage",
    numbers=(1, 2, 3, 4, 5),
    risk="7/10",
    crowd=300,
    _made=lambda t: {
        "affair": _cut(t["affairs"], [0], ["no", "yes"]),
        "religious": t["religious"].map({1: "not", 2: "mildly", 3: "fairly", 4: "strongly"}),
        "children": _cut(t["children"], [0], ["none", "some"]),
        "rate_marriage": t["rate_marriage"],
    },
)
ANES96 = Survey(
    "anes96",
    "944 voters of 1996 (American National Election Study)",
    outcome="vote",
    outcomes=("Clinton", "Dole"),
    group="educ",
    groups=("school", "some college", "degree"),
    other="TVnews",
    others=("seldom", "often"),
    number="PID",
    numbers=(0, 1, 2, 3, 4, 5, 6),
    risk="3/5",
    crowd=200,
    _made=lambda t: {
        "vote": t["vote"].map({0: "Clinton", 1: "Dole"}),
        "educ": _cut(t["educ"], [3, 5], ["school", "some college", "degree"]),
        "TVnews": _cut(t["TVnews"], [3], ["seldom", "often"]),
        "PID": t["PID"],
    },
)
RANDHIE = Survey(
    "randhie",
    "20,190 person-years of the RAND health insurance experiment",
    outcome="limited",
    outcomes=("no", "yes"),
    group="health",
    groups=("excellent", "good", "fair or poor"),
    other="deductible",
    others=("no", "yes"),
    number="visits",
    numbers=(0, 1, 2, 3, 4, 5, 6),
    risk="17/20",
    crowd=1500,
    _made=lambda t: {
        "limited": _cut(t["physlm"], [0], ["no", "yes"]),
        "health": _cut(t["hlthg"] + 2 * (t["hlthf"] + t["hlthp"]), [0, 1], ["excellent", "good", "fair or poor"]),
        "deductible": t["idp"].map({0: "no", 1: "yes"}),
        "visits": t["mdvis"].clip(upper=6),
    },
)
SURVEYS = (FAIR, ANES96, RANDHIE)
