"""Requests, and the table of what answers them."""

import json
import re
from collections.abc import Callable
from dataclasses import dataclass

from .problems import Problem


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    body: bytes

    def json(self) -> object:
        """The body. Raises a problem when it is not JSON or does not say that it is."""
        if self.headers.get("content-type", "").split(";")[0].strip().lower() != "application/json":
            raise Problem(415, "Not JSON", "Send the body as application/json.")
        try:
            return json.loads(self.body)
        except (ValueError, RecursionError) as error:
            raise Problem(400, "Not JSON", "The body cannot be read as JSON.") from error

    def number(self, name: str, default: int | None, least: int, most: int) -> int | None:
        """A whole number of the query. Raises a problem when it is another thing or out of its bounds."""
        text = self.query.get(name)
        if text is None:
            return default
        if not re.fullmatch(r"[0-9]{1,16}", text) or not least <= int(text) <= most:
            raise Problem(422, "Not a number", f"`{name}` must be a whole number from {least} to {most}.")
        return int(text)


@dataclass(frozen=True)
class Route:
    method: str
    path: str
    handler: Callable
    status: int
    body: dict | None
    try_it: bool

    @property
    def words(self) -> list[str]:
        """What the handler's docstring says, by paragraph."""
        return [" ".join(part.split()) for part in (self.handler.__doc__ or "").split("\n\n")]

    def match(self, path: str) -> dict[str, str] | None:
        pattern = re.sub(r"\\{(\w+)\\}", r"(?P<\1>[^/]+)", re.escape(self.path))
        found = re.fullmatch(pattern, path)
        return found.groupdict() if found else None


class Routes:
    """Handlers take the request and the path's parts by name, and answer what becomes JSON."""

    def __init__(self) -> None:
        self.all: list[Route] = []

    def add(self, method: str, path: str, status: int = 200, body: dict | None = None, try_it: bool = False):
        """Adds the function below it. `body` is an example for the page; `try_it` makes the path a link there."""

        def register(handler: Callable) -> Callable:
            self.all.append(Route(method, path, handler, status, body, try_it))
            return handler

        return register

    def answer(self, request: Request) -> tuple[int, object]:
        """The status and the value of the reply. Raises a problem when no route takes the request."""
        here = [(route, parts) for route in self.all if (parts := route.match(request.path)) is not None]
        for route, parts in here:
            if route.method == request.method:
                return route.status, route.handler(request, **parts)
        if not here:
            raise Problem(404, "Not found", f"Nothing answers {request.path}. The page at / lists what does.")
        allow = ", ".join(route.method for route, _ in here)
        raise Problem(405, "Not possible", f"{request.path} takes {allow}.", headers={"allow": allow})
