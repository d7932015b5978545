import { Connections } from "../http/connections.ts";
import { createLimits } from "../limits.ts";

/** Makes the keeper of connections that a listener needs, for tests of the code behind it. */
export function anyConnections(): Connections {
	return new Connections({ max: 2048, trusted_proxies: [], limits: createLimits() });
}
