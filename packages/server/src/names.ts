import * as v from "valibot";
import { errorMessage } from "./messages.ts";

/** Query that adds names next to ids of accounts and machines. Design: §15 */
export const WithNames = v.optional(
	v.picklist(["true", "false"], errorMessage("validation_failed", "names must be true or false")),
	"false",
);

/** Fields that `?names=true` adds for an account. */
export const PersonFields = { email: v.optional(v.string()), name: v.optional(v.string()) };

/** Fields that it adds for an account, or for a machine. */
export const NameFields = { ...PersonFields, machine: v.optional(v.string()) };

/** Fields next to the id of the maker. */
export const MakerFields = { created_by_email: PersonFields.email, created_by_name: PersonFields.name };

/** Fields next to the id of a realm's owner. */
export const OwnerFields = { owner_email: PersonFields.email, owner_name: PersonFields.name };

/** Fields next to the id of an account or machine that deleted something. */
export const DeleterFields = {
	...{ deleted_by_email: PersonFields.email, deleted_by_name: PersonFields.name },
	deleted_by_machine: NameFields.machine,
};

/** Names of an account, or of a machine as `realm/name`. */
export type Names = { email: string; name: string; machine?: never } | { email?: never; name?: never; machine: string };

/** Dependencies of naming; without machines, only people are named. */
export interface NameNeeds {
	store: {
		accounts: { byId(id: string): Found<{ email: string; name: string }> };
		machines?: { byId(id: string): Found<{ realm: string; name: string }> };
	};
}

type Found<Row> = Row | undefined | Promise<Row | undefined>;

/**
 * Names the people and machines in a list, by their ids. Callers who see the list may know who is in it.
 * @returns names of those that are still there
 */
export async function namesOf({ store }: NameNeeds, ids: Iterable<string>): Promise<Map<string, Names>> {
	const found = new Map<string, Names>();
	for (const id of new Set(ids)) {
		const account = await store.accounts.byId(id);
		if (account !== undefined) {
			found.set(id, { email: account.email, name: account.name });
			continue;
		}
		const machine = await store.machines?.byId(id);
		if (machine !== undefined) found.set(id, { machine: `${machine.realm}/${machine.name}` });
	}
	return found;
}

/** Spells names as fields next to an id: `created_by_email` and its like. There are none for somebody who is gone. */
export function prefixed(field: string, names: Names | undefined): Readonly<Record<string, string>> {
	return Object.fromEntries(Object.entries(names ?? {}).map(([part, name]) => [`${field}_${part}`, name]));
}

/** Finds who made the rows. @returns what a row gets in addition to its `created_by` */
export async function makersOf(
	needs: NameNeeds,
	rows: readonly Made[],
): Promise<(row: Made) => Readonly<Record<string, string>>> {
	const named = await namesOf(
		needs,
		rows.map(({ created_by }) => created_by),
	);
	return ({ created_by }) => prefixed("created_by", named.get(created_by));
}

interface Made {
	created_by: string;
}

/** Names somebody for a person to read: the e-mail, `machine:realm/name`, or the id of somebody who is gone. */
export function nameIn(names: ReadonlyMap<string, Names>, id: string): string {
	const found = names.get(id);
	if (found === undefined) return id;
	return found.machine === undefined ? found.email : `machine:${found.machine}`;
}
