"""Files with which statistical programs read a release: one per program, written on demand, never part of a release."""
