"""A policy file before it means anything: values beside their places, and what is wrong with them."""
