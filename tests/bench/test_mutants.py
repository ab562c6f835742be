"""Mutants of the calibration and of GEH: what is made, and that those which once passed all tests are noticed now."""

from __future__ import annotations

import os

from veclink_bench import mutants
from veclink_bench.mutants import Mutant, chosen_mutants, every_mutant, mutants_of, sampled, survivors
from veclink_bench.places import ROOT

PACKAGE = ROOT / mutants.PACKAGES["confidence"]
SOURCE = '''"""A − text, with 7 in it."""

NEWTON_STEPS = 50
RATE = 0.5


def mixed(rows_a: int, rows_b: int = 3) -> float:
    """Two − sides."""
    side = "a"
    if rows_a > 1e-9:
        return RATE * rows_b
    return f"{rows_a + 1}"
'''.encode()


def changes(source: bytes) -> set[tuple[int, str, str]]:
    return {(each.line, each.old, each.new) for each in mutants_of("x.py", source)}


def test_numbers_comparisons_sides_and_terms_are_changed_and_nothing_else() -> None:
    assert changes(SOURCE) == {
        *((4, "0.5", new) for new in ("0.0", "5.0", "1.5")),
        *((7, "3", new) for new in ("0", "30", "4")),
        (9, '"a"', '"b"'),
        (10, "rows_a > 1e-9", "(rows_a <= 1e-09)"),
        (10, "rows_a", "rows_b"),
        (11, "RATE * rows_b", "(RATE)"),
        (11, "rows_b", "rows_a"),
    }


def test_every_mutant_of_the_calibration_is_python_and_there_are_many() -> None:
    made = every_mutant(PACKAGE)
    assert len(made) > 500 and len({each.file for each in made}) >= 9
    for each in made:
        compile(each.applied((PACKAGE / each.file).read_bytes()), each.file, "exec")


def test_a_sample_is_drawn_from_all_files_alike_and_again_the_same() -> None:
    made = every_mutant(PACKAGE)
    some = sampled(made, 33, 0)
    assert some == sampled(made, 33, 0) != sampled(made, 33, 1)
    assert len(set(some)) == 33
    counts = [sum(each.file == file for each in some) for file in {each.file for each in made}]
    assert max(counts) - min(counts) <= 1


def test_faults_that_once_passed_all_tests_are_noticed_by_the_golden_numbers() -> None:
    chosen = chosen_mutants(PACKAGE)
    assert len(chosen) == 7
    assert survivors(chosen, jobs=min(4, os.cpu_count() or 1), tests=("test_golden.py",)) == []


def test_faults_of_geh_that_once_passed_all_tests_are_noticed_by_the_reference() -> None:
    chosen = chosen_mutants(ROOT / mutants.PACKAGES["geh"], "geh")
    assert survivors(chosen, of="geh", jobs=min(3, os.cpu_count() or 1)) == []


def test_a_change_without_effect_survives_and_is_told() -> None:
    source = (PACKAGE / "constants.py").read_bytes()
    start = source.index(b"MUTUAL_SHARE = 0.97")
    same = Mutant("constants.py", 1, "MUTUAL_SHARE = 0.97", "MUTUAL_SHARE = 0.970", start)
    assert survivors([same], jobs=1, tests=("test_logistic.py",)) == [same]
