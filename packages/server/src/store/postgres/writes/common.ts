import type { Implementations } from "../../store.ts";
import type { Async, Change } from "../database.ts";

/** Makes the operations on texts that servers have in common. */
export function commonWrites(db: Change): Async<Implementations<"write">["common"]> {
	const drop = async (name: string) => (await db.remove("meta", "name = $1", [`common.${name}`])) > 0;
	return {
		async keep(name, sealed) {
			const [stored] = await db.verified("meta", "name = $1", [`common.${name}`]);
			if (stored !== undefined) return stored.value;
			// A row that another program altered blocks it.
			await drop(name);
			await db.insert("meta", { name: `common.${name}`, value: sealed });
			return sealed;
		},
		drop,
	};
}
