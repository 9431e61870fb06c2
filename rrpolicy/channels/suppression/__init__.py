"""The channel of tuple suppression: some records keep their quasi-identifiers, the others release `*`."""
