"""Pictures of results: what stands in them, and as what they are drawn."""
