"""Work with policies beyond one release: comparing them, and testing them against expectations."""
