"""Regression models of a release: linear, logistic, Poisson and multinomial."""
