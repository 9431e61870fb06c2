"""Attacks on written releases, each compared with the success predicted by the channel."""
