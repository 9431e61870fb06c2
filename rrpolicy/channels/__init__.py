"""Channels: Pr(released | original) as data, drawn from, assessed, published and decoded."""
