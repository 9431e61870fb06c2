"""What the site states of the program, written from the program when the site is built (mkdocs.yml, `hooks`)."""
