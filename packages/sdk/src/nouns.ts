import type { OperationName } from "@holdfast/contract";

export type Noun = OperationName extends infer Name
  ? Name extends `${infer N}.${string}`
    ? N
    : never
  : never;

/** How the nouns of operations are called on the client: `computer.create` is `client.computers.create`. */
export const nouns = {
  principal: "principal",
  computer: "computers",
  hold: "holds",
  snapshot: "snapshots",
  child: "children",
  offer: "offers",
  process: "processes",
  service: "services",
  file: "files",
  archive: "archives",
  project: "projects",
  share: "shares",
  schedule: "schedules",
  run: "runs",
  port: "ports",
  record: "records",
  event: "events",
  key: "keys",
  owner: "owners",
  session: "sessions",
} as const satisfies Record<Noun, string>;
