import { type ChildProcess, fork, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { join } from "node:path";
import process from "node:process";
import type { Tools } from "./tools.ts";

/** A proxy that listens on 127.0.0.1 and runs on a core of its own. */
export interface Proxy {
  readonly name: string;
  readonly port: number;
  readonly pid: number;
  close(): Promise<void>;
}

export const proxyCore = "0";
export const restCore = "1";

const startMs = 10_000;

/** One of the libraries, as its own documentation uses it with a keep-alive upstream. */
export const startLibrary = async (
  name: string,
  options: { readonly modules: string; readonly upstream: string; readonly port: number },
): Promise<Proxy> => {
  const child = fork(
    join(import.meta.dirname, "peers", `${name}.mjs`),
    [options.modules, options.upstream, String(options.port)],
    {
      execPath: "/usr/bin/taskset",
      execArgv: ["-c", proxyCore, process.execPath],
      stdio: ["ignore", "ignore", "inherit", "ipc"],
    },
  );
  await Promise.race([
    once(child, "message", { signal: AbortSignal.timeout(startMs) }),
    once(child, "exit").then(([code]) => {
      throw new Error(`${name} ended with ${String(code)}`);
    }),
  ]);
  return { name, port: options.port, pid: child.pid ?? 0, close: () => end(child) };
};

/** nginx with one worker and a keep-alive upstream, unbuffered as a proxy for streams has to be. */
export const startNginx = async (options: {
  readonly tools: Tools;
  readonly directory: string;
  readonly upstreams: Readonly<Record<string, string>>;
  readonly port: number;
}): Promise<Proxy> => {
  const { directory, port, tools } = options;
  await mkdir(join(directory, "logs"), { recursive: true });
  const names = Object.entries(options.upstreams);
  const configuration = join(directory, "nginx.conf");
  await writeFile(
    configuration,
    `user root; worker_processes 1; daemon off; master_process off; pid ${directory}/nginx.pid; error_log ${directory}/error.log;
events { worker_connections 8192; }
http {
  access_log off; client_max_body_size 0; keepalive_requests 100000000; server_names_hash_bucket_size 128;
  client_body_temp_path ${directory}/body; proxy_temp_path ${directory}/proxy; fastcgi_temp_path ${directory}/f; uwsgi_temp_path ${directory}/u; scgi_temp_path ${directory}/s;
  map $http_upgrade $upgrade { default upgrade; "" ""; }
${names.map(([host, path]) => `  upstream ${host.replaceAll(".", "_")} { server unix:${path}; keepalive 256; keepalive_requests 100000000; }`).join("\n")}
${names
  .map(
    ([host]) => `  server { listen 127.0.0.1:${port}; server_name ${host};
    location / { proxy_pass http://${host.replaceAll(".", "_")}; proxy_http_version 1.1; proxy_buffering off; proxy_request_buffering off;
      proxy_set_header Host $http_host; proxy_set_header Connection $upgrade; proxy_set_header Upgrade $http_upgrade;
      proxy_set_header X-Forwarded-For $remote_addr; proxy_set_header X-Forwarded-Proto http; proxy_set_header X-Forwarded-Host $http_host; } }`,
  )
  .join("\n")}
}
`,
  );
  const child = spawn("taskset", ["-c", proxyCore, tools.nginx, "-p", directory, "-c", configuration], {
    env: { ...process.env, ...tools.environment },
    stdio: ["ignore", "ignore", "inherit"],
  });
  await listening(port, child);
  return { name: "nginx", port, pid: child.pid ?? 0, close: () => end(child) };
};

/** Resolves once something takes connections on the port; rejects when `child` ends first, or after 10 s. */
export const listening = async (port: number, child: ChildProcess): Promise<void> => {
  const since = performance.now();
  while (performance.now() - since < startMs) {
    if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}`);
    const socket = connect(port, "127.0.0.1");
    const open = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (open) return;
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`nothing listens on ${port}`);
};

export const end = async (child: ChildProcess): Promise<void> => {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const gone = once(child, "exit");
  if (child.connected) child.disconnect();
  child.kill("SIGTERM");
  const timer = setTimeout(() => child.kill("SIGKILL"), 5000);
  await gone;
  clearTimeout(timer);
};
