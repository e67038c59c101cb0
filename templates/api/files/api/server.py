"""The HTTP side: reads requests, sends replies, and holds to its limits."""

import json
import traceback
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import BoundedSemaphore
from urllib.parse import parse_qsl, unquote, urlsplit

from .page import page_of
from .problems import Problem
from .routing import Request, Routes

BODY_BYTES = 64 * 1024
# What is read and thrown away of a body that is too large: whoever is still sending would not hear the answer.
DISCARDED_BYTES = 16 * 1024 * 1024
# Requests at once. More wait in the kernel until one is done.
REQUESTS_MAX = 64
# A caller who stops in the middle of a request is let go after this.
SILENCE_SECONDS = 10

HEADERS = {
    "content-security-policy": "default-src 'self'; object-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "same-origin",
    # One request for each connection: nothing is left open when the server is to end.
    "connection": "close",
}

TYPES = {".css": "text/css; charset=utf-8", ".svg": "image/svg+xml"}


class Server(ThreadingHTTPServer):
    # Closing waits for the threads, and so for the replies under way.
    daemon_threads = False
    request_queue_size = 128

    def __init__(self, address: tuple[str, int], routes: Routes, public: Path) -> None:
        self.routes = routes
        self.places = BoundedSemaphore(REQUESTS_MAX)
        self.files = {f"/{file.name}": file for file in public.iterdir() if file.suffix in TYPES}
        super().__init__(address, Handler)

    def process_request(self, request, client_address) -> None:
        self.places.acquire()
        super().process_request(request, client_address)

    def process_request_thread(self, request, client_address) -> None:
        try:
            super().process_request_thread(request, client_address)
        finally:
            self.places.release()


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server_version = "api"
    sys_version = ""
    timeout = SILENCE_SECONDS

    def answer(self) -> None:
        try:
            url = urlsplit(self.path)
            path = unquote(url.path)
            file = self.server.files.get(path)
            if self.command in ("GET", "HEAD") and path == "/":
                self.send(200, "text/html; charset=utf-8", page_of(self.server.routes).encode())
            elif self.command in ("GET", "HEAD") and path == "/healthz":
                self.send(200, "text/plain; charset=utf-8", b"ok\n")
            elif self.command in ("GET", "HEAD") and file:
                self.send(200, TYPES[file.suffix], file.read_bytes())
            else:
                self.send_json(*self.server.routes.answer(self.request_of(path, url.query)))
        except Problem as problem:
            self.send_json(problem.status, problem.body, "application/problem+json", problem.headers)
        except (ConnectionError, TimeoutError):
            self.close_connection = True
        except Exception:
            traceback.print_exc()
            body = Problem(500, "Failed", "Something went wrong on this side.").body
            self.send_json(500, body, "application/problem+json")

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = do_OPTIONS = answer

    def request_of(self, path: str, query: str) -> Request:
        method = "GET" if self.command == "HEAD" else self.command
        headers = {name.lower(): value for name, value in self.headers.items()}
        pairs = dict(parse_qsl(query, keep_blank_values=True, max_num_fields=100))
        return Request(method, path, pairs, headers, self.body())

    def body(self) -> bytes:
        if "transfer-encoding" in self.headers:
            raise Problem(411, "Length required", "Send the body with a content-length.")
        length = self.headers.get("content-length", "0")
        if not (length.isascii() and length.isdigit()):
            raise Problem(400, "Not readable", "The content-length is no number.")
        if int(length) > BODY_BYTES:
            left = min(int(length), DISCARDED_BYTES)
            while left > 0 and (piece := self.rfile.read(min(left, BODY_BYTES))):
                left -= len(piece)
            raise Problem(413, "Too large", f"A body has at most {BODY_BYTES} bytes.")
        return self.rfile.read(int(length))

    def send_json(self, status: int, value: object, type: str = "application/json", headers: dict | None = None) -> None:
        content = b"" if status == 204 else json.dumps(value, ensure_ascii=False).encode() + b"\n"
        self.send(status, type, content, headers)

    def send(self, status: int, type: str, content: bytes, headers: dict | None = None) -> None:
        self.send_response(status)
        if status != 204:
            self.send_header("content-type", type)
            self.send_header("content-length", str(len(content)))
        for name, value in {**HEADERS, "cache-control": "no-cache", **(headers or {})}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)

    def log_message(self, format: str, *values: object) -> None:
        """Nothing: requests are recorded in front of the server."""
