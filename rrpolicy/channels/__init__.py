"""Channels: Pr(released | original) written down as data, drawn from, assessed, published and decoded."""
