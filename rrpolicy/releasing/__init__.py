"""Plan, assess, gate, write, verify: from a policy and a table to a bundle, and back to its promises."""
