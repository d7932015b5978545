import type { Implementations } from "../../store.ts";
import type { Async, Snapshot } from "../database.ts";

/** Answers the question about texts that servers have in common. */
export function commonReads(db: Snapshot): Async<Implementations<"read">["common"]> {
	return {
		async text(name) {
			return (await db.verified("meta", "name = $1", [`common.${name}`]))[0]?.value;
		},
	};
}
