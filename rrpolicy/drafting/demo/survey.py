"""The demo table: a synthetic survey of made-up people. Demo data, never a release.

Every value is drawn, one column after the other, given the columns before it:

    sex          equal shares
    age          whole years 16 to 95, fewer with age
    education    younger people have more of it; 1.5 % missing (null), more of the old
    region       eight regions of different size
    occupation   goes with education, sex and age; over 67 most are retired
    disease      goes with age and sex, a little with occupation; `Narcolepsy` is rare (about 1 in 3,000)
    income_band  goes with education, occupation and region; ordinal
    hours        of sport in a week, in halves; a little fewer with age, nearly equal for women and men
    person_id    unique, in an uninformative order

Drawn by inversion from PCG64's doubles alone, so that the same seed gives the same table under every numpy.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import pyarrow as pa
import pyarrow.compute as pc

from rrpolicy.engine.arrays import number_array, text_array

_CHUNK = 1 << 17

Floats: TypeAlias = npt.NDArray[np.float64]
Indices: TypeAlias = npt.NDArray[np.int64]

SEX = ("female", "male")
EDUCATION = ("none", "primary", "lower secondary", "upper secondary", "vocational", "bachelor", "master", "doctorate")
REGION = ("Northport", "Lakeland", "Highmoor", "Eastvale", "Capital", "Southbank", "Westshore", "Islands")
OCCUPATION = (
    "agriculture",
    "crafts",
    "industry",
    "transport",
    "sales",
    "care",
    "education",
    "office",
    "engineering",
    "management",
    "in training",
    "retired",
    "not employed",
)
DISEASE = ("none", "asthma", "diabetes", "heart disease", "depression", "arthritis", "Narcolepsy")
INCOME_BAND = ("under 15k", "15k to 30k", "30k to 50k", "50k to 80k", "over 80k")

_AGES = np.arange(16, 96)
_WORKERS = (len(SEX), len(_AGES), len(EDUCATION))
_PATIENTS = (len(SEX), len(_AGES), len(OCCUPATION))
_EARNERS = (len(EDUCATION), len(OCCUPATION), 2)
"""Numbers of categories that determine occupation, disease and income; the last is 1 for the capital."""
_LITTLE_SCHOOL = EDUCATION.index("lower secondary")
_BY_HAND = OCCUPATION.index("industry")
_CAPITAL = REGION.index("Capital")
_REGION_SHARE = (0.11, 0.09, 0.06, 0.13, 0.29, 0.16, 0.14, 0.02)
_EDUCATION_AT = {  # age: weights of EDUCATION
    16: (2, 14, 50, 30, 3, 1, 0, 0),
    25: (1, 2, 9, 27, 22, 26, 11, 2),
    45: (1, 4, 14, 28, 27, 15, 9, 2),
    70: (4, 16, 28, 22, 20, 6, 3, 1),
    95: (9, 32, 30, 14, 11, 3, 1, 0),
}
_OCCUPATION_OF = (  # a row for each education, weights of the ten working occupations
    (24, 12, 26, 14, 12, 9, 0, 2, 0, 1),
    (18, 15, 26, 15, 13, 10, 0, 2, 0, 1),
    (9, 18, 22, 15, 18, 12, 1, 4, 0, 1),
    (4, 10, 11, 9, 23, 13, 3, 21, 3, 3),
    (5, 25, 13, 8, 13, 18, 4, 9, 4, 1),
    (1, 2, 2, 2, 12, 12, 19, 24, 16, 10),
    (1, 1, 1, 1, 6, 10, 21, 18, 22, 19),
    (0, 0, 1, 0, 2, 14, 30, 10, 27, 16),
)
_OCCUPATION_BY_SEX = (  # women and men: how much likelier than the others
    (0.7, 0.35, 0.55, 0.4, 1.3, 1.9, 1.6, 1.4, 0.4, 0.8),
    (1.3, 1.7, 1.4, 1.6, 0.8, 0.35, 0.6, 0.7, 1.6, 1.2),
)
_INCOME_CENTRE = (0.7, 0.9, 1.1, 1.6, 1.7, 2.5, 3.0, 3.4)
_INCOME_SHIFT = (-0.4, 0.1, 0.0, -0.1, -0.2, -0.3, 0.0, 0.1, 0.6, 1.0, -1.6, -0.6, -1.5)


def survey(records: int, seed: int) -> pa.Table:
    """Return the demo table.

    Returns (records, 9) text, whole numbers (age) and doubles (hours), in the module's order but `person_id` first.
    Raises ValueError if `records` (1 to 10^8) or `seed` is out of range.
    """
    if not 1 <= records <= 10**8 or not 0 <= seed < 2**63:
        raise ValueError("records are 1 to 100,000,000, a seed is 0 to 2^63 - 1")
    random = np.random.Generator(np.random.PCG64(seed))
    starts = range(0, records, _CHUNK)
    return pa.concat_tables([_people_table(random, start, min(_CHUNK, records - start)) for start in starts])


def _people_table(random: np.random.Generator, start: int, count: int) -> pa.Table:
    anybody = np.zeros(count, np.int64)
    sex = _draw_categories(random, np.full((1, 2), 0.5), anybody)
    share = np.exp(-((np.maximum(_AGES - 60, 0) / 22.0) ** 2))
    heights = np.cumsum(share / share.sum())
    drawn = np.minimum(np.searchsorted(heights, random.random(count), side="right"), len(_AGES) - 1)
    age = np.asarray(_AGES[drawn], np.int64)
    years = age - _AGES[0]
    education = _draw_categories(random, _interpolated_weights(_EDUCATION_AT), years)
    region = _draw_categories(random, np.array([_REGION_SHARE]), anybody)
    occupation = _draw_categories(random, _occupation_weights(), _combination_codes(sex, years, education, of=_WORKERS))
    disease = _draw_categories(random, _disease_weights(), _combination_codes(sex, years, occupation, of=_PATIENTS))
    income = _draw_categories(
        random, _income_weights(), _combination_codes(education, occupation, np.equal(region, _CAPITAL), of=_EARNERS)
    )
    mean = 3.4 + 0.1 * sex - 0.004 * (age - 16)
    hours = np.minimum(np.round(-2 * mean * np.log(1 - random.random(len(age)))) / 2, 40.0)
    unanswered = random.random(count) < 0.008 + 0.0003 * years
    # A multiple modulo a prime larger than the number of people: distinct, and unordered.
    ids = (np.arange(start, start + count, dtype=np.int64) * 2_654_435 + 97) % 1_000_000_007
    letter, nothing = text_array(["P", ""])
    return pa.table(
        {
            "person_id": pc.binary_join_element_wise(
                letter, pc.utf8_lpad(number_array(ids).cast(pa.string()), 10, "0"), nothing
            ),
            "sex": _label_array(SEX, sex),
            "age": number_array(age),
            "education": _label_array(EDUCATION, education, unanswered),
            "region": _label_array(REGION, region),
            "occupation": _label_array(OCCUPATION, occupation),
            "disease": _label_array(DISEASE, disease),
            "income_band": _label_array(INCOME_BAND, income),
            "hours": number_array(hours),
        }
    )


def _combination_codes(*codes: Indices, of: Sequence[int]) -> Indices:
    return np.asarray(np.ravel_multi_index(codes, tuple(of)), np.int64)


def _all_combinations(of: Sequence[int]) -> Indices:
    return np.indices(of).reshape(len(of), -1)


def _draw_categories(random: np.random.Generator, weights: Floats, kind: Indices) -> Indices:
    """Return one category per person by inversion.

    `weights`: (kinds, categories) of people of each kind; `kind`: (people,).
    """
    heights = np.cumsum(weights, axis=1).T
    drawn = random.random(len(kind)) * heights[-1][kind]
    picked = np.zeros(len(kind), np.int64)
    for height in heights[:-1]:
        picked += drawn >= height[kind]
    return picked


def _label_array(labels: tuple[str, ...], codes: Indices, null: npt.NDArray[np.bool_] | None = None) -> pa.Array:
    return pa.DictionaryArray.from_arrays(number_array(codes.astype(np.int8), null), text_array(labels)).cast(
        pa.string()
    )


def _interpolated_weights(at: Mapping[int, Sequence[int]]) -> Floats:
    columns = np.array(list(at.values()), float).T
    return np.column_stack([np.interp(_AGES, list(at), column) for column in columns])


def _occupation_weights() -> Floats:
    sex, years, education = _all_combinations(_WORKERS)
    working = np.array(_OCCUPATION_OF, float)[education] * np.array(_OCCUPATION_BY_SEX)[sex]
    working /= working.sum(axis=1, keepdims=True)
    training = np.clip((27 - _AGES[years]) / 11.0, 0.0, 0.85)
    retired = np.interp(_AGES[years], [55, 62, 67, 75], [0.0, 0.2, 0.85, 0.98])
    idle = 0.05 + 0.06 * (education <= _LITTLE_SCHOOL) + 0.05 * (sex == 0)
    rest = np.column_stack([training, (1 - training) * retired, (1 - training) * (1 - retired) * idle])
    return np.column_stack([working * (1 - rest.sum(axis=1, keepdims=True)), rest])


def _disease_weights() -> Floats:
    sex, years, occupation = _all_combinations(_PATIENTS)
    heart = 0.004 + 0.16 * (years / 79) ** 2.5 * np.where(sex == 1, 1.3, 0.8)
    arthritis = 0.005 + 0.20 * (years / 79) ** 2 * np.where(sex == 0, 1.4, 0.8) * np.where(
        occupation <= _BY_HAND, 1.4, 1.0
    )
    depression = 0.05 * np.where(sex == 0, 1.5, 0.9) * np.where(occupation == len(OCCUPATION) - 1, 2.2, 1.0)
    diabetes = 0.01 + 0.11 * np.minimum(years / 55, 1.0) ** 1.5
    asthma = np.where(occupation <= _BY_HAND, 0.08, 0.055)
    rare = np.full(len(sex), 1 / 3000)
    ill = np.column_stack([asthma, diabetes, heart, depression, arthritis, rare])
    return np.column_stack([1 - ill.sum(axis=1), ill])


def _income_weights() -> Floats:
    education, occupation, capital = _all_combinations(_EARNERS)
    centre = np.array(_INCOME_CENTRE)[education] + np.array(_INCOME_SHIFT)[occupation] + 0.3 * capital
    bands = np.arange(len(INCOME_BAND))
    return np.asarray(np.exp(-((bands - centre[:, None]) ** 2) / 1.3), np.float64)
