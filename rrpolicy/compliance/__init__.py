"""What a release shows of what a regime asks: every clause cites a finding, a declaration, or says "not covered"."""
