"""Commands that analyse, report and export a release."""
