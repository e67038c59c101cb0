import { createHash } from "node:crypto";
import { idPrefixes } from "@holdfast/contract";

const alphabet = "0123456789abcdefghjkmnpqrstvwxyz";
const idLetters = 20;

/**
 * A project that nobody has, in place of one that is not there. What is asked of control about a host without a project is asked about this
 * one, so that the same questions go the same way, whether or not there is a project behind the host. Each slug has its own: control counts
 * wrong credentials by project, and where all shared one count, whoever used that up could tell who has a count of his own.
 */
export const nobodysProject = (slug: string | undefined): string => {
  const digest = createHash("sha256")
    .update(slug ?? "")
    .digest();
  const letters = [...digest.subarray(0, idLetters)].map((byte) => alphabet[byte & 31] ?? "0");
  return `${idPrefixes.project}_${letters.join("")}`;
};
