"""Listens on 127.0.0.1 at the port in PORT; on SIGTERM it answers what is under way, closes the database and ends."""

import os
import signal
from pathlib import Path
from threading import Thread

from api.notes import Notes
from api.routes import routes_of
from api.server import Server

HERE = Path(__file__).resolve().parent


def main() -> None:
    port = int(os.environ.get("PORT", "3000"))
    notes = Notes(HERE / "data" / "notes.sqlite")
    server = Server(("127.0.0.1", port), routes_of(notes), HERE / "public")

    def stop(*_: object) -> None:
        # From a thread of its own: shutdown waits for the loop below, which this handler interrupts.
        Thread(target=server.shutdown).start()

    signal.signal(signal.SIGTERM, stop)
    signal.signal(signal.SIGINT, stop)
    print(f"Listening on http://127.0.0.1:{port}", flush=True)
    with server:
        server.serve_forever(poll_interval=0.1)
    notes.close()


if __name__ == "__main__":
    main()
