"""The privacy models, one a file: options, words, and how findings compare. Light: a check loads no numpy here."""
