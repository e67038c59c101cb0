/** What a visitor is told by the gateway itself. Texts are plain; the form they are shown in is chosen by what the visitor accepts. */
export interface Page {
  readonly status: number;
  readonly title: string;
  /** Paragraphs. */
  readonly text: readonly string[];
  readonly link?: { readonly label: string; readonly href: string };
  /** Last lines of a service, as they are. */
  readonly log?: string;
  /** The visitor may come again by itself after this long. */
  readonly retryAfterS?: number;
  /** A person's browser tries again without being asked. */
  readonly refreshes?: boolean;
  readonly headers?: readonly (readonly [name: string, value: string])[];
}

const reasons: Readonly<Record<number, string>> = {
  200: "OK",
  303: "See Other",
  400: "Bad Request",
  401: "Unauthorized",
  403: "Forbidden",
  404: "Not Found",
  405: "Method Not Allowed",
  408: "Request Timeout",
  414: "URI Too Long",
  417: "Expectation Failed",
  429: "Too Many Requests",
  431: "Request Header Fields Too Large",
  502: "Bad Gateway",
  503: "Service Unavailable",
  504: "Gateway Timeout",
};

export const reasonOf = (status: number): string => reasons[status] ?? "Error";
