"""Estimates of the population from a sample whose design is known: weights, strata, clusters, known totals."""
