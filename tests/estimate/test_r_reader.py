"""The reader for R, asked in R: the same numbers as rrpolicy's, whatever released the columns; damage is refused."""

from __future__ import annotations

import csv
import hashlib
import shutil
import subprocess

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import rrpolicy
from rrpolicy.cli.main import main
from rrpolicy.testing import policy_text

N = 400


def r_of(script, folder, *arguments, env=None):
    """Run R below `folder`, where the reader lies."""
    if shutil.which("Rscript") is None:
        pytest.skip("Rscript is not installed")
    text = 'options(warn = 2, digits = 17)\nsource("rrpolicy.R", encoding = "UTF-8")\n' + script
    (folder / "asked.R").write_text(text, encoding="utf-8")
    return subprocess.run(
        ["Rscript", "--vanilla", "asked.R", *arguments], cwd=folder, capture_output=True, text=True, check=False,
        env={"PATH": "/usr/bin:/bin", "LC_ALL": "C.UTF-8"} | (env or {}),
    )  # fmt: skip


def rows_of(path):
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


ASKED = {
    "sex": ('rr_crosstab(r, "sex")', lambda r: r.crosstab("sex")),
    "population": ('rr_crosstab(r, "sex", target = "population", level = 0.9)',
                   lambda r: r.crosstab("sex", target="population", level=0.9)),
    "hostile": ('rr_crosstab(r, c("my column", "sex"))', lambda r: r.crosstab(["my column", "sex"])),
    "below": ('rr_crosstab(r, c("below", "wide"))', lambda r: r.crosstab(["below", "wide"])),
    "coupled": ('rr_crosstab(r, c("p", "q", "square"))', lambda r: r.crosstab(["p", "q", "square"])),
    "half": ('rr_crosstab(r, "q", list(p = "u"))', lambda r: r.crosstab("q", "p = 'u'")),
    "sets": ('rr_crosstab(r, c("ill", "plain"))', lambda r: r.crosstab(["ill", "plain"])),
    "grouped": ('rr_crosstab(r, "sex", list(ill = c("flu", "=asthma")))',
                lambda r: r.crosstab("sex", "ill IN ('flu', '=asthma')")),
    "count": ('rr_count(r, list(sex = "f", below = c(1, 3), square = TRUE))',
              lambda r: r.crosstab((), "sex = 'f' AND below IN (1, 3) AND square = true")),
    "rows": ('rr_crosstab(r, "sex", list(p = "w"), rows = r$data$hours > 20)',
             lambda r: r.crosstab("sex", "p = 'w' AND hours > 20")),
    "all": ("rr_count(r)", lambda r: r.crosstab()),
}  # fmt: skip
SHARES = {
    "share": ('rr_share(r, list(wide = "a"), list(square = TRUE), "sex")',
              "SELECT sex, count(*) FILTER (WHERE wide = 'a') / count(*) AS s FROM release WHERE square GROUP BY sex"),
    "of sets": ('rr_share(r, list(ill = "flu"), by = "sex", target = "population")',
                "SELECT sex, count(*) FILTER (WHERE ill = 'flu') / count(*) AS s FROM release GROUP BY sex"),
    "within": ('rr_share(r, list(`my column` = "=1+1"), list(`my column` = c("=1+1", "the rest")))',
               """SELECT count(*) FILTER (WHERE "my column" = '=1+1') / count(*) AS s FROM release
               WHERE "my column" IN ('=1+1', 'the rest')"""),
}  # fmt: skip


def same(found, frame, names):
    expected = frame.to_dict("list")
    assert len(found) == len(frame)
    for name in names:
        got = [float(row[name]) if row[name] != "NA" else np.nan for row in found]
        assert got == pytest.approx(expected[name], rel=1e-10, abs=1e-9, nan_ok=True), name


@pytest.mark.slow
@pytest.mark.parametrize("locale", ["C.UTF-8", "C"])
def test_r_counts_as_rrpolicy_does(mixed, tmp_path, locale):
    assert main(["export", str(mixed), "--for", "r", "--out", str(tmp_path / "rrpolicy.R")]) == 0
    asked = {name: code for name, (code, _) in (ASKED | SHARES).items()}
    lines = [
        f'write.csv({code}, "{name}.csv", row.names = FALSE, fileEncoding = "UTF-8")' for name, code in asked.items()
    ]
    lines += [
        'cat(nrow(r$data), levels(r$data$sex), class(r$data$hours), is.list(r$data$ill), "\\n")',
        'print(sum(rr_weights(r, list(wide = "a", ill = "flu"))))',
    ]
    done = r_of('r <- rr_open("bundle")\n' + "\n".join(lines), tmp_path, env={"LC_ALL": locale})
    assert done.returncode == 0, done.stderr

    release = rrpolicy.open_release(mixed)
    for name, (_, ask) in ASKED.items():
        table, found = ask(release), rows_of(tmp_path / f"{name}.csv")
        same(found, table.to_frame(), ("estimate", "se", "low", "high", "released"))
        keys = [[str(v).lower() if isinstance(v, bool) else str(v) for v in row.group.values()] for row in table.rows]
        # in another locale R prints what that lacks as its code
        shown = [[row[c].replace("<U+00FC>", "ü") for c in table.by] for row in found]
        assert shown == keys, name
        assert [row["flags"] for row in found] == ["; ".join(row.flags) for row in table.rows], name
    for name, (code, sql) in SHARES.items():
        answer = release.query(sql, target="population" if "population" in code else "table")
        frame = answer.to_frame().rename(columns={"s": "estimate", "s_se": "se", "s_low": "low", "s_high": "high"})
        same(rows_of(tmp_path / f"{name}.csv"), frame, ("estimate", "se", "low", "high"))
    told, total = done.stdout.splitlines()
    assert told.split() == [str(N), "f", "m", "numeric", "TRUE"]
    expected = release.crosstab((), "wide = 'a' AND ill = 'flu'").rows[0].estimate
    assert float(total.split()[1]) == pytest.approx(expected, rel=1e-10)


@pytest.mark.slow
def test_r_refuses_what_was_changed_and_what_it_cannot_count(mixed, tmp_path):
    rrpolicy.export(mixed, "r", out=tmp_path / "rrpolicy.R")
    script = """
asked <- function(question) cat(tryCatch({ question; "answered" }, error = conditionMessage), "\\n")
r <- rr_open("bundle")
asked(rr_count(r, list(sex = "x")))
asked(rr_count(r, list(nobody = 1)))
asked(rr_crosstab(r, "hours"))
asked(rr_count(r, c(sex = "f")))
asked(rr_open("elsewhere"))
text <- readLines("bundle/public/data.csv"); text[2] <- sub('"f"', '"m"', text[2]); writeLines(text, "bundle/public/data.csv")
asked(rr_open("bundle"))
asked(rr_open("bundle", verify = FALSE))
json <- readLines("bundle/public/release.json", warn = FALSE); writeLines(sub("4/5", "3/5", json), "bundle/public/release.json")
asked(rr_open("bundle"))
"""
    done = r_of(script, tmp_path)
    assert done.returncode == 0, done.stderr
    found = [line.strip() for line in done.stdout.splitlines()]
    expected = [
        "sex has no category x; it has f, m", "no such column: nobody", "hours cannot be counted by: it has no categories",
        "a condition is a list of columns", "no release here", "data.csv was changed after it was released", "answered",
        "release.json was changed after it was released",
    ]  # fmt: skip
    assert len(found) == len(expected)
    for got, begins in zip(found, expected, strict=True):
        assert got.startswith(begins)


@pytest.mark.slow
def test_r_reads_the_files_of_a_table_as_one(tmp_path):
    policy = """[attributes]
sex = { role = "quasi-identifier", domain = ["f", "m"] }
[[privacy]]
model = "local-dp"
epsilon = 2
[mechanism]
name = "pram"
[release]
rows_per_file = 70
"""
    (tmp_path / "policy.toml").write_text(policy_text(policy))
    people = pa.table({"sex": ["f", "m", "m"] * 100})
    release = rrpolicy.open_release(
        rrpolicy.release(tmp_path / "policy.toml", tmp_path / "bundle", source=people).public
    )
    expected = release.crosstab("sex").to_frame()
    parts = sorted((tmp_path / "bundle/public/data").iterdir())
    for part in parts:  # base R reads no Parquet
        pa.csv.write_csv(pq.read_table(part), tmp_path / f"{part.name}.csv")
    rrpolicy.export(tmp_path / "bundle", "r", out=tmp_path / "rrpolicy.R")
    script = """
.rr_parquet <- function(file) read.csv(paste0(basename(file), ".csv"))
write.csv(rr_crosstab(rr_open("bundle"), "sex"), "found.csv", row.names = FALSE)
parts <- list.files("bundle/public/data", full.names = TRUE)
invisible(file.copy(parts[1], parts[2], overwrite = TRUE))
tryCatch(rr_open("bundle"), error = function(e) cat(conditionMessage(e), "\\n"))
"""

    done = r_of(script, tmp_path)

    assert done.returncode == 0, done.stderr
    assert len(parts) == 5
    same(rows_of(tmp_path / "found.csv"), expected, ["estimate", "se", "low", "high", "released"])
    assert done.stdout.startswith("data/part-00001.parquet was changed")


def test_its_digest_is_sha_256(mixed, tmp_path):
    sizes = (0, 1, 55, 56, 63, 64, 119, 120, 1000)
    for size in sizes:
        (tmp_path / str(size)).write_bytes(bytes(i * 7 % 256 for i in range(size)))
    rrpolicy.export(mixed, "r", out=tmp_path / "rrpolicy.R")
    listed = ", ".join(map(str, sizes))
    done = r_of(f'for (n in c({listed})) cat(.rr_sha256(readBin(as.character(n), "raw", n)), "\\n")', tmp_path)
    assert done.stdout.split() == [hashlib.sha256((tmp_path / str(n)).read_bytes()).hexdigest() for n in sizes]


def test_no_file_is_overwritten_and_no_program_made_up(mixed, tmp_path, capsys):
    (tmp_path / "there.R").write_text("mine")
    assert main(["export", str(mixed), "--for", "r", "--out", str(tmp_path / "there.R")]) == 4
    assert (tmp_path / "there.R").read_text() == "mine"
    assert main(["export", str(mixed), "--for", "excel"]) == 2
    assert "RR278" in capsys.readouterr().err
    assert main(["export", str(mixed), "--for", "r"]) == 0
    assert "rr_crosstab <- function" in capsys.readouterr().out
