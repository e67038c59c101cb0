import { formatAge, formatBytes, formatDuration } from "../lib/units.ts";
import { age, isRecord, type List, pairs, type Row, show, size, spare, text, words } from "./columns.ts";
import { holdingLists } from "./holding.ts";
import { firstLine, shortCommit } from "./projects.ts";

/** Lists: the field that holds the rows, and what a person wants to see of each. */
export const lists: Readonly<Record<string, List>> = {
  ...holdingLists,
  "computer.list": {
    rows: "computers",
    columns: [
      text("name"),
      text("state"),
      text("size"),
      text("id"),
      spare(age("created_at", "CREATED")),
      spare(age("expires_at", "ENDS")),
      age("active_at", "ACTIVE"),
      text("description"),
    ],
    empty: "No computers. Make one: holdfast computers create <name>",
  },
  "process.list": {
    rows: "processes",
    columns: [
      text("id"),
      text("state"),
      { head: "EXIT", cell: (row) => show(row["exit_code"]) },
      age("started_at", "STARTED"),
      text("command"),
    ],
    empty: "No processes.",
  },
  "service.list": {
    rows: "services",
    columns: [
      text("name"),
      text("state"),
      text("port"),
      text("restarts"),
      spare(text("id")),
      {
        head: "COMMAND",
        cell: (row) => (typeof row["command"] === "string" ? row["command"] : words(row["argv"])),
      },
    ],
    empty: "No services. Declare one: holdfast services create <computer> <name> -- <command>",
  },
  "file.list": {
    rows: "entries",
    columns: [
      text("mode"),
      { head: "OWNER", cell: (row) => `${show(row["uid"])}:${show(row["gid"])}` },
      size("size_bytes", "SIZE"),
      age("modified_at", "MODIFIED"),
      text("kind"),
      {
        head: "PATH",
        cell: (row) =>
          `${show(row["path"])}${typeof row["target"] === "string" ? ` -> ${row["target"]}` : ""}`,
      },
    ],
    empty: "The directory is empty.",
  },
  "port.list": {
    rows: "ports",
    columns: [text("port"), text("protocol"), text("address"), text("process_id")],
    empty: "Nothing listens.",
  },
  "project.list": {
    rows: "projects",
    columns: [
      text("slug"),
      { head: "STATE", cell: (row) => show(row["state"]).replaceAll("_", " ") },
      text("visibility"),
      text("address"),
      text("computer"),
      spare(age("updated_at", "UPDATED")),
      spare(text("description")),
    ],
    empty: "No projects. Make one: holdfast projects create <computer> <name> --template web-app",
  },
  "project.history": {
    rows: "commits",
    columns: [
      { head: "COMMIT", cell: (row) => shortCommit(show(row["commit"])) },
      age("at", "WHEN"),
      {
        head: "DEPLOYED BY",
        cell: (row) => (isRecord(row["deployment"]) ? show(row["deployment"]["principal"]) : "-"),
      },
      spare(text("author")),
      { head: "MESSAGE", cell: (row) => firstLine(show(row["message"])) },
    ],
    empty: "No commits yet.",
  },
  "project.access": {
    rows: "requests",
    columns: [
      age("at", "WHEN"),
      text("method"),
      text("status"),
      spare(size("received_bytes", "RECEIVED")),
      size("sent_bytes", "SENT"),
      { head: "TOOK", cell: (row) => `${show(row["duration_ms"])} ms` },
      { head: "WHO", cell: (row) => (row["subject"] === null ? "visitor" : show(row["subject"])) },
      spare({ head: "PORT", cell: (row) => (row["port"] === null ? "web" : show(row["port"])) }),
      text("path"),
    ],
    empty: "Nobody has asked for it yet.",
  },
  "share.list": {
    rows: "shares",
    columns: [
      text("id"),
      {
        head: "STATE",
        cell: (row, now) => {
          if (row["revoked_at"] !== null) return "revoked";
          return Date.parse(show(row["expires_at"])) <= now ? "expired" : "open";
        },
      },
      { head: "EXPIRES", cell: (row) => show(row["expires_at"]) },
      age("created_at", "CREATED"),
      spare(text("created_by")),
      text("label"),
    ],
    empty: "No shares. Make one: holdfast shares create <project>",
  },
  "record.list": {
    rows: "records",
    columns: [
      age("started_at", "WHEN"),
      text("operation"),
      text("outcome"),
      text("error"),
      text("target"),
      spare(text("principal")),
      spare(text("duration_ms")),
    ],
    empty: "Nothing is recorded yet.",
  },
  "key.list": {
    rows: "keys",
    columns: [
      text("name"),
      text("state"),
      text("id"),
      age("created_at", "CREATED"),
      age("last_used_at", "LAST USED"),
      { head: "CEILINGS", cell: (row) => pairs(row["ceilings"]) },
    ],
    empty: "No keys. Make one: holdfast keys create <assistant>",
  },
  "owner.list": {
    rows: "owners",
    columns: [
      text("name"),
      text("state"),
      text("id"),
      age("last_seen_at", "LAST SEEN"),
      text("key_fingerprint"),
    ],
    empty: "No owners.",
  },
};

/** One thing: every field by its name, for people. Sizes and times are told in words beside the exact value in `--json`. */
export const entriesOf = (value: Row, now: number): readonly (readonly [string, string])[] =>
  Object.entries(value)
    .filter(
      ([key, field]) =>
        field !== null &&
        field !== "" &&
        !(key.startsWith("keep_") && (field === 0 || field === false)) &&
        !(isRecord(field) && Object.keys(field).length === 0) &&
        !(Array.isArray(field) && field.length === 0),
    )
    .map(
      ([key, field]) =>
        [key.replace(/_(ms|bytes)$/, "").replaceAll("_", " "), entry(key, field, now)] as const,
    );

const entry = (key: string, field: unknown, now: number): string => {
  if (key.endsWith("_bytes") && typeof field === "number") return formatBytes(field);
  if (/^(?:sleep|stop|archive)_after_ms$/.test(key) && field === 0) return "never";
  if (key.endsWith("_ms") && typeof field === "number") return formatDuration(field);
  if (/(?:^|_)(?:at|since|slot)$/.test(key) && typeof field === "string")
    return `${field} (${formatAge(field, now)})`;
  return show(field);
};
