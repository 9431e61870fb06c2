"""What users and auditors get, frozen: a change of names or of structure must leave all of it as it is."""
