"""nbgrader's configuration for the book's assignments.

`make classroom` copies this file into the course, where nbgrader's commands and JupyterLab's
Formgrader tab read it. nbgrader goes on with its defaults, which have no sandbox, if this file
raises an error. So the first thing is to grade nothing; only when all else is there is that
replaced by `Contained`, which itself runs nothing without a sandbox.
"""

import sys
from pathlib import Path

from nbgrader.converters.base import NbGraderException
from nbgrader.preprocessors import NbGraderPreprocessor


class Refuse(NbGraderPreprocessor):
    """Grade nothing."""

    why = "this course's nbgrader_config.py was not read to its end"

    def preprocess(self, nb, resources):
        raise NbGraderException(
            f"Nothing was graded: {self.why}. Run `make classroom COURSE=...` again for this "
            "course: it renews the files that nbgrader_config.py needs."
        )


c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "cfr"
c.CourseDirectory.solution_directory = "solutions"
c.Autograde.sanitize_preprocessors = [Refuse]
c.Autograde.autograde_preprocessors = [Refuse]
c.GenerateSolution.preprocessors = [Refuse]
c.GenerateFeedback.preprocessors = [Refuse]

# replaces the solution in a released cell
c.ClearSolutions.code_stub = {
    "python": "# Complete, change or replace the code above; then run the next cell."
}

try:
    sys.path.insert(0, str(Path(__file__).parent))

    from contained import Contained, Feedback, Submitted, scripts
    from nbconvert.preprocessors import ClearMetadataPreprocessor, CSSHTMLHeaderPreprocessor
    from nbgrader.preprocessors import (
        AssignLatePenalties,
        CheckCellMetadata,
        ClearMarkScheme,
        ClearOutput,
        DeduplicateIds,
        GetGrades,
        IncludeHeaderFooter,
        LimitOutput,
        LockCells,
        OverwriteCells,
        OverwriteKernelspec,
        SaveAutoGrades,
    )

    # nbgrader's default steps, with Submitted before them, and Contained in place of Execute
    c.Autograde.sanitize_preprocessors = [
        Submitted,
        ClearOutput,
        DeduplicateIds,
        OverwriteKernelspec,
        OverwriteCells,
        CheckCellMetadata,
    ]
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
    c.GenerateFeedback.preprocessors = [GetGrades, CSSHTMLHeaderPreprocessor]
    c.GenerateFeedback.exporter_class = Feedback
    c.CourseDirectory.ignore = [
        ".ipynb_checkpoints",
        "*.pyc",
        "__pycache__",
        "feedback",
        *scripts(),
    ]  # a file that is handed in is shown by Formgrader's server
    c.Execute.timeout = 60  # seconds for a student's cell; the slowest solution takes far less
    c.Contained.memory = 4  # GiB
except Exception as error:
    Refuse.why = f"{type(error).__name__}: {error}"
