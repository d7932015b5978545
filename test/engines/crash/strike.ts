import { eventually } from "../../harness/engine-world.ts";
import type { TcpProxy } from "../../peers/proxy.ts";
import type { Fault } from "./points.ts";
import type { Struck, Target } from "./target.ts";

/** Words that appear in plain text in one kind of request, and in no other. */
interface Words {
	readonly create: string;
	readonly remove: string;
}

/** Makes faults of a target behind a proxy. @param names reads the names at the target, around the proxy */
export function strikeThrough(proxy: TcpProxy, words: Words, names: Target["names"]): Target["strike"] {
	return async (fault: Fault): Promise<Struck> => {
		if (fault === "create held") {
			const { caught, release } = proxy.hold(words.create);
			return { struck: caught, release };
		}
		const isCreate = fault === "create unanswered";
		const before = await names();
		proxy.mute(isCreate ? words.create : words.remove);
		// Late creates from before may be cleaned up at any moment, and are no sign of this create.
		const hasHappened = async () => {
			const now = await names();
			return isCreate ? now.some((name) => !before.includes(name)) : before.some((name) => !now.includes(name));
		};
		return { struck: eventually(`${fault}: it is carried out`, hasHappened), release: async () => undefined };
	};
}
