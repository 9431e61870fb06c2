{% from "release.sql" import release_view with context %}
-- Macros of corrected counts for DuckDB, made from this release: `.read macros.sql` in its folder public/.
-- Released values of randomised columns may differ from the original ones. w_COLUMN(COLUMN, [categories]) is the weight
-- of a record in the count of records whose original value is one of these categories; weights of several columns
-- multiply. Aggregates of weights are estimates:
--
--     SELECT est_count(w), est_se(w), est_low(w), est_high(w)
--     FROM (SELECT w_sex(sex, ['female']) * w_disease(disease, ['asthma', 'diabetes']) AS w FROM release);
--
-- By original category: a view domain_COLUMN has one row a category.
--
--     SELECT d.disease, est_count(w_disease(r.disease, [d.disease])) AS estimate
--     FROM release AS r, domain_disease AS d GROUP BY ALL;
--
--     est_count(w)               the estimated number of records: unbiased, it may be negative
--     est_se(w)                  its standard error of this table: only the randomisation is random
--     est_se_population(w)       of the population that the table is a random sample of
--     est_low(w), est_high(w)    the 95 % interval of this table
--     est_share(part, whole)     the share of the part in the whole; the weight of the part holds that of the whole
--     est_share_se(part, whole)  its standard error of this table
--     est_mean(w, x)             the mean of a column that was released as it is, over the records that w counts
--     est_mean_se(w, x)          its standard error of this table
--
-- Columns released as they are take a plain WHERE or GROUP BY; a randomised column never does. An interval of few records
-- (fewer than 5 that were released with these values) is unreliable.
{% if designed %}
-- The release tells the design of a survey, which these macros leave out: they count records of this table, without
-- weights. Do not use est_se_population; `rrpolicy query` and `rrpolicy replicates` know the design.
{% endif %}
{% if most > 1 %}
-- A person may have several records: do not use est_se_population, which takes records for independent.
{% endif %}

{{ release_view() }}

CREATE OR REPLACE TEMP MACRO est_count(w) AS sum(w);

CREATE OR REPLACE TEMP MACRO est_se_population(w) AS
    sqrt({{ records }}::DOUBLE / greatest({{ records }} - 1, 1) * greatest(sum(w * w) - sum(w) ** 2 / {{ records }}::DOUBLE, 0));

CREATE OR REPLACE TEMP MACRO est_se(w) AS CASE
    WHEN abs(sum(w * w) - sum(w)) <= 1e-9 * sum(w * w) THEN 0
    WHEN sum(w * w) < sum(w) THEN est_se_population(w)
    ELSE sqrt(sum(w * w) - sum(w)) END;

CREATE OR REPLACE TEMP MACRO est_middle(w) AS CASE
    WHEN sum(w) + 1.959963984540054 * est_se(w) <= 0 THEN 0
    WHEN sum(w) - 1.959963984540054 * est_se(w) >= {{ records }} THEN {{ records }}
    ELSE sum(w) END;

CREATE OR REPLACE TEMP MACRO est_low(w) AS
    least(greatest(est_middle(w) - 1.959963984540054 * est_se(w), 0), {{ records }});

CREATE OR REPLACE TEMP MACRO est_high(w) AS
    least(greatest(est_middle(w) + 1.959963984540054 * est_se(w), 0), {{ records }});

CREATE OR REPLACE TEMP MACRO est_at(r, v0, v1, v2) AS v0 - 2 * r * v1 + r * r * v2;

CREATE OR REPLACE TEMP MACRO est_share(part, whole) AS CASE WHEN sum(whole) > 0 THEN sum(part) / sum(whole) END;

CREATE OR REPLACE TEMP MACRO est_share_se(part, whole) AS CASE WHEN sum(whole) > 0 THEN sqrt(CASE
    WHEN est_at(est_share(part, whole), sum(part * part) - sum(part), sum(part * whole) - sum(part),
        sum(whole * whole) - sum(whole)) >= 0
    THEN est_at(est_share(part, whole), sum(part * part) - sum(part), sum(part * whole) - sum(part),
        sum(whole * whole) - sum(whole))
    ELSE greatest({{ records }}::DOUBLE / greatest({{ records }} - 1, 1) * est_at(est_share(part, whole),
        sum(part * part) - sum(part), sum(part * whole) - sum(part) - sum(whole) / 2,
        sum(whole * whole) - 2 * sum(whole)), 0) END) / sum(whole) END;

CREATE OR REPLACE TEMP MACRO est_mean(w, x) AS CASE
    WHEN sum(w) FILTER (WHERE x IS NOT NULL) > 0 THEN sum(w * x) / sum(w) FILTER (WHERE x IS NOT NULL) END;

CREATE OR REPLACE TEMP MACRO est_mean_se(w, x) AS CASE WHEN sum(w) FILTER (WHERE x IS NOT NULL) > 0 THEN sqrt(CASE
    WHEN est_at(est_mean(w, x), sum((w * w - w) * x * x), sum((w * w - w) * x), sum(w * w - w) FILTER (WHERE x IS NOT NULL)) >= 0
    THEN est_at(est_mean(w, x), sum((w * w - w) * x * x), sum((w * w - w) * x), sum(w * w - w) FILTER (WHERE x IS NOT NULL))
    ELSE greatest({{ records }}::DOUBLE / greatest({{ records }} - 1, 1) * est_at(est_mean(w, x), sum(w * w * x * x),
        sum(w * w * x), sum(w * w) FILTER (WHERE x IS NOT NULL)), 0) END) / sum(w) FILTER (WHERE x IS NOT NULL) END;
