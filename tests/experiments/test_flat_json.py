"""Tests of the JSON format in which the experiments write their results."""

import json
from pathlib import Path

import flat_json
import pytest

EXPERIMENTS = Path(__file__).parents[2] / "experiments"

LISTS = """{
 "a": [
  [1, 2],
  [],
  {
   "b": 3,
   "c": 4
  }
 ],
 "d": [5, "x y"]
}
"""
OBJECTS = """{
 "a": [
  [1, 2],
  [],
  {"b": 3, "c": 4}
 ],
 "d": [5, "x y"]
}
"""


@pytest.mark.parametrize("name", ["coyote_exact", "koikoi_exact", "koikoi_size"])
def test_write_reproduces_committed_files(name, tmp_path):
    committed = EXPERIMENTS / f"{name}.json"
    flat_json.write(tmp_path / "again.json", json.loads(committed.read_text()))
    assert (tmp_path / "again.json").read_bytes() == committed.read_bytes()


@pytest.mark.parametrize(("objects", "wanted"), [(False, LISTS), (True, OBJECTS)])
def test_innermost_containers_are_on_one_line(objects, wanted, tmp_path):
    flat_json.write(tmp_path / "data.json", json.loads(wanted), objects=objects)
    assert (tmp_path / "data.json").read_text() == wanted
