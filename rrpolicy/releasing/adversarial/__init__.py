"""The adversarial test of a release: its files attacked, and what came of it written into audit/."""
