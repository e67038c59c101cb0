import type { Server } from "node:net";

/** Where TCP is taken: on an inherited descriptor, or at an address; port 0 is any that is free. */
export type TcpPlace = { readonly fd: number } | { readonly host: string; readonly port: number };

/** Where a Unix socket is taken: on an inherited descriptor, or at a path. */
export type UnixPlace = { readonly fd: number } | { readonly path: string };

/** Resolves once the server listens, with its TCP port (0 where there is none). Rejects when it cannot. */
export const listening = (
  server: Server,
  where: (TcpPlace | UnixPlace) & { readonly backlog?: number },
): Promise<number> =>
  new Promise((resolve, reject) => {
    server.once("error", reject);
    server.listen(where, () => {
      server.removeListener("error", reject);
      const address = server.address();
      resolve(address !== null && typeof address === "object" ? address.port : 0);
    });
  });
