import { isIP, isIPv4 } from "node:net";
import { getDomain, getPublicSuffix } from "tldts";
import { HoldfastError } from "@holdfast/contract";
import { projectsAddress, readCertificate, type ProjectsSettings } from "@holdfast/launcher";

/** What the person asked for; undefined keeps what is there, or takes the default; `none` takes it back. */
export interface ProjectsWishes {
  readonly listen: readonly string[] | undefined;
  readonly domain: string | undefined;
  readonly address: string | undefined;
  readonly tlsChain: string | undefined;
  readonly tlsKey: string | undefined;
  readonly ask: string | undefined;
}

/** What the projects of an instance are reached by, settled with what is known of the rest of it. */
export interface ProjectsSurroundings {
  /** What the host's registry gave the instance. */
  readonly ports: { readonly port: number; readonly projects_port: number; readonly ask_port: number };
  /** `address:port` of the API's listeners, and the host names by which it is reached besides. */
  readonly listen: readonly string[];
  readonly allowHosts: readonly string[];
  readonly nowMs: number;
}

export interface SettledProjects {
  readonly settings: ProjectsSettings;
  /** What works less well than it might, for whoever looks; empty where nothing does. */
  readonly caution: string;
}

/**
 * Settles how visitors reach projects. Throws `invalid_input` naming the flag for what would not work, or would let projects and the API
 * share what browsers share between hosts of one registrable domain: cookies, and trust. A certificate that has expired since it was
 * given is a caution only: the rest of the instance comes up with the host.
 */
export const settleProjects = async (
  wishes: ProjectsWishes,
  before: ProjectsSettings | undefined,
  around: ProjectsSurroundings,
): Promise<SettledProjects> => {
  const address = settleAddress(wishes.address, before?.address ?? null);
  const domain = (
    wishes.domain ??
    (wishes.address && address?.hostname) ??
    before?.domain ??
    "localhost"
  ).toLowerCase();
  checkDomain(domain);
  if (address && address.hostname !== domain)
    refuse(
      "projects-address",
      `${address.origin} is not an address of ${domain}`,
      "Give --projects-domain and --projects-address together, or `--projects-address none`.",
    );
  checkApart(domain, around);
  const settings: ProjectsSettings = {
    listen: [...(wishes.listen ?? before?.listen ?? [`127.0.0.1:${around.ports.projects_port}`])],
    domain,
    address: address?.origin ?? null,
    certificate: settleCertificate(wishes, before?.certificate ?? null),
    ask: wishes.ask ?? before?.ask ?? `127.0.0.1:${around.ports.ask_port}`,
  };
  checkListeners(settings, around.listen);
  const isHttp = projectsAddress(settings).startsWith("http:");
  if (!settings.certificate) {
    const isKept = isHttp && domain !== "localhost";
    return {
      settings,
      caution: isKept ? "without https no browser keeps a sign-in to a project there" : "",
    };
  }
  if (isHttp)
    refuse(
      "projects-address",
      "With a certificate visitors are served by https alone",
      "Give an https address.",
    );
  const fault = await faultOf(settings.certificate, domain, around.nowMs);
  if (fault !== "" && Object.values(wishes).some((wish) => wish !== undefined))
    refuse(
      "projects-tls-cert",
      fault,
      "Give another with --projects-tls-cert and --projects-tls-key, or `--projects-tls-cert none`.",
    );
  return { settings, caution: fault };
};

/** What the address of each project looks like. */
export const projectPattern = (projects: ProjectsSettings): string =>
  projectsAddress(projects).replace("://", "://<project>.");

const settleAddress = (wish: string | undefined, before: string | null): URL | null => {
  const text = wish === "none" ? null : (wish ?? before);
  if (text === null) return null;
  const url = URL.canParse(text) ? new URL(text) : undefined;
  const isOrigin = url && url.pathname === "/" && url.search === "" && url.hash === "" && url.username === "";
  if (!url || !isOrigin || !["http:", "https:"].includes(url.protocol))
    return refuse(
      "projects-address",
      `${JSON.stringify(text)} is not an origin`,
      "Give one like https://apps.example.org.",
    );
  return url;
};

/** Labels of letters, digits and hyphens: what a browser sends, a certificate names and gateway compares. */
const domainPattern =
  /^(?=.{1,200}$)[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?(\.[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?)*$/;

const checkDomain = (domain: string): void => {
  const example = "Give a domain of your own like apps.example.org, or localhost.";
  const last = domain.split(".").at(-1) ?? "";
  if (isIP(domain.replace(/^\[|\]$/g, "")) !== 0 || /^(\d+|0x[0-9a-f]*)$/.test(last))
    refuse("projects-domain", `${domain} is an IP address, below which there are no names`, example);
  if (!domainPattern.test(domain))
    refuse(
      "projects-domain",
      `${JSON.stringify(domain)} is not a domain name (other scripts are written as xn--…)`,
      example,
    );
  if (!domain.includes(".") && domain !== "localhost")
    refuse(
      "projects-domain",
      `${domain} is a single label, below which browsers keep no projects apart`,
      example,
    );
};

/** Of the list's private part too: below github.io each name is another's. */
const suffixes = { allowPrivateDomains: true, validateHostname: false } as const;

const checkApart = (domain: string, { allowHosts, listen }: ProjectsSurroundings): void => {
  if (getPublicSuffix(domain, suffixes) === domain) return;
  const ours = getDomain(domain, suffixes);
  for (const named of [...listen, ...allowHosts]) {
    const host = named.replace(/:\d+$/, "").toLowerCase();
    if (isIP(host.replace(/^\[|\]$/g, "")) !== 0 || getDomain(host, suffixes) !== ours) continue;
    refuse(
      "projects-domain",
      `Projects at *.${domain} would share the registrable domain ${ours} with the API at ${host}: code of a project could set cookies there`,
      "Give projects a domain of their own, or have it entered in the public suffix list.",
    );
  }
};

const settleCertificate = (
  { tlsChain, tlsKey }: ProjectsWishes,
  before: ProjectsSettings["certificate"],
): ProjectsSettings["certificate"] => {
  if (tlsChain === undefined && tlsKey === undefined) return before;
  if (tlsChain === "none" && (tlsKey === undefined || tlsKey === "none")) return null;
  const [chain, key] = [tlsChain ?? before?.chain, tlsKey ?? before?.key];
  if (chain === undefined || key === undefined || key === "none")
    return refuse(
      "projects-tls-cert",
      "A certificate and its key belong together",
      "Give --projects-tls-cert and --projects-tls-key.",
    );
  return { chain, key };
};

/** What is the matter with a certificate today; empty when nothing is. */
export const faultOf = async (
  files: NonNullable<ProjectsSettings["certificate"]>,
  domain: string,
  nowMs: number,
): Promise<string> => {
  const day = (ms: number): string => new Date(ms).toISOString().slice(0, 10);
  try {
    const { validFromMs, validToMs } = await readCertificate(files, domain);
    if (validToMs <= nowMs) return `The certificate ${files.chain} expired on ${day(validToMs)}`;
    return validFromMs > nowMs
      ? `The certificate ${files.chain} is not valid before ${day(validFromMs)}`
      : "";
  } catch (error) {
    return (error instanceof Error ? error.message : String(error)).replace(/\.$/, "");
  }
};

const checkListeners = ({ ask, listen }: ProjectsSettings, api: readonly string[]): void => {
  if (!ask.startsWith("127."))
    refuse(
      "projects-ask",
      `${ask} is not on loopback, and whoever reaches it learns which projects there are`,
      "Give one like 127.0.0.1:7302.",
    );
  const taken = [...api];
  for (const [flag, address] of [
    ...listen.map((each) => ["projects-listen", each] as const),
    ["projects-ask", ask] as const,
  ]) {
    const other = taken.find((each) => meets(each, address));
    if (other !== undefined)
      refuse(flag, `${other} is another listener of this instance already`, "Give another port.");
    taken.push(address);
  }
};

/** Whether two listeners, each `address:port`, want the same: all addresses of a port are wanted by 0.0.0.0. */
export const meets = (one: string, other: string): boolean => {
  const [[host, port], [otherHost, otherPort]] = [one.split(":"), other.split(":")];
  return port === otherPort && (host === otherHost || host === "0.0.0.0" || otherHost === "0.0.0.0");
};

/** Throws with what is wrong in words for the person who typed it. */
export const checkListen = (flag: string, address: string, example: string): void => {
  const [, host = "", port = ""] = /^(.*):(\d{1,5})$/.exec(address) ?? [];
  if (!isIPv4(host) || Number(port) < 1 || Number(port) > 65_535)
    throw new Error(
      `--${flag} takes an IPv4 address and a port, like ${example}; ${JSON.stringify(address)} is not.`,
    );
};

const refuse = (flag: string, what: string, remedy: string): never => {
  throw new HoldfastError("invalid_input", `--${flag}: ${what}. ${remedy}`, {
    issues: [{ path: [flag], message: what }],
  });
};
