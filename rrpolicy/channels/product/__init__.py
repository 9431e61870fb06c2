"""The product channel: attributes randomised independently, axis by axis."""
