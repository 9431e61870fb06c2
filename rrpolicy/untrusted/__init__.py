"""What somebody else may have written: limited files, documents without ambiguities, text that steers nothing."""
