"""What dealt groups guarantee and leave open: bounds, posteriors, simulation, and what was written."""
