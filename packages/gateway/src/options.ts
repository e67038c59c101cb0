import { firstListenDescriptor, instancePattern, socketPath } from "@holdfast/contract";
import { z } from "zod";

/** How visitors reach us: plain HTTP, TLS with a certificate of ours, or HTTP from a TLS proxy on this host. */
export type TlsKind = "none" | "own" | "proxy";

export interface Options {
  readonly instance: string;
  /** Projects are `<slug>.<domain>`; lower case, no port. */
  readonly domain: string;
  /** Origin of control's API: what the sign-in link of the pages points to. */
  readonly address: URL;
  readonly tls: TlsKind;
  /** Set exactly when `tls` is `own`: PEM files this program may read. Read again when they change. */
  readonly certificate: { readonly chainFile: string; readonly keyFile: string } | undefined;
  readonly launcherDescriptor: number | undefined;
  readonly askDescriptor: number | undefined;
  readonly visitDescriptors: readonly number[];
  readonly controlSocket: string;
}

const descriptor = z.coerce.number().int().min(firstListenDescriptor).max(1023);
const optionalDescriptor = z
  .union([z.literal("").transform(() => undefined), z.literal("none").transform(() => undefined), descriptor])
  .optional();
const host = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

const environment = z
  .object({
    HOLDFAST_INSTANCE: z.string().regex(instancePattern),
    HOLDFAST_DOMAIN: z.string().max(200).regex(host),
    HOLDFAST_ADDRESS: z.url({ protocol: /^https?$/ }),
    HOLDFAST_TLS: z.enum(["none", "own", "proxy"]).default("none"),
    HOLDFAST_TLS_CERTIFICATE: z.string().startsWith("/").optional(),
    HOLDFAST_TLS_KEY: z.string().startsWith("/").optional(),
    HOLDFAST_LAUNCHER_DESCRIPTOR: optionalDescriptor,
    HOLDFAST_ASK_DESCRIPTOR: optionalDescriptor,
    HOLDFAST_VISIT_DESCRIPTORS: z
      .string()
      .regex(/^[0-9]+(,[0-9]+)*$/)
      .transform((text) => text.split(",").map(Number))
      .pipe(z.array(z.number().min(firstListenDescriptor).max(1023)).max(16)),
    HOLDFAST_CONTROL_SOCKET: z.string().startsWith("/").optional(),
  })
  .refine(
    (read) =>
      (read.HOLDFAST_TLS === "own") ===
      (read.HOLDFAST_TLS_CERTIFICATE !== undefined && read.HOLDFAST_TLS_KEY !== undefined),
    "HOLDFAST_TLS_CERTIFICATE and HOLDFAST_TLS_KEY go with HOLDFAST_TLS=own, and only with it",
  );

/** Throws with every variable that does not fit. `main.ts` says what each means. */
export const readOptions = (variables: Readonly<Record<string, string | undefined>>): Options => {
  const parsed = environment.safeParse(variables);
  if (!parsed.success) {
    const faults = parsed.error.issues.map(({ path, message }) => `${path.join(".")}: ${message}`);
    throw new Error(
      `the environment does not fit (the launcher sets it): ${faults.join("; ").replaceAll(": :", ":")}`,
    );
  }
  const read = parsed.data;
  const chainFile = read.HOLDFAST_TLS_CERTIFICATE;
  const keyFile = read.HOLDFAST_TLS_KEY;
  return {
    instance: read.HOLDFAST_INSTANCE,
    domain: read.HOLDFAST_DOMAIN,
    address: new URL(read.HOLDFAST_ADDRESS),
    tls: read.HOLDFAST_TLS,
    certificate: chainFile !== undefined && keyFile !== undefined ? { chainFile, keyFile } : undefined,
    launcherDescriptor: read.HOLDFAST_LAUNCHER_DESCRIPTOR,
    askDescriptor: read.HOLDFAST_ASK_DESCRIPTOR,
    visitDescriptors: read.HOLDFAST_VISIT_DESCRIPTORS,
    controlSocket: read.HOLDFAST_CONTROL_SOCKET ?? socketPath(read.HOLDFAST_INSTANCE, "control", "gateway"),
  };
};
