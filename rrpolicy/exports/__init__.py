"""What public/ holds for analysts without rrpolicy: weights, SQL, and a README."""
