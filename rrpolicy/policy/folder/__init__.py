"""The folder of a policy: the files that it may name, its git commit, and uris of tables of counts."""
