"""Privacy models, one a file, each with the assessors that decide whether a channel reaches it."""
