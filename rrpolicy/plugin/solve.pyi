# What mechanisms choose their parameters with, and where it stands: `solve.py` reads this list.
from rrpolicy.channels.anatomy.partition_plan import groups_of as groups_of, largest_eligible as largest_eligible
from rrpolicy.channels.axes.categories import Domain as Domain
from rrpolicy.channels.axes.matrix import full_column_rank as full_column_rank
from rrpolicy.channels.axes.recode import ANYTHING as ANYTHING
from rrpolicy.channels.axes.sets import addition_mean_squared_error as addition_mean_squared_error
from rrpolicy.channels.probability import keep_probability as keep_probability
from rrpolicy.mechanism import refuse_without_data as refuse_without_data
from rrpolicy.privacy.models.l_diversity import (
    BY_FREQUENCY as BY_FREQUENCY,
    frequency_l as frequency_l,
    group_size as group_size,
)
from rrpolicy.optimize.recode.generalise import (
    Generalised as Generalised,
    certainty_loss as certainty_loss,
    full_domain as full_domain,
    multidimensional as multidimensional,
    with_few_suppressed as with_few_suppressed,
)
from rrpolicy.optimize.recode.lattice import Choice as Choice
from rrpolicy.optimize.recode.levels import (
    Goal as Goal,
    LossName as LossName,
    Recoded as Recoded,
    axes_at as axes_at,
    class_attributes as class_attributes,
    recoded as recoded,
)
from rrpolicy.optimize.recode.rollup import Joint as Joint, Node as Node, Table as Table
from rrpolicy.optimize.retention.allocate import Allocated as Allocated, allocate as allocate
from rrpolicy.optimize.retention.workload import Marginal as Marginal, workload_problems as workload_problems
from rrpolicy.optimize.tuple_suppression import Suppression as Suppression, tuple_suppression as tuple_suppression
