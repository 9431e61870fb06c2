"""The papers behind rrpolicy, computed again through `import rrpolicy`: `make papers` writes docs/explanation/results.md."""
