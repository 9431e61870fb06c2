"""The guarantees of groups of anatomy: bounds, simulated and exact posteriors, and checks of written groups."""
