"""Baselines distributed with rrpolicy, each with its source: to be copied into a repository and extended there."""
