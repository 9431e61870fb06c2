"""The folder that a policy lies in: which files it may name, and which commit it is."""
