import { command } from "./command.ts";

export interface UserIds {
  readonly uid: number;
  readonly gid: number;
}

/** Users of the programs; set-up makes them. `hf-image` builds images: it owns nothing and runs nothing else. */
export const userNames = {
  control: "hf-control",
  gateway: "hf-gateway",
  postgres: "hf-postgres",
  image: "hf-image",
} as const;

/** Throws when there is no such user. */
export const lookUpUser = async (name: string): Promise<UserIds> => {
  const [, , uid, gid] = (await command(["getent", "passwd", name])).trim().split(":");
  return { uid: Number(uid), gid: Number(gid) };
};
