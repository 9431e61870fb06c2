"""The axes of a product channel that the core brings, under one name."""

from rrpolicy.channel.categories import Domain
from rrpolicy.channel.identity import Identity
from rrpolicy.channel.matrix import ColumnSumError, Matrix
from rrpolicy.channel.recode import Recode
from rrpolicy.channel.retention import Block, Retention
from rrpolicy.channel.sets import Sets

__all__ = ["Block", "ColumnSumError", "Domain", "Identity", "Matrix", "Recode", "Retention", "Sets"]
