"""Speed, the papers computed again, and how often intervals cover: each is run by hand, not by the tests."""
