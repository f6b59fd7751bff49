"""The private server of a benchmark, and sessions on it.

Only what is imported after the server has started may need the packages that
its start installs.
"""

import contextlib
import dataclasses
import os
import pathlib
import subprocess
import sys
import time


@dataclasses.dataclass
class Place:
    """Where the server is, and where its data files go."""

    programs: pathlib.Path
    data: pathlib.Path
    log: pathlib.Path
    host: str
    standby: "Place | None" = None


@contextlib.contextmanager
def running(chosen, extension="", with_standby=False):
    """Runs a private server; sessions find it through the environment.

    The extension is a directory below the checkout, built and installed too.
    A standby is a place of its own.
    """
    serve = pathlib.Path(__file__).resolve().parent / "serve"
    # The server's user reads what is installed and written here.
    os.umask(0o022)
    lines = [f"{name} = {quoted(value)}" for name, value in chosen.server_settings]
    # In a session of its own, so that the terminal's interrupt reaches this
    # process only, which then ends the server in order.
    process = subprocess.Popen(
        [
            serve, chosen.am, extension, "yes" if with_standby else "",
            "yes" if chosen.keep else "", *lines,
        ],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
        start_new_session=True,
    )
    told = {}
    try:
        for line in iter(process.stdout.readline, "ready\n"):
            if not line:
                raise SystemExit("the server could not be started")
            name, _, value = line.rstrip("\n").partition("=")
            told[name] = value
        for name in ("PGHOST", "PGPORT", "PGUSER", "PGDATABASE"):
            os.environ[name] = told[name]
        os.environ["PGOPTIONS"] = session_options(chosen.settings)
        place = Place(
            programs=pathlib.Path(told["PRIVATE_BIN"]),
            data=pathlib.Path(told["DATA"]),
            log=pathlib.Path(told["SERVER_LOG"]),
            host=told["PGHOST"],
        )
        if with_standby:
            place.standby = dataclasses.replace(
                place, log=pathlib.Path(told["STANDBY_LOG"]), host=told["STANDBY_HOST"]
            )
        import psycopg2

        try:
            yield place
        except (psycopg2.Error, RuntimeError) as error:
            for one in (place, place.standby):
                if one is not None:
                    show_crashes(one.log)
            raise SystemExit(f"error: {str(error).strip()}") from None
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    finally:
        # In the middle of its start it would not notice the end of its input.
        if "SERVER_LOG" not in told:
            process.terminate()
        process.stdin.close()
        process.wait()


def quoted(value):
    return "'" + value.replace("'", "''") + "'"


def session_options(settings):
    """The settings as PGOPTIONS has them; it separates words by spaces."""
    escape = str.maketrans({" ": "\\ ", "\\": "\\\\"})
    return " ".join(
        f"-c {name}={value.translate(escape)}" for name, value in settings
    )


@contextlib.contextmanager
def settings_of(subject, chosen, connection):
    """A session, and those that begin meanwhile, have the settings of a subject."""
    os.environ["PGOPTIONS"] = session_options([*chosen.settings, *subject.settings])
    for name, value in subject.settings:
        execute(connection, f"SET {name} = %s", [value])
    yield
    for name, _ in subject.settings:
        execute(connection, f"RESET {name}")
    os.environ["PGOPTIONS"] = session_options(chosen.settings)


def show_crashes(log):
    for line in log.read_text(errors="replace").splitlines():
        if any(sign in line for sign in ("PANIC", "TRAP", "terminated by signal")):
            print(line, file=sys.stderr)


def connect(chosen):
    """A session in autocommit mode, and the extension that it needs."""
    import psycopg2

    connection = psycopg2.connect("")
    connection.autocommit = True
    if chosen.am != "btree":
        execute(connection, f"CREATE EXTENSION IF NOT EXISTS {chosen.am}")
    return connection


def connect_to_standby(place):
    """A session on the standby, in autocommit mode."""
    import psycopg2

    connection = psycopg2.connect(host=place.standby.host)
    connection.autocommit = True
    return connection


def wait_for_replay(connection, standby_connection):
    """Waits until a standby has replayed all that there is now."""
    end = value(connection, "SELECT pg_current_wal_flush_lsn()")
    while value(
        standby_connection, "SELECT pg_last_wal_replay_lsn() < %s::pg_lsn", [end]
    ):
        time.sleep(0.01)


def execute(connection, command, parameters=None):
    with connection.cursor() as cursor:
        cursor.execute(command, parameters)


def query(connection, command, parameters=None):
    with connection.cursor() as cursor:
        cursor.execute(command, parameters)
        return cursor.fetchall()


def value(connection, command, parameters=None):
    return query(connection, command, parameters)[0][0]


def wal_position(connection):
    """How many bytes of WAL there are, those not yet written included."""
    return int(value(connection, "SELECT pg_current_wal_insert_lsn() - '0/0'"))


def processor_seconds(connection):
    """The processor time of the session's process.

    Other work of the machine adds little to it, unlike to the time that passes.
    """
    status = pathlib.Path(f"/proc/{connection.get_backend_pid()}/schedstat")
    return int(status.read_text().split()[0]) / 1e9


def postmaster_of(place):
    number = (place.log.parent / "postmaster.pid").read_text().split()[0]
    return pathlib.Path(f"/proc/{number}")


def children_of(process):
    return set((process / f"task/{process.name}/children").read_text().split())


def file_bytes(place):
    """How many bytes a server has had read from the disk, and has written to files.

    What the kernel's cache has is not read from the disk. What goes to the disk is not
    taken from the kernel, which counts all pages that it keeps together when one of
    them changes. The kernel adds what a process has done to its parent's when it has
    ended, so the sessions to be counted should have.
    """
    postmaster = postmaster_of(place)
    read = written = 0
    for process in (*children_of(postmaster), postmaster.name):
        with contextlib.suppress(FileNotFoundError, ProcessLookupError):
            text = pathlib.Path(f"/proc/{process}/io").read_text()
            figures = dict(line.split(": ") for line in text.splitlines())
            read += int(figures["read_bytes"])
            written += int(figures["wchar"])
    return read, written


def stop(place):
    """Stops the server in order; there are no sessions after that."""
    control(place, "stop", "--mode=fast")


def start(place):
    control(place, "start", f"--log={place.log}")


def control(place, *arguments):
    directory = place.log.parent
    owner = directory.stat()
    as_owner = {}
    if os.geteuid() == 0:
        as_owner = {
            "user": owner.st_uid, "group": owner.st_gid, "extra_groups": [],
        }
    finished = subprocess.run(
        [
            place.programs / "pg_ctl", f"--pgdata={directory}", "--wait",
            "--timeout=600", *arguments,
        ],
        stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, cwd=directory,
        # A standby connects with the copy's own libpq; the machine's may be older.
        env=os.environ | {"LD_LIBRARY_PATH": str(place.programs.parent / "lib")}, **as_owner,
    )
    if finished.returncode != 0:
        raise RuntimeError(f"pg_ctl {arguments[0]} failed")


class Sessions:
    """The processor time of the sessions that begin from now on.

    The kernel adds a process's time to its parent's when it has ended.
    """

    def __init__(self, place):
        self.postmaster = postmaster_of(place)
        self.others = children_of(self.postmaster)
        self.before = self.ended_seconds()

    def ended_seconds(self):
        # What follows the name, which is in parentheses, begins at field 3.
        fields = (self.postmaster / "stat").read_text().rpartition(")")[2].split()
        return (int(fields[13]) + int(fields[14])) / os.sysconf("SC_CLK_TCK")

    def processor_seconds(self):
        """Waits until they have ended, and returns the processor's time."""
        while not children_of(self.postmaster) <= self.others:
            time.sleep(0.01)
        return self.ended_seconds() - self.before


def relation_bytes(connection, relation):
    return value(connection, "SELECT pg_relation_size(%s::regclass)", [relation])
