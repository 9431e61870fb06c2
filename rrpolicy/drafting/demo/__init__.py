"""The engine `demo`: a synthetic table for examples, and a folder to start from."""
