"""Estimation from public/ alone: record weights, counts, standard errors, intervals."""
