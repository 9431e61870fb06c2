-- Counts from this release, in plain DuckDB: run `duckdb -init estimate.sql` in this folder.
{% if dealt|length == 1 %}
-- Records and sensitive values stand in two tables, joined by {{ key|comment }}: a record's value is one of its group's.
{% else %}
-- Records and the values of each sensitive column stand in tables of their own, joined by {{ key|comment }}: a record's value is
-- one of its group's. Which values of {{ dealt[0].value|comment }} and {{ dealt[1].value|comment }} belong to one record is not released: nothing can be
-- counted by both, and {{ dealt[0].table|comment }} must not be joined with {{ dealt[1].table|comment }}.
{% endif %}
-- Counts by the columns of one table are exact. Across both, a record counts in equal shares for its group's values.
-- Of a group of n records, a with what is asked of {{ of|comment }} and b values with what is asked of {{ dealt[0].table|comment }}:
--   estimate = sum(a b / n)
--   low      = sum(max(0, a + b - n))     (no fewer records can have both)
--   high     = sum(min(a, b))             (nor more)
--   flags    = 'spread' where low and high differ: they are certain, the estimate is not
-- The estimate is biased: where values go with the other columns it is drawn towards independence. It has no standard
-- error: nothing in this release tells how far off it is, but that it lies between low and high.
{% if form.note %}

-- {{ form.note|comment }}
{% endif %}
{% for name, columns in tables.items() %}

{% if data.format == "duckdb" %}
ATTACH IF NOT EXISTS {{ manifest.pattern(name)|literal }} AS {{ ("released_" + name)|identifier }} (READ_ONLY);
CREATE OR REPLACE TEMP VIEW {{ name|identifier }} AS SELECT * FROM {{ ("released_" + name)|identifier }}.{{ name|identifier }};
{% else %}
CREATE OR REPLACE TEMP VIEW {{ name|identifier }} AS SELECT * FROM {{ columns|scan(manifest.pattern(name), data, form) }};
{% endif %}
{% endfor %}

{% for d in dealt %}
{% if not loop.first %}

{% endif %}
-- Every record with every value of its group; `share` is how likely it is the record's own by chance.
CREATE OR REPLACE TEMP VIEW {{ d.joined|identifier }} AS
SELECT records.*, {{ d.table|identifier }}.{{ d.value|identifier }}, {{ d.table|identifier }}.{{ count|identifier }} / sizes.n AS share
FROM {{ of|identifier }} AS records JOIN {{ d.table|identifier }} USING ({{ key|identifier }})
JOIN (SELECT {{ key|identifier }}, sum({{ count|identifier }})::DOUBLE AS n FROM {{ d.table|identifier }} GROUP BY ALL) AS sizes USING ({{ key|identifier }});

-- By the sensitive column alone: exact.
CREATE OR REPLACE TEMP VIEW {{ ("estimate_" + d.value)|identifier }} AS
SELECT {{ d.value|identifier }}, sum({{ count|identifier }})::BIGINT AS records
FROM {{ d.table|identifier }} GROUP BY ALL ORDER BY ALL;
{% if by %}
{% set estimate, low, high, flags, a, b, n = free((by, d.value, key), "estimate", "low", "high", "flags", "a", "b", "n") %}

-- By both: change the columns of `a` (and a WHERE there) and the values of `b` for other counts.
CREATE OR REPLACE TEMP VIEW {{ d.example|identifier }} AS
WITH a AS (
    SELECT {{ key|identifier }}, {{ by|identifier }}, count(*) AS {{ a }} FROM {{ of|identifier }} GROUP BY ALL
), n AS (
    SELECT {{ key|identifier }}, sum({{ count|identifier }})::DOUBLE AS {{ n }} FROM {{ d.table|identifier }} GROUP BY ALL
), b AS (
    SELECT {{ key|identifier }}, {{ d.value|identifier }}, sum({{ count|identifier }}) AS {{ b }} FROM {{ d.table|identifier }} GROUP BY ALL
), sums AS (
    SELECT {{ by|identifier }}, {{ d.value|identifier }}, sum({{ a }} * {{ b }} / {{ n }}) AS {{ estimate }},
        sum(greatest({{ a }} + {{ b }} - {{ n }}, 0))::BIGINT AS {{ low }}, sum(least({{ a }}, {{ b }}))::BIGINT AS {{ high }}
    FROM a JOIN n USING ({{ key|identifier }}) JOIN b USING ({{ key|identifier }}) GROUP BY ALL
)
SELECT {{ by|identifier }}, {{ d.value|identifier }}, {{ estimate }}, {{ low }}, {{ high }}, CASE WHEN {{ low }} < {{ high }} THEN 'spread' ELSE '' END AS {{ flags }}
FROM sums ORDER BY {{ by|identifier }}, {{ d.value|identifier }};
{% endif %}
{% endfor %}

-- The examples, as they run:
{% for d in dealt %}

SELECT * FROM {{ ("estimate_" + d.value)|identifier }};
{% if by %}

SELECT * FROM {{ d.example|identifier }};
{% endif %}
{% endfor %}
