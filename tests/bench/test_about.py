"""What a report says besides its figures."""

from __future__ import annotations

import json
from pathlib import Path

from tokenmill import Tokenizer
from tokenmill._bench.about import about_run


def test_a_report_names_the_machine_and_no_folder_of_it() -> None:
    about = about_run(Tokenizer.load(), None, 2)
    assert about["machine"]["disk"]["total"] > 0
    assert str(Path.cwd()) not in json.dumps(about)
