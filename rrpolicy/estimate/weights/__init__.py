"""Record weights of every decoder form: a count of originals is a sum of weights of released records."""
