import { readFile, stat } from "node:fs/promises";
import type { Clock, Logger } from "@holdfast/kit";

export interface CertificateFiles {
  readonly chainFile: string;
  readonly keyFile: string;
}

/** A certificate with its chain and its key, PEM. */
export interface Certificate {
  readonly chain: Buffer;
  readonly key: Buffer;
}

const lookEveryMs = 30_000;

/** Throws when a file is not there or may not be read. */
export const readCertificate = async ({ chainFile, keyFile }: CertificateFiles): Promise<Certificate> => ({
  chain: await readFile(chainFile),
  key: await readFile(keyFile),
});

/** Uses a renewed certificate within half a minute; one that does not fit is told of, and the one before stays in use. */
export const watchCertificate = async (options: {
  readonly files: CertificateFiles;
  readonly use: (certificate: Certificate) => void;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}): Promise<void> => {
  const { files, clock, logger, signal } = options;
  let mark = await markOf(files);
  while (!signal.aborted) {
    await clock.sleep(lookEveryMs, signal).catch(() => {});
    if (signal.aborted) return;
    try {
      const now = await markOf(files);
      if (now === mark) continue;
      mark = now;
      options.use(await readCertificate(files));
      logger.info("the certificate was renewed");
    } catch (error) {
      logger.error("the renewed certificate cannot be used: the one before stays", { error });
    }
  }
};

const markOf = async ({ chainFile, keyFile }: CertificateFiles): Promise<string> =>
  (await Promise.all([stat(chainFile), stat(keyFile)]))
    .map(({ ino, size, mtimeMs }) => `${ino} ${size} ${mtimeMs}`)
    .join(" ");
