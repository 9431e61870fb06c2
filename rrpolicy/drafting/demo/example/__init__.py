"""The files that `rrpolicy demo` writes beside the demo table: a policy and its hierarchies."""
