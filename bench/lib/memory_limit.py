"""A control group, which limits the memory of a server and of what it reads.

The kernel charges a page of its cache to the group of the process that was the first
to read or write it. So the server has to be in the group before it makes what is to
be limited, and nothing else may touch the files first.
"""

import contextlib
import os
import pathlib
import signal
import sys
import time

import server
import vacuum

NAME = "sware-bench-"


def set_server(chosen, buffer):
    """Sets what a server gets of a limit; options of the command that say so prevail.

    "buffer" is the size of the buffer of each of sware's indexes.
    """
    chosen.server_settings = [
        ("shared_buffers", f"{chosen.limit // 3 // 1024}kB"),
        ("maintenance_work_mem", f"{chosen.limit // 8 // 1024}kB"),
        ("wal_buffers", "4MB"),
        # A new file of WAL would otherwise be written twice.
        ("wal_init_zero", "off"),
        # Only what the benchmark asks for is a checkpoint.
        ("max_wal_size", "1TB"),
        ("checkpoint_timeout", "1d"),
        *chosen.server_settings,
    ]
    if chosen.am == "sware":
        memory = ("sware.shared_memory", f"{chosen.limit // 6 // 1024}kB")
        chosen.server_settings.insert(0, memory)
        if not names_buffer_size(chosen):
            chosen.index_options.append(("buffer_size", str(buffer // 1024)))


def names_buffer_size(chosen):
    """Do the options say how large the buffer is?"""
    named = [*chosen.index_options, *chosen.settings, *chosen.server_settings]
    names = {name for name, _ in named} | {chosen.vary[0] if chosen.vary else None}
    return not names.isdisjoint({"buffer_size", "sware.buffer_size"})


class Group:
    """A control group of one version's files."""

    def __init__(self, directory, limit_file, unlimited, statistics):
        self.directory = directory
        self.limit_file = limit_file
        self.unlimited = unlimited
        self.statistics = statistics

    def add_server(self, place):
        """Moves a server's processes here; later ones follow their parent."""
        postmaster = server.postmaster_of(place)
        self.move(postmaster.name)
        # A child that was forked before its parent moved is among these.
        for process in server.children_of(postmaster):
            self.move(process)

    def restart(self, place):
        """Restarts a server here, with nothing in memory of what is in its files."""
        server.stop(place)
        for directory, _, files in os.walk(place.log.parent / "base"):
            for name in files:
                vacuum.cache(os.path.join(directory, name), keep=False)
        server.start(place)
        self.add_server(place)

    def move(self, process):
        with contextlib.suppress(ProcessLookupError):
            (self.directory / "cgroup.procs").write_text(process)

    def limit(self, size):
        """Limits the memory to a number of bytes, or no longer if it is None.

        What is over the limit is taken from the cache; what is in use stays.
        """
        text = self.unlimited if size is None else str(size)
        try:
            (self.directory / self.limit_file).write_text(text)
        except OSError as error:
            raise RuntimeError(f"the server does not do with {size:,} bytes: {error}")

    def program_bytes(self):
        """The memory in use that is no cache: the kernel cannot take it away."""
        figures = dict(
            line.split()
            for line in (self.directory / "memory.stat").read_text().splitlines()
        )
        return sum(int(figures[name]) for name in self.statistics)

    def kills(self):
        """How many processes were killed since there was no memory left."""
        for name in ("memory.oom_control", "memory.events"):
            if (self.directory / name).exists():
                for line in (self.directory / name).read_text().splitlines():
                    if line.startswith("oom_kill "):
                        return int(line.split()[1])
        return 0

    def remove(self):
        """Removes the group; a process that is still there goes back to the root."""
        for _ in range(100):
            processes = (self.directory / "cgroup.procs").read_text().split()
            for process in processes:
                with contextlib.suppress(OSError):
                    (self.directory.parent / "cgroup.procs").write_text(process)
            with contextlib.suppress(OSError):
                self.directory.rmdir()
                return
            time.sleep(0.1)
        print(f"could not be removed: {self.directory}", file=sys.stderr)


@contextlib.contextmanager
def group():
    """Makes a group without a limit, and removes it at the end."""
    made = make()
    before = signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    try:
        yield made
    finally:
        if made.kills() > 0:
            print("error: the server needs more memory than the limit", file=sys.stderr)
        signal.signal(signal.SIGTERM, before)
        made.remove()


def make():
    problems = []
    for root, version in hierarchies():
        try:
            return make_below(root, version)
        except OSError as error:
            problems.append(f"{root}: {error.strerror}")
    raise SystemExit(
        "error: memory cannot be limited here; that needs root and a control group:\n"
        + ("\n".join(problems) or "no hierarchy of control groups limits memory")
    )


def hierarchies():
    """Where control groups can limit memory, and of which version they are."""
    for line in pathlib.Path("/proc/mounts").read_text().splitlines():
        _, place, kind, options, *_ = line.split()
        root = pathlib.Path(place)
        if kind == "cgroup" and "memory" in options.split(","):
            yield root, 1
        if kind == "cgroup2":
            controllers = root / "cgroup.controllers"
            if controllers.exists() and "memory" in controllers.read_text().split():
                yield root, 2


def make_below(root, version):
    for left in root.glob(f"{NAME}*"):
        # a benchmark that was killed has not removed its own
        if not pathlib.Path(f"/proc/{left.name.removeprefix(NAME)}").exists():
            with contextlib.suppress(OSError):
                left.rmdir()
    directory = root / f"{NAME}{os.getpid()}"
    if version == 2:
        handed_down = root / "cgroup.subtree_control"
        if "memory" not in handed_down.read_text().split():
            handed_down.write_text("+memory")
    directory.mkdir()
    try:
        if version == 1:
            made = Group(directory, "memory.limit_in_bytes", "-1", ("rss", "shmem"))
            (directory / "memory.swappiness").write_text("0")
        else:
            made = Group(directory, "memory.max", "max", ("anon", "shmem"))
            # There is no such file in a kernel without swap.
            if (directory / "memory.swap.max").exists():
                (directory / "memory.swap.max").write_text("0")
        made.limit(None)
    except (OSError, RuntimeError) as error:
        directory.rmdir()
        raise OSError(0, str(error)) from None
    return made
