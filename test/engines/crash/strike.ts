import { eventually } from "../../harness/engine-world.ts";
import type { TcpProxy } from "../../peers/proxy.ts";
import type { Fault } from "./points.ts";
import type { Struck, Target } from "./target.ts";

/** Words that are in the clear in requests of a kind, and in no others. */
interface Words {
	readonly create: string;
	readonly remove: string;
}

/** Makes faults of a target that is reached through a proxy. @param names what is there, as it is known without the proxy */
export function strikeThrough(proxy: TcpProxy, words: Words, names: Target["names"]): Target["strike"] {
	return async (fault: Fault): Promise<Struck> => {
		if (fault === "create held") {
			const { caught, release } = proxy.hold(words.create);
			return { struck: caught, release };
		}
		const before = (await names()).length;
		proxy.mute(fault === "create unanswered" ? words.create : words.remove);
		const hasHappened = async () => (await names()).length !== before;
		return { struck: eventually(`${fault}: it is carried out`, hasHappened), release: async () => undefined };
	};
}
