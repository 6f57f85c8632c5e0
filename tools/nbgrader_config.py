"""nbgrader's configuration for the book's assignments.

`make classroom` copies this file into the course, where nbgrader's commands and JupyterLab's
Formgrader tab read it.
"""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))

from contained import Contained, can_sandbox
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

# replaces the solution in a released cell
c.ClearSolutions.code_stub = {
    "python": "# Complete, change or replace the code above; then run the next cell."
}

# nbgrader's default steps, with Contained in place of Execute
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
c.Execute.timeout = 60  # seconds for a student's cell; the slowest solution takes far less
c.Contained.memory = 4  # GiB
c.Contained.sandbox = can_sandbox()
