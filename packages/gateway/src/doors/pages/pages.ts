import { keyHeader } from "@holdfast/contract";
import { readHost, readPlace } from "../../head/host.ts";
import type { Refusal } from "../../head/request.ts";
import type { Failure } from "../../proxy/failure.ts";
import type { Page } from "./page.ts";

/** Every page of the gateway. `host` is as the visitor gave it, and the same is said of every host that has the form of a project's. */
export const createPages = (options: { readonly address: URL; readonly domain: string }) => {
  const signIn = (hostHeader: string) => {
    const href = new URL("/sign-in", options.address);
    href.searchParams.set("to", hostHeader);
    return { label: "How to sign in", href: href.href };
  };
  const isOfProject = (hostHeader: string): boolean => {
    const host = readHost(hostHeader);
    return host !== undefined && readPlace(host, options.domain) !== undefined;
  };

  return {
    nothing: (hostHeader: string): Page => ({
      status: 404,
      title: "There is nothing here for you",
      text: isOfProject(hostHeader)
        ? [
            "Either nothing is at this address, or it is private.",
            "If it is yours, or a program of yours calls it, sign in. If somebody shared it with you, use the link they gave you.",
          ]
        : [
            `Projects are at <slug>.${options.domain}${/:[0-9]{1,5}$/.exec(hostHeader)?.[0] ?? ""}, each at an address of its own.`,
            "Sign in to yours there. If somebody shared one with you, use the link they gave you.",
          ],
      link: signIn(hostHeader),
    }),

    refused: (hostHeader: string): Page => ({
      status: 401,
      title: "This sign-in is not valid here",
      text: [
        "It has run out, was withdrawn, or belongs to another address.",
        "Sign in again, or use a new link.",
      ],
      link: signIn(hostHeader),
      headers: [["WWW-Authenticate", `Holdfast-Key header="${keyHeader}"`]],
    }),

    /** A ticket or a share link that is not good. */
    linkRefused: (hostHeader: string): Page => ({
      status: 401,
      title: "This link does not work any more",
      text: ["It was used already, has run out, or was withdrawn. Ask for a new one, or sign in."],
      link: signIn(hostHeader),
      headers: [["WWW-Authenticate", `Holdfast-Key header="${keyHeader}"`]],
    }),

    crossSite: (): Page => ({
      status: 403,
      title: "Another site sent this request",
      text: [
        "Your browser sent it on behalf of a page from elsewhere, with your sign-in. It was not passed on.",
        `Programs send the ${keyHeader} header instead of a cookie.`,
      ],
    }),

    unavailable: (): Page => ({
      status: 503,
      title: "This cannot be checked right now",
      text: ["The part of Holdfast that knows who may come in does not answer. Try again in a moment."],
      retryAfterS: 2,
      refreshes: true,
    }),

    tooMany: (): Page => ({
      status: 429,
      title: "Too many wrong keys came from your network",
      text: ["None is looked at for a while. Try again in a minute."],
      retryAfterS: 60,
    }),

    misplacedKey: (): Page => ({
      status: 400,
      title: "The key is in the wrong place",
      text: [
        `A Holdfast key in Authorization would reach the app. Send it as ${keyHeader}, and create a new one if the app is not yours.`,
      ],
    }),

    malformed: (refusal: Refusal): Page => ({
      status: refusalStatus[refusal.refused],
      title: "The request is not well-formed",
      text: [`It was not passed on: ${refusal.why}.`],
    }),

    tooSlow: (): Page => ({
      status: 408,
      title: "The request did not arrive in time",
      text: ["Send it again."],
    }),

    traded: (setCookie: string): Page => ({
      status: 303,
      title: "Signed in",
      text: ["Continue at /."],
      headers: [
        ["Location", "/"],
        ["Set-Cookie", setCookie],
      ],
    }),

    /** With a `seer`, why a service ended and what it wrote last is shown. */
    failure: (failure: Failure, seer: Seer | undefined): Page => {
      switch (failure.kind) {
        case "starting":
          return {
            status: 503,
            title: "Starting",
            text: ["This takes a few seconds. The page comes by itself."],
            retryAfterS: Math.min(60, Math.max(1, Math.ceil(failure.retryAfterMs / 1000))),
            refreshes: true,
          };
        case "crashed":
          return seer ? crashed(failure, seer) : outOfOrder;
        case "not_today":
          return {
            status: 503,
            title: "Asleep for today",
            text: ["Visitors have started this as often as they may in a day. Its owner can start it."],
            retryAfterS: 3600,
          };
        case "no_service":
          return {
            status: 503,
            title: "Nothing is served here yet",
            text: ["The project has no web service."],
            retryAfterS: 30,
          };
        case "no_listener":
          return {
            status: 502,
            title: "Nothing listens on this port",
            text: ["The computer runs, but no program in it takes connections on this port."],
          };
        case "unavailable":
          return {
            status: 503,
            title: "This cannot be started right now",
            text: ["A part of Holdfast does not answer. Try again in a moment."],
            retryAfterS: 2,
            refreshes: true,
          };
        case "crowded":
          return {
            status: 503,
            title: "Too many visitors at once",
            text: ["Try again in a moment."],
            retryAfterS: 2,
            refreshes: true,
          };
        case "bad_answer":
          return {
            status: 502,
            title: "The app gave no proper answer",
            text: [
              seer ? `What it sent was not passed on: ${failure.why}.` : "What it sent was not passed on.",
            ],
          };
        case "late":
          return { status: 504, title: "The app did not answer in time", text: ["Try again later."] };
        case "malformed_body":
          return {
            status: 400,
            title: "The request is not well-formed",
            text: ["Its body is not framed as its head says."],
          };
        case "slow_body":
          return { status: 408, title: "The request did not arrive in time", text: ["Send it again."] };
      }
    },
  };
};

/** Whoever has a project in hand. */
export interface Seer {
  readonly slug: string;
}

const crashed = (failure: Extract<Failure, { readonly kind: "crashed" }>, { slug }: Seer): Page => ({
  status: 502,
  title: "The service behind this address has stopped",
  text: [
    failure.reason ?? "It ended each time it was started.",
    `All that it wrote: holdfast logs ${slug}`,
    ...(failure.log === null ? [] : [failure.log === "" ? "It wrote nothing." : "The last it wrote:"]),
  ],
  ...(failure.log ? { log: failure.log } : {}),
  retryAfterS: 30,
});

/** For whoever can do nothing about it. How long it lasts is in nobody's hands but its owner's. */
const outOfOrder: Page = {
  status: 503,
  title: "This is out of order",
  text: ["What is behind this address does not run at the moment. Its owner sees why. Try again later."],
  retryAfterS: 60,
};

export type Pages = ReturnType<typeof createPages>;

const refusalStatus = {
  malformed: 400,
  method: 405,
  target_too_long: 414,
  expectation: 417,
  too_large: 431,
} as const satisfies Record<Refusal["refused"], number>;
