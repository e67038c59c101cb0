import assert from "node:assert/strict";
import { createServer } from "node:net";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { systemClock } from "@holdfast/kit";
import { refuseBusyAddresses } from "./free-address.ts";

test("an address on which another program listens is refused, with the flag that changes it", async (context) => {
  const records = await mkdtemp(join(tmpdir(), "hf-busy-"));
  context.after(() => rm(records, { recursive: true }));
  const server = createServer();
  const port = await new Promise<number>((resolve) =>
    server.listen(0, "127.0.0.1", () => {
      const at = server.address();
      resolve(typeof at === "object" && at ? at.port : 0);
    }),
  );
  const of = (name: string, address: string) => ({ name, sockets: [{ kind: "tcp", address }] as const });
  const busy = `127.0.0.1:${port}`;
  await assert.rejects(refuseBusyAddresses([of("gateway", busy)], { records }, systemClock), {
    message: new RegExp(`gateway is to listen on ${busy}.*--projects-listen`),
  });
  await assert.rejects(
    refuseBusyAddresses([of("control", busy)], { records }, systemClock),
    /with --listen\./,
  );
  await assert.rejects(
    refuseBusyAddresses([of("control", "192.0.2.1:7300")], { records }, systemClock),
    /no address of it/,
  );
  await new Promise((resolve) => server.close(resolve));
  await refuseBusyAddresses([of("gateway", busy), of("control", busy)], { records }, systemClock);
});
