"""Analyses of released data that are valid without correction, by known properties of the matrices."""
