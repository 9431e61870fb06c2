"""Texts that commands print: plans and progress."""
