# Types that public signatures name, and where each stands: `types.py` reads this list.
from rrpolicy.canonical_json import Json as Json
from rrpolicy.channels.axes.matrix import Invariance as Invariance
from rrpolicy.channels.axes.sets import MixedIn as MixedIn
from rrpolicy.channels.axes.partition import (
    Boxes as Boxes,
    Cut as Cut,
    Groups as Groups,
    Levels as Levels,
    Rule as Rule,
)
from rrpolicy.channels.base import Layout as Layout, Sink as Sink
from rrpolicy.channels.decoders import Block as Block, Cell as Cell, Rows as Rows, WithheldDecoder as WithheldDecoder
from rrpolicy.channels.sampling.prng import Stream as Stream, Streams as Streams
from rrpolicy.channels.sampling.variates import Parts as Parts
from rrpolicy.errors import Place as Place, RRPolicyError as RRPolicyError
from rrpolicy.estimate.release import Release as Release
from rrpolicy.finding import Bound as Bound, Profile as Profile, ValueTable as ValueTable
from rrpolicy.declarations import (
    Change as Change,
    Context as Context,
    Governance as Governance,
    Waiver as Waiver,
)
from rrpolicy.policy.model import (
    Bins as Bins,
    CsvSettings as CsvSettings,
    Gate as Gate,
    LedgerSettings as LedgerSettings,
    MechanismChoice as MechanismChoice,
    Overlap as Overlap,
    ReferenceSettings as ReferenceSettings,
    ReleaseSettings as ReleaseSettings,
    Selection as Selection,
    SourceSettings as SourceSettings,
)
from rrpolicy.declarations import DesignPart as DesignPart
from rrpolicy.privacy.classes.class_model import (
    ClassModel as ClassModel,
    ModelWording as ModelWording,
    Protected as Protected,
)
from rrpolicy.privacy.classes.histograms import (
    Classes as Classes,
    Histograms as Histograms,
    Integers as Integers,
    Mask as Mask,
)
from rrpolicy.privacy.model import MinimumRisk as MinimumRisk, Written as Written
from rrpolicy.privacy.classes.class_population import Population as Population
from rrpolicy.privacy.classes.unit_classes import UnitClasses as UnitClasses
from rrpolicy.privacy.classes.unit_classes import UnitKeys as UnitKeys
from rrpolicy.report import (
    AccuracyRow as AccuracyRow,
    AlternativeRow as AlternativeRow,
    Alternatives as Alternatives,
    AssociationRow as AssociationRow,
    AttackRow as AttackRow,
    AttributePanel as AttributePanel,
    CompanionRow as CompanionRow,
    Download as Download,
    FindingRow as FindingRow,
    Histogram as Histogram,
    Letterhead as Letterhead,
    LimitLine as LimitLine,
    MapMark as MapMark,
    MarginalPanel as MarginalPanel,
    MarginalRow as MarginalRow,
    MatrixPanel as MatrixPanel,
    Obstacle as Obstacle,
    PairPanel as PairPanel,
    ProtectionPanel as ProtectionPanel,
    Promise as Promise,
    Published as Published,
    ReleasedSet as ReleasedSet,
    RiskMap as RiskMap,
    RiskRow as RiskRow,
    SetPanel as SetPanel,
    Spread as Spread,
    Tick as Tick,
    Tile as Tile,
    Usage as Usage,
    UtilityRow as UtilityRow,
)
from rrpolicy.report import Fact as Fact
from rrpolicy.counts import Array as Array
from rrpolicy.counts import Codes as Codes
from rrpolicy.counts import Counts as Counts
from rrpolicy.counts import Ints as Ints
from rrpolicy.counts import UnitCounts as UnitCounts
from rrpolicy.source.duckdb.files import Pinned as Pinned
from rrpolicy.source.duckdb.snapshot import Held as Held
from rrpolicy.source.units import Units as Units
from rrpolicy.escaping.formulas import Handling as Handling
from rrpolicy.escaping.templates import InlineStyle as InlineStyle
from rrpolicy.serialization import JsonDocument as JsonDocument
