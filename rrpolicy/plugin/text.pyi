from rrpolicy.escaping.templates import inline_style as inline_style
from rrpolicy.estimate import LEVEL as LEVEL
from rrpolicy.numbers import (
    level_percent as level_percent,
    matrix_probability as matrix_probability,
    plain_number as plain_number,
    tick_label as tick_label,
    two_digits as two_digits,
    used_share as used_share,
)
from rrpolicy.wording import sentence as sentence, verdict_word as verdict_word
