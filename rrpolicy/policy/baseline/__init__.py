"""Baselines: settings that a policy inherits from the policy that it extends, and where it would weaken them."""
