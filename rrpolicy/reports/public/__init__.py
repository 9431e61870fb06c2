"""What the public page alone shows: what the release is, how to use it, how accurate it is, what it promises."""
