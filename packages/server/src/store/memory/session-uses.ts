import { LRUCache } from "lru-cache";
import { MAX_SESSION_USES, type SessionUse } from "../../policy/model.ts";
import type { Briefs } from "../store.ts";

/** Remembers where and when each session was last used. */
export function sessionUsesInMemory(): Briefs["accounts"] {
	const uses = new LRUCache<string, SessionUse>({ max: MAX_SESSION_USES });
	return {
		noteUse: (jti, use) => void uses.set(jti, use),
		lastUses: (jtis) => jtis.map((jti) => uses.peek(jti)),
	};
}
