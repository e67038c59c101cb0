import { chmod, chown, mkdir, readFile, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { writeDurably, type Clock, type Logger } from "@holdfast/kit";
import { lookUpUser, userNames } from "../host/users.ts";
import { readCertificate } from "../instance/certificate.ts";
import type { Places } from "../instance/places.ts";
import type { InstanceSettings, ProjectsSettings } from "../instance/settings.ts";

/**
 * Copies the operator's certificate and key, if they have one, to where gateway's group alone can read them: the files themselves stay
 * root's. One file for both, replaced whole, also when `up` and the launcher do it at once. Whether it had to be written. Throws like
 * `readCertificate`, and leaves the copy as it was.
 */
export const copyCertificate = async (
  projects: ProjectsSettings,
  { certificate: path }: Pick<Places, "certificate">,
  gid: number,
): Promise<boolean> => {
  if (projects.certificate === null) {
    await rm(path, { force: true });
    return false;
  }
  const { chain, key } = await readCertificate(projects.certificate, projects.domain);
  const pair = `${key.trimEnd()}\n${chain.trimEnd()}\n`;
  const directory = dirname(path);
  await mkdir(directory, { recursive: true, mode: 0o750 });
  await chown(directory, 0, gid);
  await chmod(directory, 0o750);
  if ((await readFile(path, "utf8").catch(() => "")) === pair) return false;
  await writeDurably(path, pair, 0o640, { owner: { uid: 0, gid } });
  return true;
};

/** Certificates are renewed weeks before they expire. */
const lookEveryMs = 60_000;

/** Takes the certificate over, if there is one, when its files were renewed, until the signal aborts. gateway reads the copy again then. */
export const followCertificate = async (options: {
  readonly settings: Pick<InstanceSettings, "projects">;
  readonly places: Pick<Places, "certificate">;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}): Promise<void> => {
  const { places, clock, logger, signal } = options;
  const { projects } = options.settings;
  if (!projects?.certificate) return;
  const { gid } = await lookUpUser(userNames.gateway);
  let said = "";
  while (!signal.aborted) {
    const problem = await copyCertificate(projects, places, gid).then(
      (written) => {
        if (written) logger.info("took the certificate over", { of: "gateway" });
        return "";
      },
      (error: unknown) => (error instanceof Error ? error.message : String(error)),
    );
    // Half renewed, the two files do not fit each other; what was taken over before stands meanwhile.
    if (problem !== "" && problem !== said)
      logger.warn("the certificate is not taken over", { of: "gateway", problem });
    said = problem;
    await clock.sleep(lookEveryMs, signal).catch(() => {});
  }
};
