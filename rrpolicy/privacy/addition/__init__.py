"""The guarantees of released sets: l-diversity and t-closeness."""
