import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { before, after, test } from "node:test";
import { HoldfastError } from "@holdfast/contract";
import { projectsAddress } from "@holdfast/launcher";
import { makeCertificate } from "../../test/support/certificate.ts";
import { type ProjectsWishes, settleProjects } from "./projects.ts";

const nothing: ProjectsWishes = {
  listen: undefined,
  domain: undefined,
  address: undefined,
  tlsChain: undefined,
  tlsKey: undefined,
  ask: undefined,
};
const around = {
  ports: { port: 7300, projects_port: 7301, ask_port: 7302 },
  listen: ["127.0.0.1:7300"],
  allowHosts: [] as readonly string[],
  nowMs: Date.now(),
};

const settle = (wishes: Partial<ProjectsWishes>, ...allowHosts: readonly string[]) =>
  settleProjects({ ...nothing, ...wishes }, undefined, { ...around, allowHosts });

const refused = (wishes: Partial<ProjectsWishes>, message: RegExp, ...allowHosts: readonly string[]) =>
  assert.rejects(settle(wishes, ...allowHosts), (error: unknown) => {
    assert.ok(error instanceof HoldfastError);
    assert.equal(error.code, "invalid_input");
    assert.match(error.message, message);
    return true;
  });

test("without wishes projects are at localhost, on ports of the instance's own", async () => {
  const { settings, caution } = await settle({});
  assert.deepEqual(settings, {
    listen: ["127.0.0.1:7301"],
    domain: "localhost",
    address: null,
    certificate: null,
    ask: "127.0.0.1:7302",
  });
  assert.equal(projectsAddress(settings), "http://localhost:7301");
  assert.equal(caution, "");
});

test("what was settled stays until another wish; `none` takes the address back", async () => {
  const first = await settle({ address: "https://apps.example.org", listen: ["0.0.0.0:80"] });
  assert.equal(first.settings.domain, "apps.example.org", "the address says the domain");
  const again = await settleProjects(nothing, first.settings, around);
  assert.deepEqual(again.settings, first.settings);
  assert.equal(projectsAddress(again.settings), "https://apps.example.org");
  const plain = await settleProjects({ ...nothing, address: "none" }, first.settings, around);
  assert.equal(projectsAddress(plain.settings), "http://apps.example.org", "port 80 goes unsaid");
  assert.match(plain.caution, /no browser keeps a sign-in/);
  await assert.rejects(
    settleProjects({ ...nothing, domain: "localhost" }, first.settings, around),
    /not an address of localhost.*none/,
  );
});

test("projects and the API never share a registrable domain", async () => {
  const rule = /would share the registrable domain example\.org with the API at/;
  await refused({ domain: "apps.example.org" }, rule, "holdfast.example.org");
  await refused({ domain: "apps.example.org" }, rule, "example.org:8443");
  await refused({ domain: "example.org" }, rule, "HOLDFAST.example.org");
  await refused({ domain: "example.org" }, rule, "other.net", "example.org");
  await refused({ domain: "apps.me.github.io" }, /domain me\.github\.io/, "me.github.io");
  for (const [domain, ...hosts] of [
    ["example-apps.org", "holdfast.example.org"],
    // Each name below is a registrable domain of its own, by the list's public and its private part.
    ["co.uk", "holdfast.co.uk"],
    ["github.io", "me.github.io"],
    ["you.github.io", "me.github.io"],
    ["apps.example.org", "localhost", "192.168.1.7:7300"],
    ["localhost", "localhost", "holdfast.example.org"],
  ] as const)
    assert.equal((await settle({ domain }, ...hosts)).settings.domain, domain);
});

test("a domain below which there could be no projects is refused", async () => {
  for (const domain of ["127.0.0.1", "[::1]", "::1", "10.0", "0x7f.1"])
    await refused({ domain }, /IP address/);
  for (const domain of ["intranet", "com"]) await refused({ domain }, /single label/);
  for (const domain of [
    "",
    "-a.example",
    "a..example",
    "a.example.",
    "a_b.example",
    "bücher.example",
    "*.a.example",
  ])
    await refused({ domain }, /not a domain name/);
  assert.equal((await settle({ domain: "Apps.Example.ORG" })).settings.domain, "apps.example.org");
});

test("an address is an origin of the domain", async () => {
  for (const address of [
    "apps.example.org",
    "ftp://apps.example.org",
    "https://apps.example.org/x",
    "https://u@apps.example.org",
    "",
  ])
    await refused({ address }, /is not an origin/);
  await refused({ address: "https://one.example.org", domain: "two.example.org" }, /not an address of two/);
});

test("listeners are ports of their own, and only this host asks", async () => {
  await refused({ listen: ["127.0.0.1:7300"] }, /another listener/);
  await refused({ listen: ["0.0.0.0:7300"] }, /another listener/);
  await refused({ listen: ["127.0.0.1:8000"], ask: "127.0.0.1:8000" }, /projects-ask.*another listener/);
  await refused({ ask: "0.0.0.0:9000" }, /not on loopback/);
  const { settings } = await settle({ listen: ["127.0.0.1:8000", "127.0.0.2:8000"] });
  assert.equal(settings.listen.length, 2);
});

let directory: string;
const file = (name: string): string => join(directory, name);

const certify = (name: string, names: string): Promise<void> =>
  makeCertificate({ chain: file(`${name}.pem`), key: file(`${name}.key`) }, names);

before(async () => {
  directory = await mkdtemp(join(tmpdir(), "hf-projects-"));
  await certify("good", "DNS:*.apps.example.org");
  await certify("other", "DNS:*.example.org,DNS:apps.example.org,DNS:one.apps.example.org");
  await writeFile(file("broken.pem"), "no certificate");
});
after(() => rm(directory, { recursive: true }));

test("a certificate covers every project, fits its key and is valid today", async () => {
  const of = (chain: string, key: string): Partial<ProjectsWishes> => ({
    domain: "apps.example.org",
    tlsChain: file(chain),
    tlsKey: file(key),
  });
  const { settings, caution } = await settle(of("good.pem", "good.key"));
  assert.equal(projectsAddress(settings), "https://apps.example.org:7301");
  assert.equal(caution, "");
  await refused(of("other.pem", "other.key"), /does not cover \*\.apps\.example\.org/);
  await refused(of("good.pem", "other.key"), /does not belong to the certificate/);
  await refused(of("broken.pem", "good.key"), /no PEM certificate/);
  await refused(of("good.pem", "broken.pem"), /no PEM key/);
  await refused(of("absent.pem", "good.key"), /cannot be read/);
  await refused({ tlsChain: file("good.pem") }, /belong together/);
  await refused({ ...of("good.pem", "good.key"), address: "http://apps.example.org" }, /https alone/);

  const later = { ...around, nowMs: around.nowMs + 31 * 24 * 3600 * 1000 };
  const earlier = { ...around, nowMs: around.nowMs - 24 * 3600 * 1000 };
  await assert.rejects(
    settleProjects({ ...nothing, ...of("good.pem", "good.key") }, undefined, later),
    /expired on/,
  );
  await assert.rejects(
    settleProjects({ ...nothing, ...of("good.pem", "good.key") }, undefined, earlier),
    /not valid before/,
  );
  // One that expired while the instance ran must not keep the host's computers down.
  assert.match((await settleProjects(nothing, settings, later)).caution, /expired on/);
  const taken = await settleProjects({ ...nothing, tlsChain: "none" }, settings, around);
  assert.equal(taken.settings.certificate, null);
});
