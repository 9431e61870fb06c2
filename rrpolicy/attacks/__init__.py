"""Attacks on written releases, each beside the success that its channel predicts."""
