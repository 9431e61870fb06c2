"""Commands on releases, a file each: `rrpolicy.cli.main` names them."""
