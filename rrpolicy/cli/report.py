"""`rrpolicy report BUNDLE`."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from rrpolicy.cli.estimate import NO_VERIFY, UNVERIFIED
from rrpolicy.errors import PolicyError, Problem, unwritable
from rrpolicy.untrusted.printable import visible

if TYPE_CHECKING:
    from rrpolicy.registry import Registry
    from rrpolicy.report import Renderer, Report


def command(
    bundle: Annotated[Path, typer.Argument(help="The bundle's folder, or its public/ folder alone.", metavar="BUNDLE")],
    *,
    form: Annotated[str, typer.Option("--format", help="html, json, or what a plugin offers.")] = "html",
    page: Annotated[
        Literal["public", "audit"] | None,
        typer.Option("--page", help="Default: audit where audit/report.json is at hand, else public."),
    ] = None,
    out: Annotated[Path | None, typer.Option("--out", help="Where to write it; default: standard output.")] = None,
    as_json: Annotated[bool, typer.Option("--json", help="The same as --format json.")] = False,
    plugins: Annotated[
        list[str] | None,
        typer.Option("--plugin", help="A distribution to load as well, such as acme-oue>=1.2; a bundle loads none."),
    ] = None,
    no_verify: Annotated[bool, typer.Option("--no-verify", help=NO_VERIFY)] = False,
) -> int:
    """Write the report of a release again.

    The public page is filled anew from the published files; the audit page from audit/report.json. Both only if their
    digests are those of the release. A bundle is never written into.
    """
    from rrpolicy.discovery import load_registry
    from rrpolicy.release.appearing import refuse_existing

    public, audit = _folders(bundle)
    registry = load_registry(plugins or ())
    renderer = _renderer(registry, "json" if as_json else form)
    if out is not None:
        _outside(out, bundle)
        refuse_existing(out)
    wanted = page or ("audit" if audit is not None else "public")
    if no_verify:
        print(UNVERIFIED, file=sys.stderr)
    content = renderer.render(_report(wanted, public, audit, registry, verify=not no_verify))
    if out is None:
        sys.stdout.buffer.write(content)
        return 0
    _save(content, out)
    print(f"wrote the {wanted} report to {visible(str(out))}", file=sys.stderr)
    return 0


def _save(content: bytes, out: Path) -> None:
    """Write a file as a whole or not at all; nothing is overwritten."""
    from rrpolicy.leaving import token, unfinished
    from rrpolicy.release.appearing import appear

    made = out.with_name(f".{out.name}.{token()}")
    try:
        with unfinished(made):
            made.write_bytes(content)
            appear(made, out)
    except OSError as error:
        raise unwritable(str(out), error) from error


def _folders(bundle: Path) -> tuple[Path, Path | None]:
    """Return the public/ folder, and audit/report.json if it is there."""
    if not (bundle / "public").is_dir():
        return bundle, None
    audit = bundle / "audit" / "report.json"
    return bundle / "public", audit if audit.is_file() else None


def _renderer(registry: Registry, form: str) -> Renderer:
    renderers = registry.renderers
    if form not in renderers:
        raise PolicyError(
            Problem("RR257", f"there is no renderer '{form}'", expected=", ".join(sorted(renderers)) or "none at hand")
        )
    return renderers[form]


def _outside(out: Path, bundle: Path) -> None:
    if out.resolve().is_relative_to(bundle.resolve()):
        raise PolicyError(
            Problem(
                "RR258",
                f"{out} lies inside the bundle: verify would find a file that nobody released",
                hint="write it elsewhere",
            )
        )


def _report(page: str, public: Path, audit: Path | None, registry: Registry, *, verify: bool) -> Report:
    if page == "public":
        return _public(public, registry, verify=verify)
    if audit is None:
        raise PolicyError(
            Problem(
                "RR259",
                f"there is no audit/report.json beside {public}",
                hint="the public folder alone gives the public page: --page public",
            )
        )
    from rrpolicy.estimate.sealed import check_seal
    from rrpolicy.release.report.fill import read_report
    from rrpolicy.untrusted.document import UnreadableError, read_document

    try:
        if verify:
            check_seal(audit.parent, read_document(audit.with_name("audit.json")), [audit.name], "audit.json")
        document = read_document(audit)
    except UnreadableError as error:
        raise PolicyError(Problem("RR259", f"audit/{error}")) from error
    return read_report(document)


def _public(public: Path, registry: Registry, *, verify: bool) -> Report:
    from rrpolicy.channel.reading import channel_from_json
    from rrpolicy.estimate.opening import open_release
    from rrpolicy.estimate.sealed import no_release
    from rrpolicy.release.report.fill import public_report, release_document

    release = release_document(public)
    open_release(public, verify=verify)
    try:
        kind = release["channel"]["kind"]
        channel = channel_from_json(release["channel"], registry.kinds) if kind in registry.kinds else None
        if channel is None:
            told = f"the page lacks what the plugin of '{kind}' tells; name the plugin with --plugin"
            print(visible(told), file=sys.stderr)
        sections = () if channel is None else channel.sections(release["records"], None)
        return public_report(public, models=registry.privacy_models, sections=sections)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise no_release(public, "its release.json contradicts itself") from error
