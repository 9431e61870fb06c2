"""Numbers for test_against_survey.py by samplics 0.6.0: `python samplics_numbers.py sample.csv > samplics.json`."""

from __future__ import annotations

import json
import sys

import pandas as pd
from samplics import PopParam
from samplics.estimation import TaylorEstimator

table = pd.read_csv(sys.argv[1])
table["yes"] = (table["ill"] == "yes").astype(float)
designs = {
    "clustered": {"psu": table["village"], "stratum": table["region"]},
    "records": {"stratum": table["region"]},
    "weights": {},
}


def asked(parameter: PopParam, y: str, design: dict, **more: object) -> dict[str, list[float]]:
    made = TaylorEstimator(parameter)
    made.estimate(y=table[y], samp_weight=table["weight"], **design, **more)
    estimate, error = made.point_est, made.stderror
    if isinstance(estimate, dict):
        return {"estimate": [float(v) for v in estimate.values()], "se": [float(v) for v in error.values()]}
    return {"estimate": [float(estimate)], "se": [float(error)]}


print(
    json.dumps(
        {
            name: {
                "mean": asked(PopParam.mean, "income", design),
                "total": asked(PopParam.total, "income", design),
                "visits": asked(PopParam.mean, "visits", design),
                "share": asked(PopParam.mean, "yes", design),
                "means": asked(PopParam.mean, "income", design, domain=table["sex"]),
            }
            for name, design in designs.items()
        },
        indent=1,
    )
)
