import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import type { ProjectsSettings } from "./settings.ts";

/** A wildcard certificate of the operator's, with its chain, and its key: both PEM. */
export interface Certificate {
  readonly chain: string;
  readonly key: string;
  readonly validFromMs: number;
  readonly validToMs: number;
}

/**
 * Reads a certificate for `*.<domain>` and its key. Throws with what is the matter when one cannot be read, they do not belong together,
 * or the certificate is for other names. Whether it is valid today is the caller's to judge.
 */
export const readCertificate = async (
  files: NonNullable<ProjectsSettings["certificate"]>,
  domain: string,
): Promise<Certificate> => {
  const [chain, key] = await Promise.all([read(files.chain), read(files.key)]);
  const certificate = parse(files.chain, "no PEM certificate", () => new X509Certificate(chain));
  const privateKey = parse(files.key, "no PEM key without a passphrase", () => createPrivateKey(key));
  if (!certificate.checkPrivateKey(privateKey))
    throw new Error(`The key ${files.key} does not belong to the certificate ${files.chain}.`);
  if (certificate.checkHost(`any-project.${domain}`, { subject: "never" }) === undefined) {
    const names = certificate.subjectAltName ?? "none";
    throw new Error(`The certificate ${files.chain} does not cover *.${domain}. Its names: ${names}.`);
  }
  return {
    chain,
    key,
    validFromMs: Date.parse(certificate.validFrom),
    validToMs: Date.parse(certificate.validTo),
  };
};

const read = async (path: string): Promise<string> => {
  try {
    return await readFile(path, "utf8");
  } catch (cause) {
    throw new Error(`${path} cannot be read: ${cause instanceof Error ? cause.message : ""}`, { cause });
  }
};

const parse = <T>(path: string, fault: string, work: () => T): T => {
  try {
    return work();
  } catch (cause) {
    throw new Error(`${path} holds ${fault}.`, { cause });
  }
};
