"""Ask again when a notebook's kernel does not start.

About one kernel in a hundred never answers (Jupyter finds free ports, closes
them and hands their numbers to the kernel; another process may be quicker). A
build would wait a minute for it and fail. A kernel that does start is up
within three seconds.
"""

from __future__ import annotations

from nbclient import NotebookClient
from sphinx.application import Sphinx

WAITS = (15, 15, 60)  # seconds to wait for each of three kernels

connect = NotebookClient.async_start_new_kernel_client


async def connect_patiently(client: NotebookClient) -> object:
    """Connect to the kernel just started, or start another one."""
    for wait in WAITS[:-1]:
        client.startup_timeout = wait
        try:
            return await connect(client)
        except RuntimeError:  # nbclient has shut that kernel down
            client.km = client.create_kernel_manager()
            await client.async_start_new_kernel()
    client.startup_timeout = WAITS[-1]
    return await connect(client)


def setup(app: Sphinx) -> dict[str, bool]:
    """Let every kernel of this build be started so."""
    NotebookClient.async_start_new_kernel_client = connect_patiently
    return {"parallel_read_safe": True, "parallel_write_safe": True}
