# What engines use that read and write tables elsewhere, and where it stands: `engines.py` reads this list.
from rrpolicy.errors import RefusedError as RefusedError
from rrpolicy.formats.parts import FileSink as FileSink, FileParts as FileParts
from rrpolicy.formats.rows import divided as divided
from rrpolicy.warehouse.columns import category_sql as category_sql
