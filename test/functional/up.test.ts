import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { hostDirectory } from "@holdfast/launcher";
import { root } from "../../tools/node24.mjs";
import { usePrivateInstance } from "../support/instance.ts";
import { until } from "../support/until.ts";
import { visit } from "../support/visit.ts";

const run = promisify(execFile);
const label = "up";
const name = `${label}-${process.pid.toString(36)}`;
const holdfast = async (...argv: readonly string[]): Promise<string> => {
  const environment = {
    PATH: process.env["PATH"],
    HOME: "/nonexistent",
    XDG_CONFIG_HOME: "/run/holdfast-test-home",
  };
  const options = { env: environment, timeout: 10 * 60_000 };
  return (await run(process.execPath, [join(root, "bin/holdfast.mjs"), ...argv, "--instance", name], options))
    .stdout;
};

/** What the first `up` on an empty data directory prints; the instance is the file's own from then on. */
const printed = await holdfast("up", "--pool-size", "10G").catch(async (error: unknown) => {
  await holdfast("down", "--delete-data", name).catch(() => {});
  throw error;
});
const instance = await usePrivateInstance(label);

test("up ends with the address of a project that is its owner's alone, the same once it is published", async () => {
  assert.equal(instance.name, name);
  const address = new URL(printed.trimEnd().split("\n").at(-3)?.trim() ?? "");
  const slug = address.hostname.split(".")[0] ?? "";
  assert.equal(address.origin, `http://${slug}.localhost:${instance.projects.port}`);
  assert.ok(printed.includes(`http://<project>.localhost:${instance.projects.port}`), printed);

  const owner = await instance.owner();
  const { computer } = await owner.projects.get({ project: slug });
  await owner.computers.stop({ computer });
  assert.equal((await visit(instance, slug)).status, 404, "without a right");
  const { state, desired_state } = await owner.computers.get({ computer });
  assert.deepEqual(
    [state, desired_state],
    ["stopped", "stopped"],
    "a visitor without a right starts nothing",
  );

  const key = (await readFile(join(instance.data, "assistant-key"), "utf8")).trim();
  const answers = (status: number, headers = {}) =>
    until(`a visit is answered with ${status}`, async () => {
      const last = await visit(instance, slug, { headers });
      return last.status === status;
    });
  await answers(200, { "holdfast-key": key });
  assert.equal((await visit(instance, slug)).status, 404);
  await owner.projects.publish({ project: slug });
  await answers(200);
  await owner.projects.unpublish({ project: slug });
  await answers(404);
});

test("status and doctor name gateway and where projects are", async () => {
  const status = JSON.parse(await holdfast("status", "--json")) as {
    readonly projects: { readonly address: string };
    readonly programs: readonly { readonly name: string; readonly ready: boolean }[];
  };
  assert.equal(status.projects.address, `http://localhost:${instance.projects.port}`);
  assert.equal(status.programs.find(({ name: of }) => of === "gateway")?.ready, true);
  const { proofs } = JSON.parse(await holdfast("doctor", "--json")) as {
    readonly proofs: readonly { readonly name: string; readonly proven: boolean; readonly detail: string }[];
  };
  const proven = new Map(proofs.filter((proof) => proof.proven).map((proof) => [proof.name, proof.detail]));
  assert.match(proven.get("gateway's reach") ?? "", /the ingress of 1 computer;/);
  for (const title of ["program gateway", "projects", "certificates' ask"])
    assert.ok(proven.has(title), `${title}: ${JSON.stringify(proofs)}`);
});

test("what `up` refuses leaves nothing behind, and no two instances are given one address", async () => {
  const other = `${name}-b`.slice(0, 16);
  const refused = (flags: readonly string[], why: RegExp): Promise<void> => {
    const argv = ["up", "--bare", ...flags, "--instance", other];
    return assert.rejects(run(process.execPath, [join(root, "bin/holdfast.mjs"), ...argv]), why);
  };
  await refused(["--projects-domain", "10.1.2.3"], /--projects-domain: .*IP address/);
  await refused(
    ["--projects-domain", "apps.example.org", "--allow-host", "example.org"],
    /registrable domain/,
  );
  await refused(
    ["--listen", `127.0.0.1:${instance.projects.port}`],
    new RegExp(`The instance ${name} listens`),
  );
  const { instances } = JSON.parse(await readFile(join(hostDirectory, "instances.json"), "utf8")) as {
    readonly instances: object;
  };
  assert.equal(Object.hasOwn(instances, other), false);
  await assert.rejects(stat(`/var/lib/holdfast-${other}`), { code: "ENOENT" });
});
