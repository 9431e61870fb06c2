{% macro release_view() %}
{% if data.format == "duckdb" %}
ATTACH IF NOT EXISTS {{ manifest.pattern("data")|literal }} AS released (READ_ONLY);
CREATE OR REPLACE TEMP VIEW release AS SELECT * FROM released.data;
{% else %}
CREATE OR REPLACE TEMP VIEW release AS SELECT *
{%- for column in lists %}{% if loop.first %} REPLACE ({% else %}, {% endif %}
{{ column.name|identifier }}::JSON::{{ column.type|kind }} AS {{ column.name|identifier }}{% if loop.last %}){% endif %}
{% endfor %} FROM {{ columns|scan(manifest.pattern("data"), data, form) }};
{% endif %}
{% endmacro %}
