"""The protection of a release: the success of an attacker without it and with it, and the grade that follows."""
