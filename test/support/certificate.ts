import { execFile } from "node:child_process";
import { promisify } from "node:util";

/** Writes a self-signed certificate for these names (like `DNS:*.apps.example.org`) and its key: PEM files of root's alone. */
export const makeCertificate = async (
  files: { readonly chain: string; readonly key: string },
  names: string,
  days = 30,
): Promise<void> => {
  const key = "-newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -keyout";
  const words = `req -x509 -subj /CN=test -days ${days} -addext subjectAltName=${names} ${key}`;
  await promisify(execFile)("openssl", [...words.split(" "), files.key, "-out", files.chain]);
};
