import { AppError } from "../errors.ts";
import type { SecretStore, SecretVersion, VersionPlace } from "./model.ts";

/** Rows, and bytes of sealed values, read at once. */
const GROUP_ROWS = 200;
const GROUP_BYTES = 256 * 1024;

interface Needs {
	store: { secrets: Pick<SecretStore, "versionsAt"> };
}

/**
 * Reads the versions that a list named, a group at a time. Versions never change, so the reader sees the state of the list's time; one that has
 * gone meanwhile ends the reading.
 * @throws AppError overloaded
 * Design: §13
 */
export async function* readVersions({ store }: Needs, places: Iterable<VersionPlace>): AsyncGenerator<SecretVersion[]> {
	for (const group of groupsOf(places)) {
		const rows = await store.secrets.versionsAt(group);
		const found = rows.filter((row) => row !== undefined);
		if (found.length < group.length) throw gone();
		yield found;
	}
}

function* groupsOf(places: Iterable<VersionPlace>): Generator<VersionPlace[]> {
	let group: VersionPlace[] = [];
	let bytes = 0;
	for (const place of places) {
		if (group.length === GROUP_ROWS || (group.length > 0 && bytes + place.bytes > GROUP_BYTES)) {
			yield group;
			group = [];
			bytes = 0;
		}
		group.push(place);
		bytes += place.bytes;
	}
	if (group.length > 0) yield group;
}

/** Yields the places in a packed snapshot. */
export function* unpack(snapshot: Float64Array): Generator<VersionPlace> {
	for (let at = 0; at < snapshot.length; at += 3) {
		const [secret_id = 0, version = 0, bytes = 0] = snapshot.subarray(at, at + 3);
		yield { secret_id, version, bytes };
	}
}

/** A key in two environments. */
export interface VersionPair {
	from: VersionPlace | undefined;
	to: VersionPlace | undefined;
}

/** Yields the pairs in a packed comparison. */
export function* unpackPairs(pairs: Float64Array): Generator<VersionPair> {
	for (let at = 0; at < pairs.length; at += 6) {
		const [from, to] = unpack(pairs.subarray(at, at + 6));
		yield { from: thereOr(from), to: thereOr(to) };
	}
}

function thereOr(place: VersionPlace | undefined): VersionPlace | undefined {
	return place?.secret_id === 0 ? undefined : place;
}

function gone(): AppError {
	const headers = { "retry-after": "1" };
	return new AppError("overloaded", "a secret was deleted while the list was read: try again", { headers });
}
