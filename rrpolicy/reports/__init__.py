"""The report filled: the public page from public/ alone, the audit page from that and what only the audit may see."""
