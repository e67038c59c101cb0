import { isIPv6 } from "node:net";

/**
 * Whom an address stands for where strangers are counted: an IPv4 address alone, of IPv6 the /64 (a host has all of it, and would otherwise
 * be a new stranger with each request).
 */
export const networkOf = (address: string): string => {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1];
  if (mapped !== undefined) return mapped;
  if (!isIPv6(address)) return address;
  const [left = "", right] = (address.split("%", 1)[0] ?? "").toLowerCase().split("::");
  const before = left === "" ? [] : left.split(":");
  const after = right === undefined || right === "" ? [] : right.split(":");
  const zeros = right === undefined ? 0 : Math.max(0, 8 - before.length - after.length);
  const groups = [...before, ...Array.from({ length: zeros }, () => "0"), ...after];
  return `${groups
    .slice(0, 4)
    .map((group) => group.replace(/^0+(?=.)/, ""))
    .join(":")}::/64`;
};
