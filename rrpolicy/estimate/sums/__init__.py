"""Sums of weights and their ratios: cubes, totals, means, shares."""
