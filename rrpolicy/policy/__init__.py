"""The policy language: TOML in, a resolved `Policy` out, every value with its place."""
