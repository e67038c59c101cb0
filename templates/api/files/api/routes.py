"""What answers which address. The page at / is written from this table: a new route is documented by its first lines."""

from .notes import Notes, NotesFull
from .problems import Problem
from .routing import Request, Routes

TITLE_LENGTH = 120
TEXT_LENGTH = 4000
PAGE_SIZE = 20
PAGE_SIZE_MAX = 100


def routes_of(notes: Notes) -> Routes:
    routes = Routes()

    @routes.add("GET", "/api/notes", try_it=True)
    def list_notes(request: Request) -> dict:
        """List notes, newest first

        `limit` (1 to 100, else 20) says how many; `before` takes the `next` of the last answer.
        """
        limit = request.number("limit", default=PAGE_SIZE, least=1, most=PAGE_SIZE_MAX)
        before = request.number("before", default=None, least=1, most=2**53)
        page = notes.page(limit, before)
        return {"notes": page, "next": page[-1]["id"] if len(page) == limit else None}

    @routes.add("POST", "/api/notes", status=201, body={"title": "Low tide", "text": "At 14:20, bring boots"})
    def create_note(request: Request) -> dict:
        """Write a note

        `title` is needed (1 to 120 characters), `text` is not (at most 4000).
        """
        title, text = note_fields(request.json())
        try:
            return notes.create(title, text)
        except NotesFull as full:
            raise Problem(507, "Full", f"{full} Delete some first.") from full

    @routes.add("GET", "/api/notes/{id}")
    def get_note(request: Request, id: str) -> dict:
        """Read one note"""
        return found(notes.get(note_id(id)), id)

    @routes.add("PUT", "/api/notes/{id}", body={"title": "High tide", "text": "At 20:40"})
    def replace_note(request: Request, id: str) -> dict:
        """Replace a note

        Takes what writing a note takes.
        """
        title, text = note_fields(request.json())
        return found(notes.replace(note_id(id), title, text), id)

    @routes.add("DELETE", "/api/notes/{id}", status=204)
    def delete_note(request: Request, id: str) -> None:
        """Delete a note"""
        found(notes.delete(note_id(id)) or None, id)

    return routes


def note_id(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 16 else 0


def found(note: object, id: str):
    if note is None:
        raise Problem(404, "Not found", f"There is no note {id}.")
    return note


def note_fields(body: object) -> tuple[str, str]:
    """The title and text of a body. Says everything that is wrong with it at once."""
    if not isinstance(body, dict):
        raise Problem(422, "Not a note", "The body must be a JSON object.")
    title, text = body.get("title"), body.get("text", "")
    errors = {}
    if not isinstance(title, str) or not 1 <= len(title.strip()) <= TITLE_LENGTH:
        errors["title"] = f"must be a text of 1 to {TITLE_LENGTH} characters"
    if not isinstance(text, str) or len(text) > TEXT_LENGTH:
        errors["text"] = f"must be a text of at most {TEXT_LENGTH} characters"
    errors |= {str(name): "is not known" for name in list(body.keys() - {"title", "text"})[:10]}
    if errors:
        raise Problem(422, "Not a note", "Some fields are not as they must be.", errors=errors)
    return title.strip(), text
