"""Who stands behind a release: statements of it, signed, in the formats that other programs verify."""
