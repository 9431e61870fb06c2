"""Results for analysts: estimates with standard errors and intervals, as text, frames and plots."""
