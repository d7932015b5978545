/*
 * Preloaded by a server, takes away the one promise that the power-loss replay tests: commits are not synced, in any thread, although every
 * connection reports that they are. The replay must detect it.
 */
import { createRequire } from "node:module";

/** Reads or sets a pragma of a connection, as better-sqlite3 does. */
type Pragma = (this: object, source: string, options?: object) => unknown;

const load = createRequire(new URL("../../../packages/server/src/store/sqlite/open.ts", import.meta.url));
const { prototype }: { prototype: { pragma: Pragma } } = load("better-sqlite3");
const { pragma } = prototype;
const FULL = 2;

prototype.pragma = function (source, options) {
	if (source === "synchronous") return FULL;
	return pragma.call(this, source === "synchronous = FULL" ? "synchronous = NORMAL" : source, options);
};
