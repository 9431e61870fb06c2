"""Association rules with corrected supports and confidences."""
