"""SQL for engines that rrpolicy does not open: statements that bin, recode and count, so that only counts travel."""
