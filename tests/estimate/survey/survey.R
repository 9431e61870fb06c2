# Numbers for test_against_survey.py, by the R package survey 4.1-1: Rscript make.R sample.csv > survey.json
suppressPackageStartupMessages(library(survey))
t <- read.csv(commandArgs(trailingOnly = TRUE)[1], stringsAsFactors = TRUE)
t$one <- 1
t$yes <- as.numeric(t$ill == "yes")
t$near <- t$village %% 100
N <- c(F = 1400, M = 1300)
pop <- data.frame(sex = names(N), Freq = N)
regions <- c(north = 600, south = 900, west = 1200)
designs <- list(
  clustered = svydesign(ids = ~village, strata = ~region, weights = ~weight, data = t),
  nested = svydesign(ids = ~near, strata = ~region, weights = ~weight, data = t, nest = TRUE),
  records = svydesign(ids = ~1, strata = ~region, weights = ~weight, data = t),
  weights = svydesign(ids = ~1, weights = ~weight, data = t),
  clusters = svydesign(ids = ~village, data = t, probs = ~one)
)
designs$poststratified <- postStratify(designs$clustered, ~sex, pop)
designs$calibrated <- calibrate(designs$clustered, ~sex + region,
  c(`(Intercept)` = 2700, sexM = 1300, regionsouth = 900, regionwest = 1200))
designs$calibrated_records <- calibrate(designs$weights, ~sex + region,
  c(`(Intercept)` = 2700, sexM = 1300, regionsouth = 900, regionwest = 1200))
options(survey.lonely.psu = "adjust")
few <- t[t$region != "south" | t$village == 105, ]
designs$alone <- svydesign(ids = ~village, strata = ~region, weights = ~weight, data = few)
pair <- function(x) list(estimate = unname(as.numeric(coef(x))), se = unname(as.numeric(SE(x))))
tested <- function(d, f) {
  found <- svychisq(f, d, statistic = "F")
  list(F = unname(c(found$statistic, found$parameter, found$p.value)))
}
answers <- lapply(designs, function(d) {
  women <- subset(d, sex == "F")
  list(
    count = pair(svytotal(~interaction(sex, ill), d)),
    total = pair(svytotal(~income, d)),
    mean = pair(svymean(~income, d)),
    means = pair(svyby(~income, ~sex, d, svymean)),
    visits = pair(svymean(~visits, d)),
    share = pair(svymean(~yes, d)),
    share_of_women = pair(svymean(~yes, women)),
    total_of_women = pair(svytotal(~income, women)),
    logistic = pair(svyglm(yes ~ sex + region, d, family = quasibinomial())),
    linear = pair(svyglm(visits ~ sex + yes, d)),
    poisson = pair(svyglm(visits ~ yes, d, family = quasipoisson())),
    sex_ill = tested(d, ~sex + ill),
    sex_visits = tested(d, ~sex + visits),
    degrees = degf(d)
  )
})
number <- function(x) paste0("[", paste(sprintf("%.12g", x), collapse = ", "), "]")
write_one <- function(a) paste0("{", paste(sapply(names(a), function(n) {
  v <- a[[n]]
  if (is.list(v) && !is.null(v$F)) sprintf('"%s": %s', n, number(v$F)) else if (is.list(v)) sprintf('"%s": {"estimate": %s, "se": %s}', n, number(v$estimate), number(v$se)) else sprintf('"%s": %d', n, v)
}), collapse = ",\n    "), "}")
cat("{\n  ", paste(sapply(names(answers), function(n) sprintf('"%s": %s', n, write_one(answers[[n]]))), collapse = ",\n  "), "\n}\n", sep = "")
