{% from "release.sql" import release_view with context %}
{% set w %}w{% if weight %}, d{% endif %}{% endset %}
{% set pw %}part, whole{% if weight %}, d{% endif %}{% endset %}
{% set wx %}w, x{% if weight %}, d{% endif %}{% endset %}
{% set d %}{% if weight %}d * {% endif %}{% endset %}
{% set d2 %}{% if weight %}d * d * {% endif %}{% endset %}
{% set least %}{% if not weight %}least({% endif %}{% endset %}
{% set most_of %}{% if not weight %}, {{ records }}){% endif %}{% endset %}
{% set stand_in %}{% if clustered %}NULL{% else %}est_se_population({{ w }}){% endif %}{% endset %}
{% set more %}{{ records }}::DOUBLE / greatest({{ records }} - 1, 1){% endset %}
-- Macros of corrected counts for DuckDB, made from this release: `.read macros.sql` in its folder public/.
-- Released values of randomised columns may differ from the original ones. w_COLUMN(COLUMN, [categories]) is the weight
-- of a record in the count of records whose original value is one of these categories; weights of several columns
-- multiply. Aggregates of weights are estimates:
--
--     SELECT est_count({{ w }}), est_se({{ w }}), est_low({{ w }}), est_high({{ w }})
--     FROM (SELECT w_sex(sex, ['female']) * w_disease(disease, ['asthma', 'diabetes']) AS w
{%- if weight %}, {{ weight|comment }} AS d{% endif %} FROM release);
--
-- By original category: a view domain_COLUMN has one row a category.
--
--     SELECT c.disease, est_count(w_disease(r.disease, [c.disease]){% if weight %}, r.{{ weight|comment }}{% endif %}) AS estimate
--     FROM release AS r, domain_disease AS c GROUP BY ALL;
--
--     est_count({{ w }})               the estimated number of {% if weight %}people{% else %}records{% endif %}: unbiased, it may be negative
--     est_se({{ w }})                  its standard error of this table: only the randomisation is random
{% if not clustered %}
--     est_se_population({{ w }})       of the population that the table is a random sample of
{% endif %}
--     est_low({{ w }}), est_high({{ w }})    the {{ level }} interval of this table
--     est_share({{ pw }})     the share of the part in the whole; the weight of the part holds that of the whole
--     est_share_se({{ pw }})  its standard error of this table
--     est_mean({{ wx }})             the mean of a column that was released as it is, over the records that w counts
--     est_mean_se({{ wx }})          its standard error of this table
--
-- Columns released as they are take a plain WHERE or GROUP BY; a randomised column never does.
{%- if weight %} An interval of few records
-- (fewer than 5 that were released with these values) is unreliable.
{% else %}

{% endif %}
{% if weight %}
--
-- The release states a survey's weights: d is how many people a record stands for, here {{ weight|comment }}. Estimates are of people,
-- each standard error of this table's own records.
{% if calibrated %}
-- They are not calibrated to the totals that the release states; `rrpolicy estimate query` calibrates.
{% endif %}
{% elif designed %}
-- The release states the design of a survey, of which these macros know no weight: they count records of this table.
{% endif %}
{% if weights_inside %}
-- The publisher kept the survey's weights: every record counts alike, and nothing is said of the population.
{% elif clustered %}
-- How its strata and clusters vary is no aggregate of records: errors of the population are those of `rrpolicy estimate query`, or by
-- the weights of `rrpolicy estimate replicates`.
{% endif %}
{% if most > 1 and not clustered %}
-- A person may have several records: do not use est_se_population, which takes records for independent.
{% endif %}

{{ release_view() }}

CREATE OR REPLACE TEMP MACRO est_count({{ w }}) AS sum({{ d }}w);

{% if not clustered %}
CREATE OR REPLACE TEMP MACRO est_se_population({{ w }}) AS
    sqrt({{ more }} * greatest(sum({{ d2 }}w * w) - sum({{ d }}w) ** 2 / {{ records }}::DOUBLE, 0));

{% endif %}
CREATE OR REPLACE TEMP MACRO est_se({{ w }}) AS CASE
    WHEN abs(sum({{ d2 }}w * w) - sum({{ d2 }}w)) <= 1e-9 * sum({{ d2 }}w * w) THEN 0
    WHEN sum({{ d2 }}w * w) < sum({{ d2 }}w) THEN {{ stand_in }}
    ELSE sqrt(sum({{ d2 }}w * w) - sum({{ d2 }}w)) END;

CREATE OR REPLACE TEMP MACRO est_half({{ w }}) AS
{% if weight %}
    {{ quantile }} * est_se({{ w }});
{% else %}
    CASE WHEN est_se(w) > 0 THEN {{ quantile }} * est_se(w) + 0.5 ELSE 0 END;
{% endif %}

CREATE OR REPLACE TEMP MACRO est_middle({{ w }}) AS CASE
    WHEN sum({{ d }}w) + est_half({{ w }}) <= 0 THEN 0
{% if not weight %}
    WHEN sum(w) - est_half(w) >= {{ records }} THEN {{ records }}
{% endif %}
    ELSE sum({{ d }}w) END;

CREATE OR REPLACE TEMP MACRO est_low({{ w }}) AS
    {{ least }}greatest(est_middle({{ w }}) - est_half({{ w }}), 0){{ most_of }};

CREATE OR REPLACE TEMP MACRO est_high({{ w }}) AS
    {{ least }}greatest(est_middle({{ w }}) + est_half({{ w }}), 0){{ most_of }};

CREATE OR REPLACE TEMP MACRO est_at(r, v0, v1, v2) AS v0 - 2 * r * v1 + r * r * v2;

CREATE OR REPLACE TEMP MACRO est_share({{ pw }}) AS CASE WHEN sum({{ d }}whole) > 0 THEN sum({{ d }}part) / sum({{ d }}whole) END;

CREATE OR REPLACE TEMP MACRO est_share_se({{ pw }}) AS CASE WHEN sum({{ d }}whole) > 0 THEN sqrt(CASE
    WHEN est_at(est_share({{ pw }}), sum({{ d2 }}(part * part - part)), sum({{ d2 }}(part * whole - part)),
        sum({{ d2 }}(whole * whole - whole))) >= 0
    THEN est_at(est_share({{ pw }}), sum({{ d2 }}(part * part - part)), sum({{ d2 }}(part * whole - part)),
        sum({{ d2 }}(whole * whole - whole)))
{% if clustered %}
    END) / sum({{ d }}whole) END;
{% else %}
    ELSE greatest({{ more }} * est_at(est_share({{ pw }}), sum({{ d2 }}part * part), sum({{ d2 }}part * whole),
        sum({{ d2 }}whole * whole)), 0) END) / sum({{ d }}whole) END;
{% endif %}

CREATE OR REPLACE TEMP MACRO est_mean({{ wx }}) AS CASE
    WHEN sum({{ d }}w) FILTER (WHERE x IS NOT NULL) > 0 THEN sum({{ d }}w * x) / sum({{ d }}w) FILTER (WHERE x IS NOT NULL) END;

CREATE OR REPLACE TEMP MACRO est_mean_se({{ wx }}) AS CASE WHEN sum({{ d }}w) FILTER (WHERE x IS NOT NULL) > 0 THEN sqrt(CASE
    WHEN est_at(est_mean({{ wx }}), sum({{ d2 }}(w * w - w) * x * x), sum({{ d2 }}(w * w - w) * x),
        sum({{ d2 }}(w * w - w)) FILTER (WHERE x IS NOT NULL)) >= 0
    THEN est_at(est_mean({{ wx }}), sum({{ d2 }}(w * w - w) * x * x), sum({{ d2 }}(w * w - w) * x),
        sum({{ d2 }}(w * w - w)) FILTER (WHERE x IS NOT NULL))
{% if clustered %}
    END) / sum({{ d }}w) FILTER (WHERE x IS NOT NULL) END;
{% else %}
    ELSE greatest({{ more }} * est_at(est_mean({{ wx }}), sum({{ d2 }}w * w * x * x), sum({{ d2 }}w * w * x),
        sum({{ d2 }}w * w) FILTER (WHERE x IS NOT NULL)), 0) END) / sum({{ d }}w) FILTER (WHERE x IS NOT NULL) END;
{% endif %}
