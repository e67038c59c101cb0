import assert from "node:assert/strict";
import { test } from "node:test";
import { HoldfastError, operations } from "@holdfast/contract";
import { parseDefinitions } from "./definitions.ts";

const service = (name: string, fields: object = {}) => {
  const {
    computer: _computer,
    name: _name,
    wait_ms: _waitMs,
    ...definition
  } = operations["service.create"].input.parse({ computer: "box", name, command: "true", ...fields });
  return { name, definition, desired_state: "running" };
};
const project = (name: string, services: readonly object[] = [], fields: object = {}) => {
  const definition = { services, web: null };
  return {
    name,
    slug: name,
    description: "",
    template: "blank",
    definition,
    deployed: { definition, web_port: null, commit: "a".repeat(40), message: "first", stopped: [] },
    ...fields,
  };
};
const whole = (fields: object = {}) => ({
  version: 1,
  size: "small",
  description: "",
  environment: { COLOUR: "green" },
  services: [service("first"), service("second", { after: ["first"], port: 8000 })],
  projects: [project("site", [{ name: "web", command: "true" }])],
  schedules: [{ name: "nightly", project: "site", definition: { cron: "0 3 * * *" } }],
  ...fields,
});

test("what was written down with a snapshot is read back as it was", () => {
  const { services, projects, schedules, environment } = parseDefinitions(
    JSON.parse(JSON.stringify(whole())),
  );
  assert.deepEqual(services, whole().services);
  assert.equal(projects[0]?.deployed?.definition.services[0]?.command, "true");
  assert.deepEqual(schedules, whole().schedules);
  assert.deepEqual(environment, { COLOUR: "green" });
});

test("what a stranger's file says is refused where no caller could have said it", () => {
  const refusals: Readonly<Record<string, unknown>> = {
    "no object": "definitions",
    nothing: null,
    "another version": whole({ version: 2 }),
    "an unknown size": whole({ size: "huge" }),
    "a variable that is no name": whole({ environment: { "A=B": "x" } }),
    "two services of a name": whole({ services: [service("first"), service("first")] }),
    "a service that is called as a project's": whole({ services: [service("site-web")] }),
    "two projects of a name": whole({ projects: [project("site"), project("site")] }),
    "two schedules of a name": whole({
      schedules: [1, 2].map(() => ({ name: "a", project: null, definition: {} })),
    }),
    "services in a circle": whole({
      services: [service("one", { after: ["two"] }), service("two", { after: ["one"] })],
    }),
    "a service that waits for none that is there": whole({ services: [service("one", { after: ["none"] })] }),
    "a project whose folder is elsewhere": whole({ projects: [project("../etc")] }),
    "a project's service outside of its folder": whole({
      projects: [project("site", [{ name: "web", command: "true", cwd: "../../etc" }])],
    }),
    "a commit that is none": whole({
      projects: [
        project("site", [], {
          deployed: { ...project("site").deployed, commit: "--upload-pack=x" },
        }),
      ],
    }),
    "a port that is none": whole({
      projects: [project("site", [], { deployed: { ...project("site").deployed, web_port: 70_000 } })],
    }),
    "too many services": whole({
      services: Array.from({ length: 33 }, (_, index) => service(`s-${"a".repeat(index + 1)}`)),
    }),
  };
  for (const [what, found] of Object.entries(refusals))
    assert.throws(
      () => parseDefinitions(found),
      (error: unknown) => error instanceof HoldfastError && error.code === "archive_refused",
      what,
    );
});
