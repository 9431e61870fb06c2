"""Collection in the field: each person's record is randomised on the person's own machine, and there is no original."""
