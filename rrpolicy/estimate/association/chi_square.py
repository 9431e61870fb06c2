"""Tests by the chi-square law: Wald's, and Pearson's corrected for how the counts came about (Rao and Scott)."""

from __future__ import annotations

import numpy as np

from rrpolicy.counts import Array
from rrpolicy.frozen_dataclass import frozen

_SINGULAR = 1e-10
_ROUNDING = 1e-13


def wald(h: Array, covariance: Array) -> tuple[float, int, float]:
    """Return the statistic h' C^-1 h, its degrees of freedom and the p-value by the chi-square law.

    h is a smooth function of corrected counts that is 0 under the hypothesis.

    Args:
        h: (df,) estimates of what is 0 under the hypothesis.
        covariance: (df, df) of h.

    Returns:
        NaN in place of statistic and p-value where the covariance is singular.
    """
    scale = np.sqrt(np.abs(np.diag(covariance)))
    if h.size == 0 or bool((scale == 0).any()):
        return np.nan, h.size, np.nan
    correlation = covariance / np.outer(scale, scale)
    values, vectors = np.linalg.eigh(correlation)
    if values[0] <= _SINGULAR:
        return np.nan, h.size, np.nan
    statistic = float((((h / scale) @ vectors) ** 2 / values).sum())
    return statistic, h.size, chi_square_tail(statistic, h.size)


@frozen
class RaoScott:
    """A test of independence by Pearson's statistic, referred to the law that it has.

    Attributes:
        statistic: F; NaN where the covariance leaves no law.
        df: degrees of freedom of the numerator, not always whole.
        df_error: those of the denominator.
        p_value: by F's law.
    """

    statistic: float
    df: float
    df_error: float
    p_value: float


def rao_scott(table: Array, covariance: Array, degrees: float, *, observed: bool) -> RaoScott:
    """Test independence in a table whose counts are no simple random sample's.

    Pearson's statistic is distributed as sum_k delta_k Z_k^2, Z_k standard normal, and the delta are the eigenvalues of
    (C' D^-1 C)^-1 C' D^-1 V D^-1 C, times n: V the covariance of shares, D shares on the diagonal, C a basis of what
    is orthogonal to rows and columns (Rao, Scott 1984, section 2). With their sum s and the sum q of their squares, the
    statistic over s is referred to F with s^2/q and `degrees` s^2/q degrees of freedom, the second-order correction
    with the law of Thomas and Rao (1987). n cancels.

    Args:
        table: (rows, columns) counts, also weighted or corrected ones; margins over 0.
        covariance: (cells, cells) of the counts, in C order.
        degrees: of freedom of that covariance.
        observed: whether D holds the shares of the table, as R's `svychisq` has it, or those that its margins say under
            the hypothesis, which are positive where corrected counts are not.
    """
    from scipy.special import fdtrc

    p = table / table.sum()
    fitted = np.outer(p.sum(axis=1), p.sum(axis=0))
    pearson = float(((p - fitted) ** 2 / fitted).sum())
    to_shares = (np.eye(p.size) - p.reshape(-1, 1)) / table.sum()
    V = to_shares @ covariance @ to_shares.T
    D = (p if observed else fitted).reshape(-1, 1)
    C = np.kron(*(np.eye(n)[:, 1:] - 1 / n for n in p.shape))
    try:
        effects = np.linalg.solve(C.T @ (C / D), (C / D).T @ V @ (C / D))
    except np.linalg.LinAlgError:
        return RaoScott(np.nan, np.nan, np.nan, np.nan)
    first, second = float(np.trace(effects)), float(np.trace(effects @ effects))
    rounding = float(np.trace(V)) <= _ROUNDING * float((p**2).sum())  # as of a single cluster
    if not (first > 0 and second > 0 and degrees > 0) or rounding:
        return RaoScott(np.nan, np.nan, np.nan, np.nan)
    statistic, df = pearson / first, first**2 / second
    return RaoScott(statistic, df, df * degrees, float(fdtrc(df, df * degrees, statistic)))


def chi_square_tail(statistic: float, df: int) -> float:
    """Return the probability that a chi-square variable with df degrees of freedom is larger."""
    from scipy.special import chdtrc

    return float(chdtrc(df, max(statistic, 0.0)))
