"""The folder that a policy lies in: which files it may name, which commit it is, and how uris tell of counts."""
