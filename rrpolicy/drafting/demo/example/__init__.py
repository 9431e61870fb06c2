"""The files that `rrpolicy demo` writes next to the demo table: a policy and its hierarchies."""
