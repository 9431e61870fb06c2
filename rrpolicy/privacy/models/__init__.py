"""The privacy models, one per file: options, words and comparison. A check loads no numpy here."""
