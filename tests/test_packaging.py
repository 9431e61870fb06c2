"""What the wheel holds, what it registers, and that the two never drift apart."""

from __future__ import annotations

import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.specifiers import SpecifierSet
from packaging.utils import canonicalize_name
from packaging.version import Version

import rrpolicy
from rrpolicy.plugin_errors.distributions import install

ROOT = Path(__file__).resolve().parent.parent
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())


@pytest.mark.parametrize("extra", PROJECT["project"]["optional-dependencies"])
def test_what_an_extra_brings_is_named_by_a_command_that_needs_no_index_of_rrpolicy(extra: str) -> None:
    """A checkout is on no index, so that `pip install 'rrpolicy[extra]'` would fail there."""
    command, *libraries = shlex.split(install(extra).removeprefix("pip "))
    stated = PROJECT["project"]["optional-dependencies"][extra]
    assert command == "install"
    assert set(map(Requirement, libraries)) == set(map(Requirement, stated))


def test_packages_are_the_top_level_names_and_the_entry_points() -> None:
    """Each list of pyproject.toml that names the built-in plugins names those in the folders, and no other."""
    tool, built = PROJECT["tool"], PROJECT["tool"]["hatch"]["build"]
    rooms = ("plugins", "reports")
    folders = {p.name: room for room in rooms for p in (ROOT / room).iterdir() if (p / "__init__.py").exists()}
    plugins = {*folders}
    one, others, only_facade, inside = [
        next(c for c in tool["importlinter"]["contracts"] if c["name"].startswith(name))
        for name in ("the core knows", "built-in plugins", "plugins import", "a plugin's modules")
    ]

    assert set(PROJECT["project"]["entry-points"]["rrpolicy"].values()) == {*plugins, "rrpolicy.builtin"}
    assert {*built["targets"]["wheel"]["packages"]} == {"rrpolicy", *(f"{room}/{n}" for n, room in folders.items())}
    assert {"rrpolicy", *rooms} <= {*built["targets"]["sdist"]["only-include"]} & {*tool["mypy"]["files"]}
    for listed in (
        tool["check-wheel-contents"]["toplevel"],
        tool["coverage"]["run"]["source"],
        tool["importlinter"]["root_packages"],
    ):
        assert set(listed) == {"rrpolicy", *plugins}
    for listed in (
        one["forbidden_modules"],
        others["modules"],
        only_facade["source_modules"],
        inside["ancestors"],
    ):
        assert set(listed) == plugins


def test_every_package_is_typed() -> None:
    for package in PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]:
        assert (ROOT / package / "py.typed").exists(), package


def test_dependencies_state_ranges() -> None:
    from packaging.requirements import Requirement

    for text in PROJECT["project"]["dependencies"]:
        specifier: SpecifierSet = Requirement(text).specifier
        assert any(s.operator == ">=" for s in specifier), text
        assert not any(s.operator == "==" for s in specifier), text


def test_plugin_module_loads_no_heavy_library() -> None:
    code = "import sys, rrpolicy.plugin; print([m for m in ('numpy', 'scipy', 'pyarrow', 'duckdb', 'pandas', 'jinja2') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_artifacts_name_no_registry_and_no_workplace_path() -> None:
    """Files under version control name no package registry host and no absolute home path."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout")
    command = ["git", "-c", "safe.directory=*", "ls-files"]  # a gate may run as somebody else than the checkout's owner
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split()
    hosts = ("pypi" + ".org", "npmjs" + ".org", "deb.debian" + ".org", "/root" + "/", "/home" + "/")
    for name in (n for n in listed if (ROOT / n).is_file()):  # a link to a folder is listed, too
        text = (ROOT / name).read_bytes().decode("utf-8", "ignore")
        assert not [host for host in hosts if host in text], name


def test_every_dependency_is_held_to_a_version_and_its_digests():
    text = (ROOT / "constraints.txt").read_text().replace(" \\\n", "")
    held: dict[str, list[str]] = {}
    for line in text.splitlines():  # a name, a version, perhaps a marker, and digests: no host, no option
        found = re.fullmatch(r"([a-z0-9.-]+)==([^ ;]+)( ; [^/:]*?)?( +--hash=sha256:[0-9a-f]{64})+", line)
        assert found, line
        held.setdefault(found[1], []).append(found[2])
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    groups = project["dependency-groups"].values()
    for written in [*project["project"]["dependencies"], *(d for group in groups for d in group if isinstance(d, str))]:
        wanted = Requirement(written)
        assert any(map(wanted.specifier.contains, held[canonicalize_name(wanted.name)])), written


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> dict[str, set[str]]:
    """The files of the source distribution and of the wheel that is built from it, as `make build` makes them."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(command, capture_output=True, check=True)
    (sdist,), (wheel,) = folder.glob("*.tar.gz"), folder.glob("*.whl")
    with tarfile.open(sdist) as packed, zipfile.ZipFile(wheel) as wheeled:
        sources = {name.partition("/")[2] for name in packed.getnames()}
        return {"sdist": sources, "wheel": set(wheeled.namelist())}


def test_distributions_carry_every_file_of_the_packages(built):
    """Templates, codes and schemas are found beside the code wherever it is installed: none is a link, none is left out."""
    for package in map(Path, PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]):
        paths = [path for path in (ROOT / package).rglob("*") if "__pycache__" not in path.parts]
        assert not [path for path in paths if path.is_symlink()]
        files = [path for path in paths if path.is_file()]
        assert {path.relative_to(ROOT).as_posix() for path in files} <= built["sdist"]
        assert {path.relative_to((ROOT / package).parent).as_posix() for path in files} <= built["wheel"]
    assert "rrpolicy/schemas/rrpolicy.release-1.json" in built["wheel"]


def test_the_readme_of_a_wheel_links_to_nothing_that_it_lacks(tmp_path):
    code = "import sys; from hatchling.build import prepare_metadata_for_build_wheel as p; print(p(sys.argv[1]))"
    done = subprocess.run(
        [sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, check=True, text=True
    )
    text = (tmp_path / done.stdout.strip() / "METADATA").read_text()

    assert "## Documentation" in text
    assert "[steward]" in (ROOT / "README.md").read_text()
    assert re.findall(r"\]\((?!https?://)", text) == []


def test_an_editable_install_leaves_no_second_package_beside_the_checkout(tmp_path):
    """What is copied there, instead of pointed to, hides the checkout's package."""
    code = "import sys; from hatchling.build import build_editable; build_editable(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(tmp_path)], cwd=ROOT, capture_output=True, check=True)
    (wheel,) = tmp_path.glob("*.whl")
    with zipfile.ZipFile(wheel) as wheeled:
        assert [name for name in wheeled.namelist() if "/" in name and ".dist-info/" not in name] == []


def test_actions_are_pinned_by_digest():
    for path in (ROOT / ".github" / "workflows").glob("*.yml"):
        for used in re.findall(r"uses: (.*)", path.read_text()):
            assert re.fullmatch(r"[\w.-]+/[\w.-]+@[0-9a-f]{40} # v[\d.]+", used), used


def test_a_version_is_published_without_a_token_by_who_built_nothing():
    """Who may publish runs no code of the repository; what is published was built, run and attested before."""
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "release.yml").read_text())["jobs"]
    publish = jobs["publish"]

    assert "secrets." not in (ROOT / ".github" / "workflows" / "release.yml").read_text()
    assert publish["permissions"] == {"id-token": "write"}
    assert publish["environment"] == "release"
    assert publish["needs"] == "build"
    assert [step for step in publish["steps"] if "run" in step] == []
    used = [step.get("uses", "").partition("@")[0] for step in jobs["build"]["steps"]]
    assert used.index("actions/attest-build-provenance") < used.index("actions/upload-artifact")
    assert all("TAG" not in str(step.get("run")) or "TAG" in step["env"] for step in jobs["build"]["steps"])


def test_this_version_has_a_heading_in_the_changelog():
    headings = re.findall(r"^## (\S+)", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE)
    assert headings[0] == rrpolicy.__version__
    assert headings == sorted(set(headings), key=Version, reverse=True)


def test_the_changelog_is_short_and_has_the_sections_that_users_know():
    text = (ROOT / "CHANGELOG.md").read_text()
    sections = re.findall(r"^### (.+)$", text, re.MULTILINE)
    assert set(sections) <= {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert max(map(len, text.splitlines())) <= 160
    assert all(len(version.encode()) < 15_000 for version in re.split(r"(?m)^## ", text))


def test_windows_is_told_where_rrpolicy_runs():
    code = "import sys; sys.platform = 'win32'; import rrpolicy"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "ImportError: rrpolicy runs on Linux and macOS; on Windows" in done.stderr
    systems = {c for c in PROJECT["project"]["classifiers"] if c.startswith("Operating System")}
    assert systems == {"Operating System :: MacOS", "Operating System :: POSIX :: Linux"}
    assert "on Linux and macOS; on Windows in WSL or the container" in (ROOT / "README.md").read_text()


def test_the_container_copies_what_there_is_and_runs_as_nobody_special():
    """Read, not built: that needs a container engine."""
    text = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    lines = [shlex.split(line, comments=True) for line in text.splitlines()]
    steps = [(line[0], line[1:]) for line in lines if line]
    bases = [words[0] for step, words in steps if step == "FROM"]
    assert len(bases) == 2
    assert all(re.fullmatch(r"python:3\.11\.\d+-slim-[a-z]+", base) for base in bases)

    copied = [word for step, words in steps if step == "COPY" and "--from=build" not in words for word in words[:-1]]
    listed = (ROOT / ".dockerignore").read_text().splitlines()
    assert {line.removeprefix("!") for line in listed if line.startswith("!")} == set(copied)
    assert not [name for name in copied if not (ROOT / name).exists()]
    packages = PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["packages"]
    assert {Path(package).parts[0] for package in packages} <= set(copied)

    last = steps[1 + max(i for i, (step, _) in enumerate(steps) if step == "FROM") :]
    assert ("USER", ["10001"]) in last
    assert [words for step, words in last if step == "COPY"] == [["--from=build", "/opt/rrpolicy", "/opt/rrpolicy"]]
    assert last[-1] == ("ENTRYPOINT", ["[rrpolicy]"])
    assert "rrpolicy" in PROJECT["project"]["scripts"]


@pytest.mark.slow
def test_what_the_container_copies_is_enough_to_build_rrpolicy(tmp_path: Path) -> None:
    lines = [line.split() for line in (ROOT / "Containerfile").read_text().splitlines() if line.startswith("COPY ")]
    copied = [source for words in lines if words[1][:2] != "--" for source in words[1:-1]]
    assert "rrpolicy" in copied
    for name in copied:
        if (ROOT / name).is_dir():
            shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
        else:
            shutil.copy(ROOT / name, tmp_path / name)
    command = [
        sys.executable,
        "-m",
        "pip",
        "wheel",
        "--quiet",
        "--no-deps",
        "--no-build-isolation",
        "--wheel-dir",
        "made",
        ".",
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    (wheel,) = (tmp_path / "made").glob("rrpolicy-*.whl")
    assert "rrpolicy/cli/main.py" in zipfile.ZipFile(wheel).namelist()
