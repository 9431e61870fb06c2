-- What may be counted of this release as it stands, in plain DuckDB: run `duckdb -init estimate.sql` in this folder.
-- Columns were randomised by matrices that the publisher withholds: {{ kept|map("comment")|join(", ") }}.
-- Counts of those are biased and cannot be corrected; README.md says what holds without the matrices.

{% if form.note %}
-- {{ form.note|comment }}
{% endif %}
{% if data.format == "duckdb" %}
ATTACH IF NOT EXISTS {{ manifest.pattern("data")|literal }} AS released (READ_ONLY);
CREATE OR REPLACE TEMP VIEW release AS SELECT * FROM released.data;
{% else %}
CREATE OR REPLACE TEMP VIEW release AS SELECT * FROM {{ columns|scan(manifest.pattern("data"), data, form) }};
{% endif %}

-- The examples, as they run:

SELECT count(*) AS records FROM release;
{% for name in counted %}

SELECT {{ name|identifier }}, count(*) AS records FROM release GROUP BY ALL ORDER BY ALL;
{% endfor %}
