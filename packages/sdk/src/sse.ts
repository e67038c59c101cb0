/** One server-sent event. */
export interface ServerEvent {
  readonly event: string;
  readonly data: string;
  /** Undefined when this event carried no id. */
  readonly id: string | undefined;
}

/** Reads an event stream to its end. Comments (keep-alives) are passed over; an event the stream breaks off in is not delivered. */
export async function* readServerEvents(stream: ReadableStream<Uint8Array>): AsyncGenerator<ServerEvent> {
  const reader = stream.getReader();
  const decoder = new TextDecoder();
  let rest = "";
  let fields = emptyFields();
  try {
    for (;;) {
      const { done, value } = await reader.read();
      if (done) return;
      rest += decoder.decode(value, { stream: true });
      if (rest.length > longestEvent) throw new RangeError("An event of the stream is longer than 8 MiB.");
      const lines = rest.split(/\r\n|\n|\r(?!$)/);
      rest = lines.pop() ?? "";
      for (const line of lines) {
        if (line !== "") {
          fields = withLine(fields, line);
          continue;
        }
        if (fields.data.length > 0) {
          yield { event: fields.event, data: fields.data.join("\n"), id: fields.id };
        }
        fields = emptyFields();
      }
    }
  } finally {
    // The caller stopped, or the stream broke: either way nobody reads on.
    await reader.cancel().catch(() => {});
  }
}

const longestEvent = 8 * 1024 * 1024;

interface Fields {
  readonly event: string;
  readonly data: readonly string[];
  readonly id: string | undefined;
}

const emptyFields = (): Fields => ({ event: "message", data: [], id: undefined });

const withLine = (fields: Fields, line: string): Fields => {
  const colon = line.indexOf(":");
  if (colon === 0) return fields;
  const name = colon < 0 ? line : line.slice(0, colon);
  const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
  if (name === "event") return { ...fields, event: value };
  if (name === "data") return { ...fields, data: [...fields.data, value] };
  if (name === "id" && !value.includes("\0")) return { ...fields, id: value };
  return fields;
};
