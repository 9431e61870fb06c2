"""Files from untrusted sources, and files that appear whole or not at all."""
