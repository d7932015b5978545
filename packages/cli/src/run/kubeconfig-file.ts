import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Answer } from "../client/answer.ts";
import { kubeconfigOf } from "../formats/connection-formats.ts";
import { type Io, setting } from "../io/io.ts";
import { writePrivateFile } from "../io/private-file.ts";

/**
 * Writes the Kubernetes client configuration for a token into a folder that only its owner can read, in memory where the system offers that.
 * @param made the answer of `generate`, with the connection
 * @returns its path; disposing of it removes the folder
 */
export async function writeKubeconfig(io: Io, made: Answer): Promise<AsyncDisposable & { readonly path: string }> {
	const config = await kubeconfigOf(made);
	const folder = await mkdtemp(join(setting(io, "XDG_RUNTIME_DIR") ?? tmpdir(), "svc-"));
	const remove = () => rm(folder, { recursive: true, force: true });
	const path = join(folder, "kubeconfig");
	await writePrivateFile(path, config).catch((error: unknown) => remove().then(() => Promise.reject(error)));
	return { path, [Symbol.asyncDispose]: remove };
}
