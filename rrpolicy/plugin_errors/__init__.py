"""Whose code something is, and whose mistake: that of a plugin, which is then named, or our own."""
