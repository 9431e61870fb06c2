"""Commands on what a release says: estimates, tests, models, rules, and what holds without them."""
