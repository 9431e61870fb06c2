"""What a plugin starts from: the files of a distribution, and what writes them."""
