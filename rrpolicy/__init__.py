"""rrpolicy: release policies in git, privacy-protected microdata releases, reports that an auditor can recompute."""

__version__ = "0.1.0"
