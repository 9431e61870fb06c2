"""Risks of the people of a population: counted in a reference table, or estimated."""
