from rrpolicy.escaping.templates import inline_style as inline_style
from rrpolicy.estimate.default_level import LEVEL as LEVEL
from rrpolicy.numbers import (
    edge_label as edge_label,
    level_percent as level_percent,
    matrix_probability as matrix_probability,
    percent_cell as percent_cell,
    percent_tick as percent_tick,
    plain_number as plain_number,
    rounded_down as rounded_down,
    used_share as used_share,
)
from rrpolicy.wording import (
    NOT_FIT as NOT_FIT,
    UNDECIDED_NOTE as UNDECIDED_NOTE,
    requirements_met as requirements_met,
    sentence as sentence,
    unmet_and as unmet_and,
    verdict_word as verdict_word,
)
