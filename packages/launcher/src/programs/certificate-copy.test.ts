import assert from "node:assert/strict";
import { chmod, copyFile, mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test, type TestContext } from "node:test";
import { createSecureContext } from "node:tls";
import { makeCertificate } from "../../../../test/support/certificate.ts";
import { command, tryCommand } from "../host/command.ts";
import type { ProjectsSettings } from "../instance/settings.ts";
import { copyCertificate } from "./certificate-copy.ts";

const gateway = { uid: 54_322, gid: 54_322 };
const stranger = { uid: 54_323, gid: 54_323 };

/** An operator's files, shut to everybody else, and where the copy goes. */
const setUp = async (context: TestContext) => {
  const directory = await mkdtemp(join(tmpdir(), "hf-certificate-"));
  context.after(() => rm(directory, { recursive: true }));
  await chmod(directory, 0o711);
  const chain = join(directory, "chain.pem");
  const key = join(directory, "key.pem");
  const renew = async (names: string, into = { chain, key }): Promise<void> => {
    await makeCertificate(into, names);
    for (const path of [into.chain, into.key]) await chmod(path, 0o600);
  };
  const projects: ProjectsSettings = {
    listen: ["127.0.0.1:443"],
    domain: "apps.example.org",
    address: null,
    certificate: { chain, key },
    ask: "127.0.0.1:7302",
  };
  const places = { certificate: join(directory, "run", "pair.pem") };
  return { projects, places, renew, directory, copy: () => copyCertificate(projects, places, gateway.gid) };
};

test("gateway's group reads certificate and key, in one file, and nobody else reads the key", async (context) => {
  const { places, renew, copy, projects } = await setUp(context);
  await renew("DNS:*.apps.example.org");
  assert.equal(await copy(), true);
  const pair = await command(["cat", places.certificate], { user: gateway });
  createSecureContext({ cert: pair, key: pair });
  assert.notEqual((await tryCommand(["cat", places.certificate], { user: stranger })).status, 0);
  const { uid, gid, mode } = await stat(places.certificate);
  assert.deepEqual(
    [uid, gid, mode & 0o7777],
    [0, gateway.gid, 0o640],
    "gateway reads it and cannot write it",
  );
  assert.equal(await copy(), false, "nothing changed");
  assert.equal(await copyCertificate({ ...projects, certificate: null }, places, gateway.gid), false);
  await assert.rejects(stat(places.certificate));
});

test("a renewed certificate is taken over, one half renewed or for other names is not", async (context) => {
  const { places, renew, copy, directory, projects } = await setUp(context);
  await renew("DNS:*.apps.example.org");
  await copy();
  const first = await readFile(places.certificate, "utf8");
  const next = { chain: join(directory, "next.pem"), key: join(directory, "next.key") };
  await renew("DNS:*.apps.example.org", next);
  assert.ok(projects.certificate);
  await copyFile(next.chain, projects.certificate.chain);
  await assert.rejects(copy(), /does not belong to the certificate/);
  assert.equal(await readFile(places.certificate, "utf8"), first);
  await copyFile(next.key, projects.certificate.key);
  assert.equal(await copy(), true);
  assert.notEqual(await readFile(places.certificate, "utf8"), first);
  await renew("DNS:*.example.org");
  await assert.rejects(copy(), /does not cover \*\.apps\.example\.org/);
});
