"""From a policy and a table to a frozen channel, assessed and gated."""
