"""Tests of policies on small tables with expected results."""
