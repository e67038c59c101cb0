import { randomBytes } from "node:crypto";
import { idPrefixes, type IdKind } from "@holdfast/contract";
import type { Clock } from "./clock.ts";

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";

/** Makes ids of `contract/ids.ts`: time-ordered, unguessable enough to name things, never a credential. */
export type NewId = (kind: IdKind) => string;

export const createIds =
  (clock: Clock, random: (bytes: number) => Uint8Array = randomBytes): NewId =>
  (kind) => {
    const time = BigInt(clock.now()) & 0xffff_ffff_ffffn;
    const noise = random(7).reduce((sum, byte) => (sum << 8n) | BigInt(byte), 0n) & ((1n << 52n) - 1n);
    let value = (time << 52n) | noise;
    let text = "";
    for (let index = 0; index < 20; index += 1) {
      text = (alphabet[Number(value & 31n)] ?? "") + text;
      value >>= 5n;
    }
    return `${idPrefixes[kind]}_${text}`;
  };
