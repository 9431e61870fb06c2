# What the package survey (4.1.1, R 4.2.2) makes of replicate weights; tests/estimate/test_replicates.py runs it and keeps what it says.
library(survey)
d <- read.csv("weights.csv")
scale <- as.numeric(commandArgs(TRUE)[1])
design <- svrepdesign(
  data = d, weights = ~weight, repweights = "^rep_[0-9]+$", type = "other", scale = scale, rscales = 1,
  combined.weights = TRUE, mse = TRUE
)
cells <- svytotal(~interaction(sex, wide), design)
mean <- svymean(~I(wide == "a"), design)
by <- svyby(~I(wide == "a"), ~sex, design, svymean)
ratio <- svyratio(~I(below * (wide == "a")), ~I(wide == "a") , design)
model <- svyglm(I(wide == "a") ~ sex + below, design, family = quasibinomial())
out <- c(coef(cells), SE(cells), coef(mean)[2], SE(mean)[2], coef(by)[3:4], SE(by)[[2]], coef(ratio), SE(ratio)[1],
  coef(model), SE(model))
writeLines(format(unname(out), digits = 17), "survey.txt")
