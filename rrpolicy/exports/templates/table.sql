{% from "release.sql" import release_view with context %}
{% from "views.sql" import corrected, spread_evenly with context %}
{% if untouched %}
-- Counts from this release, in plain DuckDB: run `duckdb -init estimate.sql` in this folder.
-- Every released value is the original one: plain counts are exact.
{% elif spread %}
-- Counts by original category, in plain DuckDB: run `duckdb -init estimate.sql` in this folder.
-- Columns were generalised: a released label stands for one original category or several, and `*` for any. How many
-- records have a label is exact: these counts come first. Inside a label, a record counts in equal shares for every category that
-- the label stands for:
-- weight = product of one weight for each generalised column that the query names.
--   estimate = sum(w)                  (biased where a group is not spread evenly; it has no standard error)
--   low      = records with w = 1      (they are certain to be in the cell)
--   high     = records with w > 0      (no other record can be in the cell)
-- A condition on a generalised column is one on `original` of its weights; on any other column, a plain WHERE.
{% else %}
-- Corrected counts from this release, in plain DuckDB: run `duckdb -init estimate.sql` in this folder.
-- Every released value of a randomised column may differ from the original one, so plain counts are biased.
-- A count of original records is a sum of record weights: weight = product of one weight for each randomised column
-- that the query names (columns it does not name need none). For {{ records }} records, with w the weight of a record:
--   estimate            = sum(w)                 (unbiased; may be negative: do not clip it)
--   variance, table     = sum(w^2) - sum(w)      (this table: only the randomisation is random)
--   variance, population = N/(N-1) * (sum(w^2) - sum(w)^2/N)   (the table is a random sample of a population)
-- se is of this table (of the population where its own variance is negative); low and high are its {{ level }} interval,
-- with a continuity correction of half a record.
-- An interval that lies outside [0, N] altogether is drawn around the nearest possible count instead: never a point.
-- A condition on a randomised column is one on `original` of its weights; on any other column, a plain WHERE.
{% endif %}

{% if form.note %}
-- {{ form.note|comment }}
{% endif %}
{{ release_view() }}{% for file in weights %}

CREATE OR REPLACE TEMP TABLE {{ file.view|identifier }} AS
SELECT *
{%- for heading in file.escaped %}{% if loop.first %} REPLACE ({% else %}, {% endif %}
{{ heading|unescaped }} AS {{ heading|identifier }}{% if loop.last %}){% endif %}
{% endfor %} FROM read_csv({{ file.path|literal }}, auto_detect = false, header = true, delim = ',', quote = '"',
    escape = '"', allow_quoted_nulls = false, columns = {
{%- for heading, kind in file|typed(columns) %}{{ heading|literal }}: {{ kind|literal }}{% if not loop.last %}, {% endif %}{% endfor %}});
{% endfor %}
{% if most > 1 %}

-- A person may have several records: do not use se_population, which takes records for independent.
-- se, low and high are of this table and hold, because every record was randomised by itself.
{% endif %}
{% for view in released %}
{% set n = free(view.columns, "records")[0] %}
{% set by = view.columns|map("identifier")|join(", ") %}

CREATE OR REPLACE TEMP VIEW {{ view.name|identifier }} AS
SELECT {{ by }}, count(*) AS {{ n }} FROM release GROUP BY ALL ORDER BY {{ n }} DESC, {{ by }};
{% endfor %}
{% for view in views %}

{{ spread_evenly(view) if view.spread else corrected(view) }}
{%- endfor %}
{% if released + views %}

-- The examples, as they run:
{% endif %}
{% for view in released + views %}

SELECT * FROM {{ view.name|identifier }};
{% endfor %}
