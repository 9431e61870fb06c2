"""Dataclasses as JSON documents, and back."""
