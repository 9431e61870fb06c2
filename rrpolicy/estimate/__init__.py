"""What an analyst does with a release: record weights, counts, standard errors, intervals; from public/ alone."""
