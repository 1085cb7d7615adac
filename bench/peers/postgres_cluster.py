"""A PostgreSQL server for the length of a `with` block, in a directory of its own.

Made with the distribution's initdb, on a free port of the loopback interface, with `trust` authentication. PostgreSQL
refuses to run as root: as root, the user `postgres` runs it.
"""
import glob, os, shutil, socket, subprocess, tempfile, time


def program(name):
    """The path of one of PostgreSQL's programs, of the newest version installed."""
    found = shutil.which(name) or max(glob.glob(f"/usr/lib/postgresql/*/bin/{name}"), default=None)
    if not found:
        raise SystemExit(f"{name} not found: install PostgreSQL (Debian: apt-get install postgresql)")
    return found


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


class PostgresCluster:
    """`with PostgresCluster() as dsn`: a fresh, empty server; removed afterwards unless `directory` is given."""

    def __init__(self, directory=None, settings=None):
        self.keep = directory is not None
        self.directory = os.path.abspath(directory) if directory else tempfile.mkdtemp(prefix="braid-postgres-")
        self.settings = {"fsync": "off", "shared_buffers": "512MB", "work_mem": "128MB", **(settings or {})}
        self.as_user = ["runuser", "-u", "postgres", "--"] if os.geteuid() == 0 else []

    def __enter__(self):
        os.makedirs(self.directory, exist_ok=True)
        if self.as_user:
            shutil.chown(self.directory, "postgres")
        data = os.path.join(self.directory, "data")
        quiet = dict(cwd="/", stdout=subprocess.DEVNULL)
        if not os.path.exists(os.path.join(data, "PG_VERSION")):
            subprocess.run(
                [*self.as_user, program("initdb"), "-D", data, "-U", "braid", "-A", "trust", "-E", "UTF8", "--locale=C"],
                check=True, **quiet)
        port = free_port()
        options = [f"-c{key}={value}" for key, value in self.settings.items()]
        self.server = subprocess.Popen(
            [*self.as_user, program("postgres"), "-D", data, "-p", str(port), "-k", self.directory,
             "-clisten_addresses=127.0.0.1", *options],
            stderr=open(os.path.join(self.directory, "log"), "ab"), **quiet)
        dsn = f"host=127.0.0.1 port={port} user=braid dbname=postgres"
        for _ in range(600):
            if subprocess.run([program("pg_isready"), "-q", "-h", "127.0.0.1", "-p", str(port)]).returncode == 0:
                return dsn
            if self.server.poll() is not None:
                break
            time.sleep(0.1)
        raise SystemExit(f"PostgreSQL did not start: see {self.directory}/log")

    def __exit__(self, *_):
        subprocess.run([*self.as_user, program("pg_ctl"), "-D", os.path.join(self.directory, "data"), "stop", "-m", "fast"],
                       cwd="/", stdout=subprocess.DEVNULL)
        self.server.wait()
        if not self.keep:
            shutil.rmtree(self.directory, ignore_errors=True)
