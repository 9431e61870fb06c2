"""A policy file before it is resolved: values with their places, and problems of its shape."""
