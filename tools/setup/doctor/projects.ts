import { readdir } from "node:fs/promises";
import { request as plainRequest } from "node:http";
import { request as tlsRequest } from "node:https";
import { join } from "node:path";
import { z } from "zod";
import { agentSocketPath, ingressSocketPath, limits, socketPath } from "@holdfast/contract";
import {
  command,
  lookUpUser,
  placesOf,
  plainEnvironment,
  userNames,
  type InstanceSettings,
  type ProjectsSettings,
} from "@holdfast/launcher";
import { systemClock } from "@holdfast/kit";
import { faultOf, projectPattern } from "../projects.ts";
import { prove, type Proof } from "./proof.ts";

const again = "Run `holdfast up` again; it sets owners and modes right and starts what is down.";
/** No project has this name: it is longer than a slug. */
const nobody = `nobody-${"x".repeat(limits.slugLength)}`;
const patienceMs = 5000;

/** What visitors come by, tried: whom gateway reaches and whom not, and that a name that nobody has is not found. */
export const proveProjects = async (settings: InstanceSettings): Promise<readonly Proof[]> => {
  const { projects } = settings;
  if (!projects) return [];
  const { certificate, domain } = projects;
  return Promise.all([
    prove("gateway's reach", again, () => tryReach(settings)),
    prove("projects", `See gateway.log; ${again}`, async () => {
      const status = await statusOf(projects, projects.listen[0] ?? "", "/", `${nobody}.${domain}`);
      if (status !== 404) throw new Error(`a name that no project has was answered with ${status}`);
      return `${projectPattern(projects)}; a name that no project has is not found`;
    }),
    prove("certificates' ask", `See gateway.log; ${again}`, async () => {
      const plain = { ...projects, certificate: null };
      const status = await statusOf(plain, projects.ask, `/ask?domain=${nobody}.${domain}`, projects.ask);
      if (status !== 404) throw new Error(`a name that no project has was answered with ${status}`);
      return `http://${projects.ask}/ask; no certificate for a name that no project has`;
    }),
    ...(certificate
      ? [
          prove(
            "certificate",
            "Renew it in place, or give another: holdfast up --projects-tls-cert --projects-tls-key.",
            async () => {
              const fault = await faultOf(certificate, domain, systemClock.now());
              if (fault !== "") throw new Error(fault);
              return `${certificate.chain} covers *.${domain}`;
            },
          ),
        ]
      : []),
  ]);
};

const cellsTried = 3;

/** As gateway's own user: control's socket for it and cells' ingress, and nothing else that a program of ours listens on. */
const tryReach = async (settings: InstanceSettings): Promise<string> => {
  const { instance } = settings;
  const places = placesOf(instance, settings.data);
  const cells = (await readdir(places.cells)).filter((name) => name.startsWith("cmp_")).slice(0, cellsTried);
  const open = [
    socketPath(instance, "control", "gateway"),
    ...cells.map((id) => ingressSocketPath(instance, id)),
  ];
  const shut = [
    socketPath(instance, "control", "launcher"),
    socketPath(instance, "gateway", "launcher"),
    socketPath(instance, "supervisor", "launcher"),
    socketPath(instance, "supervisor", "control"),
    ...(settings.database === "private" ? [join(places.postgresSocket, ".s.PGSQL.5432")] : []),
    ...cells.map((id) => agentSocketPath(instance, id)),
  ];
  const node = join(places.tree, "node_modules/node/bin/node");
  const said = await command([node, "--eval", connectAll, ...open, ...shut], {
    environment: { ...plainEnvironment, NODE_NO_WARNINGS: "1" },
    user: await lookUpUser(userNames.gateway),
  });
  const outcomes = z.record(z.string(), z.string()).parse(JSON.parse(said));
  // A computer may have stopped meanwhile.
  const isGone = (path: string): boolean => outcomes[path] === "ENOENT" && path.startsWith(places.cells);
  const wrong = [
    ...open.filter((path) => outcomes[path] !== "connected" && !isGone(path)),
    ...shut.filter((path) => outcomes[path] !== "EACCES" && !isGone(path)),
  ];
  if (wrong.length > 0)
    throw new Error(wrong.map((path) => `${userNames.gateway} on ${path}: ${outcomes[path]}`).join("; "));
  const some = `the ingress of ${cells.length} ${cells.length === 1 ? "computer" : "computers"}`;
  const tried = cells.length === 0 ? "no computer's, for none runs" : some;
  return `${userNames.gateway} reaches control's socket for it and ${tried}; ${shut.length} others are shut to it`;
};

const connectAll = `
const net = require("node:net");
const one = (path) => new Promise((resolve) => {
  const socket = net.connect(path);
  socket.once("connect", () => { resolve([path, "connected"]); socket.destroy(); });
  socket.once("error", (error) => resolve([path, error.code]));
});
Promise.all(process.argv.slice(1).map(one)).then((all) => process.stdout.write(JSON.stringify(Object.fromEntries(all))));
`;

/** The status that gateway answers on one of its listeners, whatever certificate it shows. */
const statusOf = (
  { certificate }: Pick<ProjectsSettings, "certificate">,
  listener: string,
  path: string,
  host: string,
): Promise<number> =>
  new Promise((resolve, reject) => {
    const [address = "", port] = listener.replace(/^0\.0\.0\.0:/, "127.0.0.1:").split(":");
    const where = { host: address, port, path, headers: { host }, agent: false, timeout: patienceMs };
    const sent = certificate
      ? tlsRequest({ ...where, servername: host, rejectUnauthorized: false })
      : plainRequest(where);
    sent.once("timeout", () => sent.destroy(new Error(`no answer on ${listener} within ${patienceMs} ms`)));
    sent.once("error", reject);
    sent.once("response", (response) => {
      response.resume();
      resolve(response.statusCode ?? 0);
    });
    sent.end();
  });
