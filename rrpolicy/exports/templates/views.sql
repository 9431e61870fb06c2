{% macro grouped(view, n, w) %}
{% set by = view.columns|map("identifier")|join(", ") %}
CREATE OR REPLACE TEMP VIEW {{ view.name|identifier }} AS
WITH r AS (
    SELECT {{ by }}, count(*) AS {{ n }} FROM release GROUP BY ALL
), weighted AS (
    SELECT {% for file in view.files %}{{ shown(file, loop.index) }}, {% endfor %}
{% for column in view.plain %}r.{{ column|identifier }}, {% endfor %}
r.{{ n }} AS {{ n }}, {% for file in view.files %}{{ weight(file, loop.index) }}{% if not loop.last %} * {% endif %}{% endfor %} AS {{ w }}
    FROM r
{% for file in view.files %}
    JOIN {{ file.view|identifier }} AS {{ alias(loop.index) }} ON {{ joined(file, loop.index) }}
{% endfor %}
)
{%- endmacro %}

{% macro alias(i) %}{% if i == 1 %}a{% else %}b{% endif %}{% endmacro %}

{% macro shown(file, i) %}
{% for heading, column in file.originals %}
{{ alias(i) }}.{{ heading|identifier }} AS {{ column|identifier }}{% if not loop.last %}, {% endif %}
{% endfor %}
{% endmacro %}

{% macro joined(file, i) %}
{% if file.sets %}
true
{%- else %}
{% for heading, column in file.releaseds %}
r.{{ column|identifier }} = {{ alias(i) }}.{{ heading|identifier }}{% if not loop.last %} AND {% endif %}
{% endfor %}
{% endif %}
{% endmacro %}

{% macro weight(file, i) %}
{% if file.sets %}
CASE WHEN len(list_filter(range(1, len(r.{{ file.axis.columns[0]|identifier }}) + 1), lambda i:
{%- for heading, column in file.originals %}
 r.{{ column|identifier }}[i] = {{ alias(i) }}.{{ heading|identifier }}{% if not loop.last %} AND{% endif %}
{% endfor %}
)) > 0 THEN {{ alias(i) }}.weight_held ELSE {{ alias(i) }}.weight_not_held END
{%- else %}
{{ alias(i) }}.weight
{%- endif %}
{% endmacro %}

{% macro spread_evenly(view) %}
{% set n, w, estimate, low, high = free(view.columns, "n", "w", "estimate", "low", "high") %}
{% set by = view.columns|map("identifier")|join(", ") %}
{{ grouped(view, n, w) }}
SELECT {{ by }}, sum({{ n }} * {{ w }}) AS {{ estimate }},
    sum(CASE WHEN {{ w }} >= 1 THEN {{ n }} ELSE 0 END) AS {{ low }}, sum({{ n }}) AS {{ high }}
FROM weighted GROUP BY ALL ORDER BY {{ by }};
{% endmacro %}

{% macro corrected(view) %}
{% set z = quantile %}
{% set N %}{{ records }}::DOUBLE{% endset %}
{% set n, w, square, variance, population, middle, half = free(view.columns, "n", "w", "sum_w2", "var_table", "var_population", "middle", "half") %}
{% set estimate, se, se_population, low, high = free(view.columns, "estimate", "se", "se_population", "low", "high") %}
{% set by = view.columns|map("identifier")|join(", ") %}
{{ grouped(view, n, w) }}, sums AS (
    SELECT {{ by }}, sum({{ n }} * {{ w }}) AS {{ estimate }}, sum({{ n }} * {{ w }} ** 2) AS {{ square }}
    FROM weighted GROUP BY ALL
), variances AS (
    SELECT {{ by }}, {{ estimate }},
        CASE WHEN abs({{ square }} - {{ estimate }}) <= 1e-9 * {{ square }} THEN 0 ELSE {{ square }} - {{ estimate }} END AS {{ variance }},
        {{ N }} / greatest({{ N }} - 1, 1) * greatest({{ square }} - {{ estimate }} ** 2 / {{ N }}, 0) AS {{ population }}
    FROM sums
), errors AS (
    SELECT {{ by }}, {{ estimate }}, sqrt(CASE WHEN {{ variance }} < 0 THEN {{ population }} ELSE {{ variance }} END) AS {{ se }},
        sqrt({{ population }}) AS {{ se_population }}
    FROM variances
), centred AS (
    SELECT *, CASE WHEN {{ estimate }} + {{ half }} <= 0 THEN 0 WHEN {{ estimate }} - {{ half }} >= {{ N }} THEN {{ N }}
        ELSE {{ estimate }} END AS {{ middle }}
    FROM (SELECT *, CASE WHEN {{ se }} > 0 THEN {{ z }} * {{ se }} + 0.5 ELSE 0 END AS {{ half }} FROM errors)
)
SELECT {{ by }}, {{ estimate }}, {{ se }}, {{ se_population }},
    least(greatest({{ middle }} - {{ half }}, 0), {{ N }}) AS {{ low }},
    least(greatest({{ middle }} + {{ half }}, 0), {{ N }}) AS {{ high }}
FROM centred ORDER BY {{ by }};
{% endmacro %}
