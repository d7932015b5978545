import { containerorch } from "./containerorch/kind.ts";
import { documentdb } from "./documentdb/kind.ts";
import { keyvalue } from "./keyvalue/kind.ts";
import type { Kind, KindOf } from "./kind.ts";
import { pki } from "./pki/kind.ts";
import { thirdParty } from "./third-party/kind.ts";
import { totp } from "./totp/kind.ts";

/** The kinds of engines that come with the server, by type. */
export const KINDS: Readonly<Record<string, Kind>> = { containerorch, documentdb, keyvalue, pki, totp };

/** Makes the function that finds an engine's kind: a third party's when it does not come with the server. */
export function createKindOf(kinds: Readonly<Record<string, Kind>>): KindOf {
	return (type, is_built_in) => (is_built_in && Object.hasOwn(kinds, type) && kinds[type]) || thirdParty;
}
