/** `<slug>.<domain>` or `<port>--<slug>.<domain>`. */
export interface Place {
  readonly slug: string;
  /** Undefined: the web service. */
  readonly port: number | undefined;
}

const hostHeader = /^(\[[0-9a-f:.]+\]|[a-z0-9]([a-z0-9.-]*[a-z0-9])?)(:[0-9]{1,5})?$/;
/** Slugs have no double hyphen, so what stands before one is a port. */
const label = /^(?:([1-9][0-9]{0,4})--)?([a-z][a-z0-9]*(?:-[a-z0-9]+)*)$/;

/** The lower-case name of a Host header without its port; undefined when it is not a host: userinfo, a trailing dot, an odd byte. */
export const readHost = (value: string): string | undefined => {
  const host = value.toLowerCase();
  return hostHeader.test(host) && !host.includes("..") ? host.replace(/:[0-9]{1,5}$/, "") : undefined;
};

/** Undefined when the host is none of a project's. */
export const readPlace = (host: string, domain: string): Place | undefined => {
  if (!host.endsWith(domain) || host.charCodeAt(host.length - domain.length - 1) !== 46) return undefined;
  const match = label.exec(host.slice(0, host.length - domain.length - 1));
  const slug = match?.[2];
  if (slug === undefined) return undefined;
  const port = match?.[1] === undefined ? undefined : Number(match[1]);
  return port !== undefined && port > 65_535 ? undefined : { slug, port };
};
