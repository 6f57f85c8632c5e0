"""How nbgrader treats the assignments of this book; `make classroom` copies it into the course.

It is nbgrader's own configuration file: the commands `nbgrader autograde` and the rest, and the
tab Formgrader in JupyterLab, read it in the folder of the course.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from contained import Contained, can_build_walls
from nbconvert.preprocessors import ClearMetadataPreprocessor
from nbgrader.preprocessors import (
    AssignLatePenalties,
    CheckCellMetadata,
    ClearMarkScheme,
    ClearOutput,
    IncludeHeaderFooter,
    LimitOutput,
    LockCells,
    SaveAutoGrades,
)

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "cfr"
c.CourseDirectory.solution_directory = "solutions"

# what a released cell has in place of the solution
c.ClearSolutions.code_stub = {
    "python": "# Fill in, change or replace what stands above; then run the next cell."
}

# Nbgrader's own steps, but cells run contained; contained.py says in what way.
c.Autograde.autograde_preprocessors = [
    Contained,
    ClearMetadataPreprocessor,
    LimitOutput,
    SaveAutoGrades,
    AssignLatePenalties,
    CheckCellMetadata,
]
c.GenerateSolution.preprocessors = [
    IncludeHeaderFooter,
    LockCells,
    ClearOutput,
    ClearMarkScheme,
    Contained,
]
c.Execute.timeout = 60  # seconds for a cell of a student; the slowest solution takes far less
c.Contained.memory = 4  # GiB
c.Contained.walls = can_build_walls()  # with bubblewrap: no network, nothing else to write to
