"""What an organisation does with policies beyond one release: compare them, and hold them to what was expected."""
