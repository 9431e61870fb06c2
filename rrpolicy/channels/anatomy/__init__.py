"""The channel of anatomy: records dealt into groups, released as two tables."""
