"""What tuple suppression guarantees: its classes, and disclosure through them."""
