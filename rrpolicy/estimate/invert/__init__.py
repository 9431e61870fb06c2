"""Other ways back from released counts: proper tables, and analyses that need no correction."""
