import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { decodeDotenv, parseDotenv } from "../../../packages/cli/src/formats/dotenv.ts";
import { DotenvError } from "../../../packages/cli/src/formats/imports/cursor.ts";
import { readManifest, UnsoundBackup } from "../../../packages/server/src/backups/manifest.ts";
import { readConfig } from "../../../packages/server/src/config.ts";
import { FatalError } from "../../../packages/server/src/errors.ts";
import { readKubeconfig } from "../../../plugins/containerorch/kubeconfig.ts";
import { ConfigError } from "../../../plugins/containerorch/source.ts";
import { accepted, type Target } from "../target.ts";

/** Folder of the files for these targets. Their content is the input; nothing else reads them. */
const folder = mkdtempSync(join(tmpdir(), "svc-fuzz-"));
process.once("exit", () => process.getBuiltinModule("node:fs").rmSync(folder, { recursive: true, force: true }));
const fileOf = (name: string, content: Buffer): string => {
	const path = join(folder, name);
	writeFileSync(path, content);
	return path;
};

/** A settings file gives settings, or ends the start with one sentence. */
export const toml: Target = {
	sources: ["packages/server/src/config.ts"],
	max_bytes: 256 * 1024,
	seeds: ['listen = "127.0.0.1:8443"\n[tls]\nmode = "off"\n', 'log.level = "debug"\ntrusted_proxies = ["10.0.0.1"]\n'],
	tokens: ["[tls]", "=", '"', "'''", "\n", "[[a]]", "{", "}", "1979-05-27", "inf", "data_dir", "listen", "."],
	check(input) {
		const config = accepted(FatalError, () => readConfig({ SVC_CONFIG: fileOf("svc.toml", input) }, folder));
		if (config !== undefined) assert.ok(Object.isFrozen(config));
	},
};

/** A .env file gives entries, each key once, or an error that names one of its lines. */
export const dotenv: Target = {
	sources: ["packages/cli/src/formats/dotenv.ts", "packages/cli/src/formats/imports/cursor.ts"],
	max_bytes: 64 * 1024,
	seeds: ["# x\nexport A=b # c\nB='x\ny'\nC=\"\\n\\\\\"\r\n", "A=\nB = 'x' # y\n"],
	tokens: ["=", "'", '"', "\\", "\n", "\r\n", "#", " #", "export ", "A", "\t", "\ufeff"],
	check(input) {
		const entries = accepted(DotenvError, () => parseDotenv(decodeDotenv(input)));
		if (entries === undefined) return;
		assert.equal(new Set(entries.map(({ key }) => key)).size, entries.length);
		for (const { line } of entries) assert.ok(line >= 1 && line <= input.toString().split("\n").length);
	},
};

const signed = {
	...{ format: 1, name: "b", created_at: "2030-01-01T00:00:00.000Z", svc: "0.1.0", schema: "0001", fingerprint: "ab" },
	...{ events: 1, last_hash: "cd", restore_epoch: 0, bytes: 3, sha256: "ef", key_id: "01", signature: "AAAA" },
};

/** A backup's description of itself is the last line of its file, to the letter; otherwise it is not a backup. */
export const manifest: Target = {
	sources: ["packages/server/src/backups/manifest.ts"],
	max_bytes: 64 * 1024,
	seeds: [`abc\n${JSON.stringify(signed)}\n`, "\n{}\n"],
	tokens: ["\n", "{", "}", '"format":1', '"bytes":3', '"x":1', " "],
	async check(input) {
		const path = fileOf("backup", input);
		const found = await readManifest(path).catch((error) => {
			if (!(error instanceof UnsoundBackup)) throw error;
		});
		if (found !== undefined) assert.ok(readFileSync(path, "utf8").endsWith("}\n"));
	},
};

/** A client configuration names an orchestrator's address, or is refused. */
export const kubeconfig: Target = {
	sources: ["plugins/containerorch/kubeconfig.ts"],
	max_bytes: 4 * 1024,
	seeds: [
		"current-context: a\ncontexts: [{name: a, context: {cluster: b, user: c}}]\nclusters: [{name: b, cluster: {server: 'https://x'}}]\nusers: [{name: c, user: {token: t}}]\n",
		"{}",
	],
	tokens: ["&a ", "*a", "- ", ": ", "\n", "  ", "{", "}", "[", "]", "!!binary ", "<<: *a", "|", "users:", "null"],
	check(input) {
		const found = accepted(ConfigError, () => readKubeconfig(fileOf("kubeconfig", input)));
		if (found !== undefined) assert.ok(found.server === undefined || typeof found.server === "string");
	},
};
