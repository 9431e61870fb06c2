"""What commands print: plans, progress, and commands that can be pasted."""
