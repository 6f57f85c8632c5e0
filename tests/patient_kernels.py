"""A pytest plugin: ask again when a notebook's kernel does not start.

About one kernel in a hundred never answers (Jupyter finds free ports, closes them and hands
their numbers to the kernel; another process may be quicker). nbval waits a minute for it and
fails every cell. A kernel that does start is up within three seconds.
"""

from nbval import kernel

_start = kernel.start_new_kernel


def start_new_kernel(startup_timeout=60, **options):
    for _ in range(2):
        try:
            return _start(startup_timeout=15, **options)
        except RuntimeError:
            continue
    return _start(startup_timeout=startup_timeout, **options)


kernel.start_new_kernel = start_new_kernel
