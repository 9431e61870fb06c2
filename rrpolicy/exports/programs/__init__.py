"""What statistical programs read a release by: one file a program, written on demand and never part of a release."""
