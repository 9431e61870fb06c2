"""Which analyses of released data stay valid without correction, and what must be known of the matrices for that."""
