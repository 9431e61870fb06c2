"""release.json: its content, and its only reader."""
