"""Printing the report of a release again, from the released files."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, TypeAlias

from rrpolicy.errors import (
    MissingNameError,
    PolicyError,
    Problem,
)
from rrpolicy.frozen import replace
from rrpolicy.plugin_errors.type_checks import check_return_type
from rrpolicy.safe_io.atomic_write import refuse_existing, write_new_file

if TYPE_CHECKING:
    from rrpolicy.manifest.manifest import Manifest
    from rrpolicy.registry import Registry
    from rrpolicy.report import Fact, Renderer, Report, Section

Page: TypeAlias = Literal["public", "audit", "plan"]
log = logging.getLogger("rrpolicy")


@dataclass(frozen=True, slots=True)
class RenderedReport:
    """A printed report.

    Attributes:
        form: the renderer's name, such as `html`.
        file: path of the written file; None if not written.
    """

    page: Page
    form: str
    content: bytes = field(repr=False)
    file: Path | None = None

    @property
    def text(self) -> str:
        """Return the content of a page of text.

        Raises:
            UnicodeDecodeError: if a plugin's form is not text.
        """
        return self.content.decode()


def rerender_report(  # noqa: PLR0917 those of `rrpolicy.render`
    bundle: Path,
    page: Page | None,
    form: str,
    out: Path | None,
    plugins: Sequence[str],
    attested: Sequence[Fact] = (),
    *,
    verify: bool,
) -> RenderedReport:
    """Print a report again; see `rrpolicy.render` for the arguments and errors.

    `attested` contains the facts of signed statements on the release, for the audit page.
    """
    from rrpolicy.discovery import load_registry

    public, audit = _bundle_folders(bundle)
    registry = load_registry(plugins)
    _report_renderer(registry, form, public)
    if out is not None:
        _require_outside_bundle(out, bundle)
        refuse_existing(out)
    wanted: Page = page or ("audit" if audit is not None else "public")
    report = _page_report(wanted, public, audit, registry, verify=verify)
    if wanted == "audit":
        report = replace(report, attested=tuple(attested))
    return render_report(report, registry, form, out)


def render_report(report: Report, registry: Registry, form: str, out: Path | None) -> RenderedReport:
    """Print an existing report.

    Raises:
        PolicyError: RR257 if the renderer is unknown.
        RefusedError: RR402 if the file exists; RR407, RR408 if it cannot be written.
    """
    renderer = _report_renderer(registry, form, None)
    if out is not None:
        refuse_existing(out)
    content = check_return_type(bytes, renderer.render)(report)
    if out is not None:
        write_new_file(out, content)
    return RenderedReport(report.page, form, content, out)


def _bundle_folders(bundle: Path) -> tuple[Path, Path | None]:
    """Return the public/ folder, and audit/report.json if it exists."""
    if not (bundle / "public").is_dir():
        return bundle, None
    audit = bundle / "audit" / "report.json"
    return bundle / "public", audit if audit.is_file() else None


def _report_renderer(registry: Registry, form: str, public: Path | None) -> Renderer:
    from rrpolicy.discovery import with_missing_plugins
    from rrpolicy.manifest.sealed_manifest import read_release

    renderers = registry.renderers
    if form not in renderers:
        if public is not None:
            with suppress(PolicyError):  # a folder without a release names no plugins
                with_missing_plugins(registry, read_release(public).software).refuse_absent("renderer", form)
        raise PolicyError(
            Problem("RR257", f"there is no renderer '{form}'", expected=", ".join(sorted(renderers)) or "none at hand")
        )
    return renderers[form]


def _require_outside_bundle(out: Path, bundle: Path) -> None:
    if out.resolve().is_relative_to(bundle.resolve()):
        raise PolicyError(
            Problem(
                "RR258",
                f"{out} lies inside the bundle: verify would find a file that nobody released",
                hint="write it elsewhere",
            )
        )


def _page_report(page: Page, public: Path, audit: Path | None, registry: Registry, *, verify: bool) -> Report:
    if page == "public":
        return _public_page_report(public, registry, verify=verify)
    if audit is None:
        raise PolicyError(
            Problem(
                "RR259",
                f"there is no audit/report.json next to {public}",
                hint="the public folder alone gives the public page: --page public",
            )
        )
    from rrpolicy.manifest.sealed_manifest import check_seal
    from rrpolicy.reports.report_builder import parse_report
    from rrpolicy.safe_io.document import UnreadableError, read_document

    try:
        if verify:
            check_seal(audit.parent, read_document(audit.with_name("audit.json")), [audit.name], "audit.json")
        document = read_document(audit)
    except UnreadableError as error:
        raise PolicyError(Problem("RR259", f"audit/{error}")) from error
    return parse_report(document)


def _channel_sections(manifest: Manifest, registry: Registry) -> tuple[Section, ...]:
    """Return the published channel's report sections; empty, with a warning, if its plugin is not loaded."""
    from rrpolicy.channels.json_decoding import channel_from_json

    try:
        channel = channel_from_json(manifest.channel, registry.kinds)
    except MissingNameError as error:
        flags = " or ".join(f"--plugin {name}" for name in manifest.made_with("rrpolicy_channels"))
        log.warning("the page lacks what the %s '%s' shows; %s loads it", error.what, error.name, flags or "an update")
        return ()
    return channel.sections(manifest.records, None)


def _public_page_report(public: Path, registry: Registry, *, verify: bool) -> Report:
    from rrpolicy.estimate.opening import open_release
    from rrpolicy.manifest.sealed_manifest import no_release_error
    from rrpolicy.reports.report_builder import public_report

    manifest = open_release(public, verify=verify, formats=registry.formats).manifest
    try:
        sections = _channel_sections(manifest, registry)
        models, formats = registry.privacy_models, registry.formats
        return public_report(public, manifest, models=models, sections=sections, formats=formats)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise no_release_error(public, "its release.json contradicts itself") from error
