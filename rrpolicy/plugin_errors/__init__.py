"""Origin of code and of errors: a plugin, which is then named, or rrpolicy."""
