import { HoldfastError } from "@holdfast/contract";

/** Names under which a browser page cannot reach us by rebinding DNS: `doors` accept no others unless allowed by the operator. */
const loopbackNames: ReadonlySet<string> = new Set(["localhost", "127.0.0.1", "[::1]"]);

export interface HostRules {
  allowsHost(host: string): boolean;
  /** Whether a page of this origin may call at all; `check` also holds it against the Host of the request. */
  allowsOrigin(origin: string): boolean;
  /** Throws `origin_refused` for a Host that is not ours (DNS rebinding) and for any foreign Origin. */
  check(headers: {
    readonly host: string;
    readonly origin: string | undefined;
    readonly fetchSite: string | undefined;
  }): void;
  /** Throws unless a browser says that the page is ours; for requests whose session came in a cookie. */
  requireSameOrigin(headers: {
    readonly host: string;
    readonly origin: string | undefined;
    readonly fetchSite: string | undefined;
  }): void;
}

/** `allowed` are `name` (any port) or `name:port`. An empty list leaves the loopback names alone. */
export const createHostRules = (allowed: readonly string[]): HostRules => {
  const names = new Set(allowed.map((host) => host.toLowerCase()));
  const known = (host: string): boolean => {
    const lower = host.toLowerCase();
    const name = lower.replace(/:[0-9]+$/, "");
    return loopbackNames.has(name) || names.has(name) || names.has(lower);
  };
  const check: HostRules["check"] = ({ host, origin, fetchSite }) => {
    if (!known(host)) throw refused(`the host ${JSON.stringify(host)} is not on the allow-list`);
    if (origin !== undefined && originHost(origin) !== host.toLowerCase())
      throw refused(`the origin ${JSON.stringify(origin.slice(0, 200))} is not this host`);
    if (fetchSite === "cross-site" && origin !== undefined) throw refused("a page of another site sent this");
  };
  return {
    allowsHost: known,
    allowsOrigin: (origin) => known(originHost(origin)),
    check,
    requireSameOrigin: (headers) => {
      check(headers);
      const { origin, fetchSite } = headers;
      if (fetchSite !== undefined && fetchSite !== "same-origin" && fetchSite !== "none")
        throw refused(`a ${fetchSite} page sent this with the session's cookie`);
      if (fetchSite === undefined && origin === undefined)
        throw refused(
          "a request with the session's cookie says where it comes from (Origin or Sec-Fetch-Site)",
        );
    },
  };
};

/** `host[:port]` of an http(s) origin; anything else, `null` too, matches no host. */
const originHost = (origin: string): string =>
  /^https?:\/\/([^/?#@\s]+)$/i.exec(origin)?.[1]?.toLowerCase() ?? "";

const refused = (message: string): HoldfastError => new HoldfastError("origin_refused", message);
