import assert from "node:assert/strict";
import { test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { HoldfastError, operations } from "@holdfast/contract";
import { createFollowing } from "./follow.ts";

test("that credentials cannot be looked at is said once, however often it is tried; and a call goes on meanwhile", async () => {
  const log: string[] = [];
  let tick = (): void => {};
  let away = true;
  let looks = 0;
  const following = createFollowing({
    authority: {
      standing: () => {
        looks += 1;
        if (away) return Promise.reject(new HoldfastError("unavailable", "no database"));
        return Promise.resolve(new Map([["key_1", { ceilings: null }]]));
      },
      onChange: () => {},
    },
    clock: { after: (_ms: number, then: () => void) => ((tick = then), () => {}) },
    logger: { warn: (message: string) => void log.push(message) },
  } as unknown as Parameters<typeof createFollowing>[0]);
  const { signal, end } = following.follow({
    principal: { kind: "assistant", credentialId: "key_1", ceilings: null } as never,
    operation: operations["principal.get"],
    signals: [],
    ended: () => assert.fail("its credential is good"),
  });
  const look = async (times: number): Promise<void> => {
    for (let time = 0; time < times; time += 1) {
      tick();
      await setImmediate();
    }
  };
  await look(20);
  assert.equal(log.length, 1);
  away = false;
  await look(3);
  away = true;
  await look(20);
  assert.deepEqual(log, Array(2).fill("credentials of calls under way were not looked at"));
  assert.equal(looks, 43);
  assert.equal(signal.aborted, false);
  end();
});
