import { parseArgs } from "node:util";
import { instancePattern, limits } from "@holdfast/contract";

export interface Options {
  readonly instance: string;
  /** Inherited listening descriptors. */
  readonly httpDescriptors: readonly number[];
  /** A listener of our own, for running without the launcher. */
  readonly listen: { readonly host: string; readonly port: number } | undefined;
  readonly launcherDescriptor: number | undefined;
  /** Inherited; undefined: nobody serves projects to visitors. */
  readonly gatewayDescriptor: number | undefined;
  /** Origin of projects without the slug: one is `<slug>.` in front of its host. */
  readonly projectsAddress: URL;
  /** Blank cells that are kept started; 0: none. */
  readonly warm: number;
  readonly address: URL;
  readonly allowHosts: readonly string[];
  readonly dataDirectory: string;
  readonly databaseUrl: string;
}

/** Throws with a sentence for the operator. Unknown flags are refused. */
export const readOptions = (
  argv: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): Options => {
  const { values } = parseArgs({
    args: [...argv],
    options: {
      instance: { type: "string", default: "default" },
      "http-fd": { type: "string", multiple: true, default: [] },
      listen: { type: "string" },
      "launcher-fd": { type: "string", default: "3" },
      "gateway-fd": { type: "string" },
      "projects-address": { type: "string", default: "http://localhost:7301" },
      warm: { type: "string", default: "0" },
      address: { type: "string" },
      "allow-host": { type: "string", multiple: true, default: [] },
      data: { type: "string" },
    },
  });
  const databaseUrl = environment["HOLDFAST_DATABASE_URL"];
  if (!databaseUrl) throw new Error("HOLDFAST_DATABASE_URL is not set: the launcher sets it");
  if (!instancePattern.test(values.instance))
    throw new Error(`--instance ${values.instance} is not an instance name`);
  if (!values.data) throw new Error("--data <directory> is missing");
  const listen = values.listen === undefined ? undefined : hostAndPort(values.listen);
  const address = new URL(
    values.address ?? (listen ? `http://${listen.host}:${listen.port}` : "http://127.0.0.1:7300"),
  );
  return {
    instance: values.instance,
    httpDescriptors: values["http-fd"].map(descriptor),
    listen,
    launcherDescriptor: values["launcher-fd"] === "none" ? undefined : descriptor(values["launcher-fd"]),
    gatewayDescriptor: values["gateway-fd"] === undefined ? undefined : descriptor(values["gateway-fd"]),
    projectsAddress: new URL(values["projects-address"]),
    warm: warmCells(values.warm),
    address,
    allowHosts: [...values["allow-host"], address.host],
    dataDirectory: values.data,
    databaseUrl,
  };
};

const descriptor = (text: string): number => {
  const number = Number(text);
  if (!Number.isInteger(number) || number < 3) throw new Error(`${text} is not an inherited descriptor`);
  return number;
};

const warmCells = (text: string): number => {
  const number = Number(text);
  if (!/^\d+$/.test(text) || number > limits.warmCells)
    throw new Error(`--warm takes a number of cells up to ${limits.warmCells}, not ${text}`);
  return number;
};

const hostAndPort = (text: string): { readonly host: string; readonly port: number } => {
  const match = /^(.+):([0-9]{1,5})$/.exec(text);
  if (!match) throw new Error(`--listen ${text} is not host:port`);
  return { host: match[1] ?? "", port: Number(match[2]) };
};
