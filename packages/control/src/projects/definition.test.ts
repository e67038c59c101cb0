import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { type HoldfastError, limits, projectDefinition } from "@holdfast/contract";
import type { ServiceRow } from "../store/services.ts";
import { checkProject, servicesOf, webPortOf } from "./definition.ts";

const web = { name: "web", command: "serve" };
const refused = (definition: unknown): string => {
  let said = "";
  assert.throws(
    () => checkProject(projectDefinition.parse(definition)),
    (error: HoldfastError) => {
      said = error.message;
      return error.code === "invalid_input";
    },
  );
  return said;
};
/** Only what is looked at of a service of somebody else. */
const other = (port: number): ServiceRow => ({ definition: { port } }) as unknown as ServiceRow;

describe("what a project runs", () => {
  test("is refused when a list of it could not be told", () => {
    const services = Array.from({ length: 8 }, (_, index) => ({
      name: `web${index}`,
      command: `: ${"x".repeat(limits.projectDefinitionBytes / 8)}`,
    }));
    assert.match(refused({ services }), /together/);
    checkProject(projectDefinition.parse({ services: services.slice(0, 7) }));
  });
  test("is taken when it fits together", () => {
    checkProject(projectDefinition.parse({}));
    checkProject(
      projectDefinition.parse({
        web: "web",
        services: [
          { ...web, readiness: { kind: "http" }, after: ["db"] },
          { name: "db", argv: ["db"] },
        ],
      }),
    );
  });

  test("is refused when it does not, with the place", () => {
    assert.match(refused({ services: [web, web] }), /definition\.services: two services are called web/);
    assert.match(refused({ services: [web], web: "site" }), /definition\.web: there is no service site/);
    assert.match(
      refused({ services: [{ ...web, after: ["db"] }] }),
      /services\.0\.after: there is no service db/,
    );
    assert.match(refused({ services: [web, { name: "bare" }] }), /services\.1: .*exactly one/);
    assert.match(
      refused({ services: [{ ...web, readiness: { kind: "tcp" } }] }),
      /services\.0: readiness: a check needs a port/,
    );
    assert.match(
      refused({
        services: [
          { ...web, after: ["db"] },
          { name: "db", command: "db", after: ["web"] },
        ],
      }),
      /wait for one another/,
    );
  });

  test("is on the computer under the project's name, in its folder, as root", () => {
    const definition = projectDefinition.parse({
      web: "web",
      services: [
        { ...web, cwd: "./a//b/", after: ["job"], environment: { A: "own", STAMP: "own" } },
        { name: "job", command: "run" },
      ],
    });
    const [first, second] = servicesOf({ name: "blog" }, definition, 20_000, { STAMP: "given" });
    assert.equal(first?.name, "blog-web");
    assert.equal(first.definition.cwd, "/work/blog/a/b");
    assert.equal(first.definition.port, 20_000);
    assert.deepEqual(first.definition.after, ["blog-job"]);
    assert.deepEqual(first.definition.environment, { A: "own", STAMP: "given" });
    assert.deepEqual(first.definition.user, { uid: 0, gid: 0 });
    assert.equal(second?.definition.cwd, "/work/blog");
    assert.equal(second.definition.port, undefined);
  });
});

describe("the port of the web service", () => {
  const definition = projectDefinition.parse({
    web: "web",
    services: [web, { name: "b", command: "b", port: 20_001 }],
  });
  const first = limits.projectPortFirst;

  test("is its own, else the lowest that nobody has, else none", () => {
    const own = projectDefinition.parse({ web: "web", services: [{ ...web, port: 80 }] });
    assert.equal(webPortOf(own, first, []), 80);
    assert.equal(webPortOf(definition, null, []), first);
    assert.equal(webPortOf(definition, null, [other(first)]), first + 2);
    assert.equal(webPortOf(projectDefinition.parse({ services: [web] }), first, []), null);
  });

  test("stays from one deploy to the next, unless another has it", () => {
    assert.equal(webPortOf(definition, first + 7, []), first + 7);
    assert.equal(webPortOf(definition, first + 7, [other(first + 7)]), first);
    assert.equal(webPortOf(definition, 8080, []), first);
  });

  test("is refused when all are taken", () => {
    const all = Array.from({ length: limits.projectPortLast - first + 1 }, (_, index) =>
      other(first + index),
    );
    assert.throws(() => webPortOf(definition, null, all), { code: "limit_reached" });
  });
});
