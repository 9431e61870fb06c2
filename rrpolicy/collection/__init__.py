"""Collection in the field: each person's record is randomised on the person's device, and there is no original."""
