"""Two policies compared: what is weaker, what is stronger, and what it costs."""
