# What engines use that read tables elsewhere, and where it stands: `engines.py` reads this list.
from rrpolicy.errors import RefusedError as RefusedError
from rrpolicy.warehouse.columns import category_sql as category_sql
