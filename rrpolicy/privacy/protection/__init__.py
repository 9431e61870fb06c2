"""How strong a release is: what an attacker attains without it and with it, and the grade that follows."""
