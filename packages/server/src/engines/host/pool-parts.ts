import type { Log } from "../../log.ts";
import type { System } from "../../system.ts";
import type { PayerFailures } from "./failures.ts";
import type { CatalogEntry, EngineSettings, EngineUnavailable, Timing } from "./model.ts";

/** Parts of a pool. */
export interface PoolParts {
	entry: CatalogEntry;
	settings: EngineSettings;
	/** Empty folder in which processes start. */
	cwd: string;
	core_version: string;
	log: Log;
	system: Pick<System, "randomBytes">;
	timing: Timing;
	/** The failures by account, of every pool. */
	payer_failures: PayerFailures;
	/** Makes the refusal of a call that has no room to wait, or has waited too long. */
	refuse(why: string): EngineUnavailable;
	/** Called when the engine contradicts its descriptor: it is never called again. */
	onRefused(reason: string): void;
}
