"""The benchmark beside burning processes gives a row for each piece of work, and ends what it began."""

from __future__ import annotations

import json
import os
import subprocess

import numpy as np
from benchmarks import crowded

import numloom as nl


def test_rows_beside_a_burner(tmp_path, capsys):
    file = tmp_path / "found.json"
    assert crowded.main(["--burners", "0,1", "--seconds", "0.02", "--only", "softmax", "--json", str(file)]) == 0
    row = capsys.readouterr().out.splitlines()[-1]
    assert row.startswith("softmax") and row.count("/") == 2
    found = json.loads(file.read_text())["seconds"]
    assert list(found) == ["softmax of 3,000 x 300"] and len(found["softmax of 3,000 x 300"]) == 2


def test_burners_end_with_the_block(monkeypatch):
    begun = []
    start = subprocess.Popen
    monkeypatch.setattr(
        subprocess, "Popen", lambda *args, **options: begun.append(start(*args, **options)) or begun[-1]
    )
    with crowded.burners(2):
        assert [process.poll() for process in begun] == [None, None]
    assert all(process.poll() is not None for process in begun) and os.getpid()


def test_both_libraries_do_the_same_work():
    ours, theirs = crowded.data_of(nl), crowded.data_of(np)
    for name, work in crowded.WORKS.items():
        np.testing.assert_allclose(nl.asnumpy(work(nl, ours)), work(np, theirs), rtol=1e-10, err_msg=name)
