"""Descriptions in public/ for tools without support for rrpolicy: one file per standard."""
