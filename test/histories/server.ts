/* The server, which shares its database with others and makes files as credentials. PLANTED_FAULT names a fault to plant in its sources. */
import { appendFileSync } from "node:fs";
import { registerHooks } from "node:module";
import { dirname, join } from "node:path";
import process from "node:process";
import { setTimeout as pause } from "node:timers/promises";
import type { Kind } from "../../packages/server/src/engines/kinds/kind.ts";
import { FAULTS, plant } from "./faults.ts";

// biome-ignore lint/style/noProcessEnv: the program is a process of its own, with an environment built by the test
const { PLANTED_FAULT } = process.env;

if (PLANTED_FAULT !== undefined) {
	const edits = FAULTS[PLANTED_FAULT] ?? [];
	registerHooks({
		load(url, context, next) {
			const loaded = next(url, context);
			if (loaded.source == null || !url.includes("/packages/server/src/")) return loaded;
			return { ...loaded, source: plant(edits, url, Buffer.from(loaded.source as Uint8Array).toString()) };
		},
	});
}

/** Milliseconds that the target takes to remove a credential. */
const REMOVAL_MS = 30;

/** Writes down when credentials are removed, in a file next to their folder. */
function watched(kind: Kind): Kind {
	return {
		...kind,
		async connect(needs) {
			const connector = await kind.connect?.(needs);
			if (connector === undefined) return undefined;
			const journal = join(dirname(String(needs.fields.path)), "removals");
			const note = (name: string, moment: "start" | "end") => {
				const entry = { name, pid: process.pid, moment, ms: Number(process.hrtime.bigint()) / 1e6 };
				appendFileSync(journal, `${JSON.stringify(entry)}\n`);
			};
			return {
				...connector,
				async remove(credential) {
					note(credential.name, "start");
					await pause(REMOVAL_MS);
					await connector.remove(credential);
					note(credential.name, "end");
				},
			};
		},
	};
}

// After the hooks: what is imported before them would have no faults.
const [{ BUILT_IN }, KINDS, { folder }, { runOwnServer }] = await Promise.all([
	import("../../packages/svc/src/built-in-engines.ts"),
	import("../../packages/server/src/engines/kinds/registry.ts"),
	import("../engines/kind/folder.ts"),
	import("../harness/own-server.ts"),
]);
await runOwnServer(BUILT_IN, { kinds: { ...KINDS, folder: watched(folder) } });
