"""Files in public/ for analysts without rrpolicy: weights, SQL, and a README."""
