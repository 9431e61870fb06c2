"""What an analyst gets: estimates with standard errors and intervals, as text, frames and plots."""
