"""Commands on the program itself, a file each: `rrpolicy.cli.main` names them."""
