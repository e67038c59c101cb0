import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { test } from "node:test";
import { useAssistant } from "../support/use.ts";

const { instance, assistant } = await useAssistant();

/** As the users that people and foreign programs have on a host: none is root, none is in a group of ours. */
const as = (user: string, script: string): string => {
  const argv = [`--reuid=${user}`, "--regid=nogroup", "--clear-groups", "--no-new-privs", "sh", "-c", script];
  const { stdout } = spawnSync("setpriv", argv, { encoding: "utf8", maxBuffer: 64 * 1024 * 1024 });
  return stdout;
};

test("132: a user of the host reads no file of the instance, and connects to no socket of it", () => {
  const run = `/run/holdfast/${instance.name}`;
  const readable = as(
    "nobody",
    // The program tree is the sources, and compiled modules are made from them: no secret is in either.
    `find ${instance.data} ${run} -path ${run}/tree -prune -o -path ${instance.data}/compiled -prune -o -type f -readable -print 2>/dev/null`,
  );
  assert.equal(readable, "");
  const sockets = as(
    "nobody",
    `find ${run} -path ${run}/tree -prune -o -type s -writable -print 2>/dev/null`,
  );
  assert.equal(sockets, "");
  for (const path of [
    "assistant-key",
    "instance.json",
    "test-owner.json",
    "log",
    "control",
    "postgres",
    "pool",
  ])
    assert.match(
      as("nobody", `cat ${instance.data}/${path} 2>&1; ls ${instance.data}/${path}/ 2>&1`),
      /Permission denied/,
    );
});

test("132: nothing of the programs' environments, arguments and memory makes a reader an owner", async () => {
  const programs = Object.values(await instance.programs());
  for (const { name, pid } of programs) {
    assert.ok(pid, name);
    for (const user of ["nobody", "hf-image"]) {
      const files: string = ["environ", "mem", "maps"].map((file) => `/proc/${pid}/${file}`).join(" ");
      assert.equal(
        as(user, `head -c 1 ${files} 2>/dev/null; ls /proc/${pid}/fd 2>/dev/null`),
        "",
        `${name} to ${user}`,
      );
    }
    // Everybody may read arguments: so no secret may be among them.
    const argv = as("nobody", `tr '\\0' ' ' < /proc/${pid}/cmdline`);
    assert.ok(argv.length > 0);
    assert.doesNotMatch(argv, /hf[skc]?_[0-9a-z]{20}|password|secret|postgres:\/\/[^/]*:/);
  }
});

test("132: the assistant's own key opens nothing that is the owners' alone", async () => {
  for (const [method, path] of [
    ["GET", "/v1/keys"],
    ["POST", "/v1/keys"],
    ["GET", "/v1/owners"],
    ["POST", "/v1/owners"],
    ["GET", "/v1/session"],
  ] as const) {
    const response = await fetch(`${instance.url}${path}`, {
      method,
      headers: { authorization: `Bearer ${assistant.secret}`, "content-type": "application/json" },
      ...(method === "POST" ? { body: JSON.stringify({ name: "mine" }) } : {}),
    });
    assert.equal(response.status, 404, `${method} ${path}`);
  }
});
