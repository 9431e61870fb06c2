"""What public/ says of itself to tools that know nothing of rrpolicy: one file a standard."""
