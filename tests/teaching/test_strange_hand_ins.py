"""Hand-ins that a class's own tools must bear: endless messages, links, unusual sockets."""

import json
import os
import subprocess
import sys
import time
import zipfile
from pathlib import Path

import collecting
import contained
import pytest
import rebuilding
from nbformat.v4 import new_code_cell, new_notebook, new_output
from nbgrader.api import Gradebook
from nbgrader.converters import Autograde
from nbgrader.converters.base import NbGraderException
from nbgrader.coursedir import CourseDirectory

needs_sandbox = pytest.mark.skipif(not contained.can_sandbox(), reason="no bubblewrap")


def inside(code, folder, memory=contained.MEMORY):
    """Run Python code in a sandbox; return its output and whether it was stopped."""
    command = contained.confined([sys.executable, "-S", "-c", code], folder)
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as sandbox:
        watch = contained.Watch(sandbox.pid, folder, memory)
        said, _ = sandbox.communicate(timeout=300)
    return said, watch.exceeded


@needs_sandbox
def test_no_socket_leads_out_of_a_virtual_machine(tmp_path):
    code = """
import errno, socket
for family in (40, 38, 17):
    try:
        socket.socket(family, 1)
    except OSError as error:
        print(errno.errorcode[error.errno])
[socket.socketpair(), socket.socket(socket.AF_INET)]
print("usual")
"""
    assert inside(code, tmp_path)[0].split() == ["EAFNOSUPPORT"] * 3 + ["usual"]


@needs_sandbox
def test_what_waits_in_sockets_is_counted(tmp_path):
    code = """
import socket, time
kept = [socket.socketpair() for _ in range(450)]
time.sleep(60)
"""
    began = time.monotonic()
    assert inside(code, tmp_path, memory=0.2)[1]
    assert time.monotonic() - began < 50


FLOOD = """
import signal, time
signal.signal(signal.SIGINT, signal.SIG_IGN)
kernel, end = get_ipython().kernel, time.monotonic() + 90
ident, sock = kernel._shell_parent_ident.get(), kernel.shell_stream.socket
sock = getattr(sock, "_shadow_sock", sock)  # of another thread
parent = {"header": {**kernel.get_parent("shell")["header"], "msg_id": "nobody"}}
while time.monotonic() < end:
    kernel.session.send(sock, "execute_reply", {}, parent=parent, ident=ident)
"""


@needs_sandbox
def test_a_kernel_that_answers_without_end_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr(contained, "GRACE", 5, raising=False)
    nb = new_notebook(cells=[new_code_cell(FLOOD), new_code_cell("print('next')")])
    runner = contained.Contained(timeout=5, kernel_name="python3")
    nb, _ = runner.preprocess(nb, {"metadata": {"path": str(tmp_path)}})
    assert [output.ename for output in nb.cells[0].outputs] == ["CellTimeoutError"]
    assert nb.cells[1].outputs[0].text == "next\n"


def test_all_cells_of_a_student_have_a_time_together():
    runner = contained.Contained(timeout=60)
    runner.spent, cell = 0.0, new_code_cell("")
    assert runner._get_timeout(cell) == 60
    runner.spent = runner.longest - 7.5
    assert runner._get_timeout(cell) == 7
    runner.spent = runner.longest + 100.0
    assert runner._get_timeout(cell) == 1


def test_errors_are_cut():
    long = "x" * 10**6
    error = contained.plain(
        new_output("error", ename=long, evalue=long, traceback=[long, "y", long])
    )
    assert error.output_type == "error"
    assert len(str(error)) < 5 * contained.PRINTED
    runner = contained.Contained()
    runner.clear_before_next_output = False
    content = {"ename": "E", "evalue": "", "traceback": []}
    header = {"msg_type": "error", "msg_id": "1"}
    message = {"header": header, "msg_type": "error", "content": content, "parent_header": {}}
    outputs = []
    for _ in range(100):
        runner.output(outputs, message, None, 0)
    assert 1 <= len(outputs) < 20


@pytest.mark.parametrize("cells", [["x = 1"] * 1000, ["y = [" + "0," * 10**6 + "]"]])
def test_what_nobody_types_is_not_read(tmp_path, cells):
    path = tmp_path / "a.ipynb"
    made = [{"cell_type": "code", "source": source, "metadata": {}} for source in cells]
    path.write_text(json.dumps({"nbformat": 4, "nbformat_minor": 4, "cells": made}))
    with pytest.raises(collecting.NotGraded, match="too long"):
        collecting.load(path)


@pytest.mark.parametrize(
    "command", ["%x", "if x:\n  !ls", "x?", "a = %x", "?x", "/f 1", "x = !ls"]
)
def test_a_cell_full_of_commands_is_not_read_hundreds_of_times(command):
    few, many = (f"{command}\n" * n + "y = 1\n" for n in (2, 400))
    assert rebuilding.bound_and_needed(few)[0] >= {"y"}
    began = time.process_time()
    assert not rebuilding.bound_and_needed(many + "z = [\n" + "0,\n" * 3000 + "]")[0]
    assert time.process_time() - began < 5


def test_a_student_does_not_say_when_it_was_handed_in(tmp_path):
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as file:
        file.writestr("Ada/a.ipynb", "{}")
        file.writestr("Ada/timestamp.txt", "2001-01-01 00:00:00 UTC")
        file.writestr("Bob/a.ipynb", "{}")
    collecting.collect(tmp_path / "all.zip", tmp_path / "submitted", "page")
    folder = tmp_path / "submitted" / "Ada" / "page"
    assert (folder / "a.ipynb").exists()
    assert not (folder / "timestamp.txt").exists()


def test_a_link_is_not_followed(tmp_path):
    (tmp_path / "theirs.txt").symlink_to(__file__)
    told = {"metadata": {"path": str(tmp_path)}, "nbgrader": {"student": "ada"}}
    with pytest.raises(NbGraderException, match="a link"):
        contained.Submitted().preprocess(new_notebook(), told)


def test_a_name_with_markup_does_not_reach_the_grade_book(tmp_path, monkeypatch):
    # nbgrader calls the command alembic
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent), prepend=os.pathsep)
    course = CourseDirectory(root=str(tmp_path))
    (tmp_path / "submitted" / "<b>" / "page").mkdir(parents=True)
    with Gradebook(course.db_url) as book:
        book.add_assignment("page")
        with pytest.raises(NbGraderException):
            Autograde(coursedir=course).init_assignment("page", "<b>")
        assert not book.students
