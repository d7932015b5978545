"""A MongoDB-wire server for the tests: SecantusDB on loopback, in memory, with users and roles enforced.

    python3 mongo_peer.py FOLDER [--prepare] [--revoke-live]

With any Python, it makes a virtual environment with SecantusDB in FOLDER, once, and continues inside it. It prints an administrator's connection
string as one JSON line, and ends on SIGTERM or when standard input ends.

--prepare      makes the environment and ends
--revoke-live  not SecantusDB's own behaviour: looks up the users of the connection again before each command, so that dropping one
               affects connections that are already open, as in mongod
"""

import argparse
import fcntl
import json
import os
import pathlib
import secrets
import signal
import subprocess
import sys
import threading
import venv

PACKAGE = "secantusdb==0.7.0b3"


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--prepare", action="store_true")
    parser.add_argument("--revoke-live", action="store_true")
    return parser.parse_args()


def enter_environment(folder):
    """Continues inside the virtual environment, after making it if necessary. The lock ends with the process that holds it."""
    if pathlib.Path(sys.prefix) == folder:
        return
    folder.mkdir(parents=True, exist_ok=True)
    python, complete = folder / "bin" / "python", folder / "complete"
    with open(folder / "lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not complete.exists() or complete.read_text() != PACKAGE:
            venv.create(folder, with_pip=True)
            subprocess.run([python, "-m", "pip", "install", "--quiet", PACKAGE], check=True, stdout=sys.stderr)
            complete.write_text(PACKAGE)
    os.execv(python, [python, *sys.argv])


def revoke_live(server_module):
    """Makes dropped users and changed roles known to open connections."""
    dispatch = server_module.dispatch

    def look_up_first(document, context):
        connection = context.connection_auth
        if connection is not None and connection.authenticated_principals:
            users = [(pair, context.storage.get_user(*pair)) for pair in connection.authenticated_principals]
            connection.authenticated_principals = [pair for pair, user in users if user is not None]
            connection.effective_roles = []
            for _, user in users:
                if user is not None:
                    connection.add_principal_roles(user.get("roles") or [])
        return dispatch(document, context)

    server_module.dispatch = look_up_first


def serve(options):
    import secantus.server
    from secantus.auth import SCRAM_SHA_256, derive_credentials

    if options.revoke_live:
        revoke_live(secantus.server)
    server = secantus.server.SecantusDBServer(
        host="127.0.0.1",
        port=0,
        storage_path=":memory:",
        require_auth=True,
        cache_size="64M",
        replica_set_name="secantus",
    )
    server.start()
    password = secrets.token_hex(16)
    administrator = {
        "_id": "admin.root",
        "user": "root",
        "db": "admin",
        "credentials": derive_credentials(password).to_doc(),
        "roles": [{"role": "root", "db": "admin"}],
        "mechanisms": [SCRAM_SHA_256],
    }
    server.storage.add_user("admin", "root", administrator)
    address = server.uri.removeprefix("mongodb://").rstrip("/")
    print(json.dumps({"uri": f"mongodb://root:{password}@{address}"}), flush=True)
    wait_for_end()
    server.stop()


def wait_for_end():
    end = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: end.set())

    def read_input():
        while os.read(0, 4096):
            pass
        end.set()

    threading.Thread(target=read_input, daemon=True).start()
    end.wait()


if __name__ == "__main__":
    given = arguments()
    enter_environment(given.folder.resolve())
    if not given.prepare:
        serve(given)
