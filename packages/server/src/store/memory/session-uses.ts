import { createCache } from "../../cache.ts";
import { MAX_SESSION_USES, type SessionUse } from "../../policy/model.ts";
import type { Briefs } from "../store.ts";

/** Remembers where and when each session was last used. */
export function sessionUsesInMemory(): Briefs["accounts"] {
	const uses = createCache<string, SessionUse>(MAX_SESSION_USES);
	return {
		noteUse: (jti, use) => void uses.set(jti, use),
		lastUses: (jtis) => jtis.map((jti) => uses.peek(jti)),
	};
}
