"""What a limit of attribute disclosure may be put on besides the risk: the best guess, and its gain."""
