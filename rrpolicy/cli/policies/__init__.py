"""Commands on policies and tables, a file each: `rrpolicy.cli.main` names them."""
