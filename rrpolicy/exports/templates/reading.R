{% macro weights_of(file) %}
{% set frame = caller() %}
{{ frame }} <- read.csv({{ file.path|r }}, colClasses = c({{ file|r_classes|join(", ") }}), na.strings = character(0))
{% call unescaped(file.escaped) %}{{ frame }}{% endcall %}
{% endmacro %}
{% macro unescaped(columns) %}
{% set frame = caller() %}
{% for column in columns %}
{{ frame }}[[{{ column|r }}]] <- sub("^'", "", {{ frame }}[[{{ column|r }}]])
{% endfor %}
{% endmacro %}
{% macro interval() %}
N <- {{ caller() }}
half <- ifelse(se > 0, {{ quantile_rounded }} * se + 1 / 2, 0)
middle <- ifelse(estimate + half <= 0, 0, ifelse(estimate - half >= N, N, estimate))
{% endmacro %}
