"""CSV as other programs write it: encodings, delimiters, decimal commas, titles; found out, and read."""

from __future__ import annotations

import gzip

import pytest

from rrpolicy.drafting.detection import detect_csv_settings, missing_codes
from rrpolicy.errors import DataError
from rrpolicy.policy.model import Bins, CsvSettings
from rrpolicy.source.duckdb.delimited import CsvTextFile
from rrpolicy.source.duckdb.source import DuckDBSource

from .conftest import carried, qi

ROWS = [("Ünal, A", "12,5", "north"), ("Öz", "7,25", "south"), ("Äh", "s/d", "north"), ("x", "3", "south")] * 3
SPANISH = "Encuesta de hogares\n\nciudad;ingreso;región\n" + "".join(f'"{a}";{b};{c}\n' for a, b, c in ROWS)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"a,b\n1,2\n3,4\n", CsvSettings()),
        ("\ufeffa,b\n1,ü\n".encode(), CsvSettings()),
        ("a,b\u2028c,d\x0be\x1c\n1,2,3\n".encode(), CsvSettings()),
        (b"a;b\n1;2\n3;4\n", CsvSettings(delimiter=";")),
        (b"a\tb\n1\t2\n", CsvSettings(delimiter="\t")),
        (b"a|b|c\n1|2|3\n", CsvSettings(delimiter="|")),
        (b"a;b\n1,5;2\n3,25;4\n", CsvSettings(delimiter=";", decimal=",")),
        (b'a,b\n"1,5",2\n"3,25",4\n', CsvSettings(decimal=",")),
        (b"a;b\n1.5;2\n3.25;4\n", CsvSettings(delimiter=";")),
        ("a,b\n1,é\n".encode("latin-1"), CsvSettings(encoding="latin-1")),
        ("a,b\n1,€\n".encode("windows-1252"), CsvSettings(encoding="windows-1252")),
        ("a,b\n1,é\n".encode("utf-16"), CsvSettings(encoding="utf-16")),
        (b"a,b\n" + b"1,2\n" * 600_000 + "1,é\n".encode("latin-1"), CsvSettings(encoding="latin-1")),
        (b"Survey of households\n\na,b\n1,2\n3,4\n", CsvSettings(skip=2)),
        (b"a,b\n'1,5','x'\n'2,5','y'\n", CsvSettings(decimal=",", quote="'")),
        (b"'a'\t'b'\n1\t2\n3\t4\n", CsvSettings(delimiter="\t", quote="'")),
        (b"'a',b\n1,2\n3,4\n", CsvSettings()),
        (SPANISH.encode("latin-1"), CsvSettings(delimiter=";", encoding="latin-1", decimal=",", skip=2)),
        (b"a\n1\n2\n", CsvSettings()),
        (b"", CsvSettings()),
    ],
)
def test_what_a_file_is_spelled_in_is_found_out(content, expected, tmp_path):
    (tmp_path / "t.csv").write_bytes(content)
    (tmp_path / "t.csv.gz").write_bytes(gzip.compress(content))

    assert detect_csv_settings(str(tmp_path / "t.csv")) == expected
    assert detect_csv_settings(str(tmp_path / "t.csv.gz")) == expected


def test_a_tsv_needs_no_delimiter(tmp_path):
    (tmp_path / "t.tsv").write_bytes(b"a\tb\n1\t2\n")

    assert detect_csv_settings(str(tmp_path / "t.tsv")) == CsvSettings()


@pytest.mark.parametrize(
    ("values", "n", "expected"),
    [
        (["1", "2", "s/d", "NA"], [50, 40, 3, 2], ("NA", "s/d")),
        (["1,5", "2", "?"], [50, 40, 3], ("?",)),
        (["male", "female", "n/a", "."], [50, 40, 3, 1], (".", "n/a")),
        (["1", "2", *"abcdefghij"], [50, 40, *[1] * 10], ()),
        (["no", "yes"], [5, 5], ()),
        (["1", "2", "5+", "do not watch"], [50, 40, 30, 3], ()),
        (["6", "7", "<5", "10+", "NA", "-"], [50, 40, 30, 3, 2, 1], ("-", "NA")),
        (["1", "2", "#DIV/0!"], [50, 40, 3], ("#DIV/0!",)),
        (["100", "250", "1,234"], [50, 40, 3], ()),
    ],
)
def test_texts_that_stand_for_no_value_are_found(values, n, expected):
    assert missing_codes(values, n, comma="1,5" in values) == expected


@pytest.mark.parametrize("packed", [False, True])
def test_what_is_found_out_is_how_it_is_read(packed, opened, tmp_path):
    content = SPANISH.encode("latin-1")
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(content) if packed else content)
    bins = Bins((0.0, 10.0, float("inf")), ("little", "much"))
    columns = [
        carried("ciudad", assume_unlinkable="a test"),
        qi("ingreso", "little", "much", "none", bins=bins, nulls="none", missing=("s/d",)),
        qi("región", "north", "south"),
    ]
    with opened(path, *columns, csv=detect_csv_settings(str(path))) as original:
        counts = original.counts("ingreso").dense().tolist()
        names = original.sample("ciudad").column("ciudad").unique().to_pylist()

    assert counts == [6, 3, 3]
    assert sorted(names) == ["x", "Äh", "Öz", "Ünal, A"]


def test_decimal_commas_are_numbers(opened, tmp_path):
    (tmp_path / "t.csv").write_text("a;b\n1,5;x\n2;x\n-0,5;x\n")
    with opened(tmp_path / "t.csv", qi("a", 1.5, 2.0, -0.5), qi("b", "x"), csv=CsvSettings(";", decimal=",")) as read:
        assert read.counts("a").dense().tolist() == [1, 1, 1]
        assert read.snapshot.columns() == {"a": "DOUBLE", "b": "VARCHAR"}


def test_another_encoding_than_said_is_refused(opened, tmp_path):
    (tmp_path / "t.csv").write_bytes("a,b\n1,é\n".encode("latin-1"))
    for encoding in ("utf-8", "utf-16", "euc-kr"):
        with (
            pytest.raises(DataError, match=f"not {encoding.upper()} text") as caught,
            opened(tmp_path / "t.csv", qi("a", 1), qi("b", "é"), csv=CsvSettings(encoding=encoding)),
        ):
            pass
        assert caught.value.problems[0].code == "RR304"


LONG = "x" * 33_000_000


@pytest.mark.slow
@pytest.mark.parametrize("ending", ["", "\n", "\r\n"])
@pytest.mark.parametrize("packed", [False, True])
def test_a_record_that_the_engine_loses_is_an_error(ending, packed, opened, tmp_path):
    content = ("a,b\n" + "1,2\n" * 1_000 + f"9,{LONG}{ending}").encode()
    path = tmp_path / ("t.csv.gz" if packed else "t.csv")
    path.write_bytes(gzip.compress(content, 1) if packed else content)

    with pytest.raises(DataError) as caught, opened(path, qi("a", 1, 9), carried("b", assume_unlinkable="a test")):
        pass

    problem = caught.value.problems[0]
    assert problem.code in {"RR303", "RR326"}  # an engine may also see by itself that the record is too long
    if problem.code == "RR326":
        assert problem.message == f"'{path.name}': the engine read 1,000 records, and counting finds 1,001 records"


@pytest.mark.parametrize(
    "content",
    [
        "a,b\n1,2\n3,4",
        "a,b\n1,2\n3,4\n",
        "a,b\r\n1,2\r\n3,4\r\n",
        "a,b\r1,2\r3,4\r",
        "a,b\n1,2\n\n3,4\n\n\n",
        'a,b\n1,"2\n\n2"\n3,"4"',
        'a,b\n1,"2 "" \n"\n3,4\n',
        'a,b\n1,5" tall\n3,4\n',
        'a,b\n1,5" tall\n3,6" tall\n',
    ],
)
def test_records_are_counted_as_the_engine_counts_them(content, opened, tmp_path):
    (tmp_path / "t.csv").write_text(content, newline="")
    with opened(tmp_path / "t.csv", qi("a", 1, 3), carried("b", assume_unlinkable="a test")) as original:
        assert original.records == 2
    assert CsvTextFile(str(tmp_path / "t.csv"), ",", '"').records() == 2


def test_an_empty_line_of_one_column_is_counted_as_the_engine_does(opened, tmp_path):
    (tmp_path / "t.csv").write_text("a\n1\n\n3\n")
    with opened(tmp_path / "t.csv", qi("a", 1, 3, "none", nulls="none")) as original:
        assert original.counts("a").dense().tolist()[:2] == [1, 1]


def test_a_copy_is_private(tmp_path):
    (tmp_path / "t.csv").write_bytes("a,b\n1,é\n".encode("latin-1"))
    scratch = tmp_path / "scratch"
    scratch.mkdir(mode=0o700)
    from rrpolicy.policy.model import Reading

    with DuckDBSource().open(str(tmp_path / "t.csv"), None, scratch, Reading(CsvSettings(encoding="latin-1"))):
        assert {path.stat().st_mode & 0o777 for path in scratch.glob("text-*")} == {0o600}
