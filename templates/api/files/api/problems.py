"""Errors as RFC 9457 tells them: application/problem+json."""


class Problem(Exception):
    """Raised by routes: the caller gets this status, title, detail, and whatever else is given."""

    def __init__(self, status: int, title: str, detail: str, headers: dict | None = None, **more: object) -> None:
        super().__init__(detail)
        self.status = status
        self.headers = headers or {}
        self.body = {"type": "about:blank", "title": title, "status": status, "detail": detail, **more}
