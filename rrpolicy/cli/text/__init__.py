"""What commands print: plans and progress."""
