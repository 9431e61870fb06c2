# What engines use that read, draw and write tables elsewhere, and where it stands: `engines.py` reads this list.
from rrpolicy.plugin_errors.distributions import install as install
from rrpolicy.errors import RefusedError as RefusedError
from rrpolicy.formats.parts import FileParts as FileParts, FileSink as FileSink
from rrpolicy.formats.rows import divided as divided
from rrpolicy.source.duckdb.files import refuse_versioned_folder as refuse_versioned_folder
from rrpolicy.source.duckdb.snapshot import rounding as rounding
from rrpolicy.source.protocol import RecordBlock as RecordBlock, DrawnBlock as DrawnBlock, Distributed as Distributed
from rrpolicy.source.run_length import counted as counted, repeated as repeated
from rrpolicy.exports.sql.columns import category_sql as category_sql
