"""One page a code: what it means, why, what to do. `rrpolicy explain CODE` prints it."""
