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
		const isCreate = fault === "create unanswered";
		const before = await names();
		proxy.mute(isCreate ? words.create : words.remove);
		// What landed late before this may be cleared away at any moment, and is no sign of a create.
		const hasHappened = async () => {
			const now = await names();
			return isCreate ? now.some((name) => !before.includes(name)) : before.some((name) => !now.includes(name));
		};
		return { struck: eventually(`${fault}: it is carried out`, hasHappened), release: async () => undefined };
	};
}
