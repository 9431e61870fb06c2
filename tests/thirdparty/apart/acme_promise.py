"""A privacy model and its assessor."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict

from rrpolicy.plugin import (
    Assessor,
    Basis,
    Finding,
    Identity,
    Matrix,
    Measure,
    Order,
    Product,
    Rational,
    Verdict,
    hookimpl,
)


class Options(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    most: Rational


class Promise:
    name = "acme-promise"
    options = Options

    def describe(self, options):
        return f"largest ratio <= {options.most}"

    def refuses(self, options, policy):
        return None

    def compare(self, old, new):
        return Order.by(old.most - new.most)


def assess(requirement, channel, original):
    ratio = max(axis.max_ratio() for axis in channel.axes if not isinstance(axis, Identity))
    most = requirement.options.most
    return Finding(
        "acme-promise",
        "acme-promise",
        "",
        requirement.place,
        Measure(float(ratio)),
        most,
        Verdict.SATISFIED if ratio <= most else Verdict.FAILED,
        Basis.CHANNEL,
        "Anyone who sees the release.",
    )


@hookimpl
def rrpolicy_privacy_models():
    return [Promise()]


@hookimpl
def rrpolicy_assessors():
    return [Assessor("acme-promise", Product, (Matrix, Identity), Basis.CHANNEL, "none", assess)]
