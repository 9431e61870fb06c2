"""What a limit of attribute disclosure may be put on besides the risk: correct readings, the best guess, its gain."""
