"""release.json: what it says, and the one reader of it."""
