import { eventBy } from "../audit/model.ts";
import type { Keyring } from "../crypto/keyring.ts";
import type { KeyPurpose, KeyRow } from "../crypto/keyring-model.ts";
import type { MasterKey } from "../crypto/master-key.ts";
import { rotateDataKey, rotateMasterKey, UNREADY } from "../crypto/rotation.ts";
import { KEY_BYTES } from "../crypto/xaes.ts";
import { AppError, FatalError } from "../errors.ts";
import type { LeaseClaims } from "../leases/model.ts";
import type { Node } from "../nodes/model.ts";
import { type RefusalNeeds, requireInstanceAdmin } from "../policy/authorize.ts";
import { realmNotFound } from "../policy/decide.ts";
import type { Actor } from "../policy/model.ts";
import type { RealmAccess, RealmStore } from "../realms/model.ts";
import type { System } from "../system.ts";
import type { ListedKeyStore } from "./model.ts";

/** Source of the master key at the start, and of the next one when it was provided beforehand. */
export interface MasterKeySource extends Pick<MasterKey, "fingerprint" | "origin" | "file" | "home"> {
	/** Looks for it now. @throws FatalError when it is malformed, or its file is open to others */
	next(): Promise<MasterKey | undefined>;
}

/** The servers that use the store. */
interface OtherServers {
	claims: Pick<LeaseClaims, "isShared">;
	nodes(): Promise<Node[]>;
}

/** Dependencies of the key rules. */
export interface KeyNeeds extends RefusalNeeds {
	store: RefusalNeeds["store"] & { keys: ListedKeyStore; realms: Pick<RealmStore, "access"> } & OtherServers;
	system: System;
	keyring: Keyring;
	master: MasterKeySource;
	/** Begins to authenticate rows with the active key. */
	renewRows(): void;
}

/** The keyring as the instance admin sees it: names and numbers, no part of a key. */
interface KeyStatus {
	/** `next` is the fingerprint of the next one, when it was provided beforehand and is not in use yet. */
	master: { fingerprint: string; origin: MasterKey["origin"]; file: string; next: string };
	/** Keys of the requested realm, else those of the instance. */
	keys: KeyRow[];
	realm_keys: { active: number; retired: number };
}

/**
 * Lists the keys.
 * @param slug the realm that owns the keys; the instance by default
 * @throws AppError forbidden, insufficient_scope, not_found, conflict (the next master key cannot be read)
 * Design: §5
 */
export async function getKeys(needs: KeyNeeds, actor: Actor, slug: string | undefined): Promise<KeyStatus> {
	await requireInstanceAdmin(needs, actor, "read");
	const { keys } = needs.store;
	const realm = slug === undefined ? undefined : await findRealm(needs, actor, slug);
	const rows = realm === undefined ? await keys.shared() : await keys.ofRealm(realm.id);
	const master = await describeMaster(needs);
	return { master, keys: rows.toSorted(byPurposeAndAge), realm_keys: await keys.countOfRealms() };
}

async function describeMaster({ master, keyring }: KeyNeeds): Promise<KeyStatus["master"]> {
	const { fingerprint } = keyring;
	const next = await findNext(master);
	const isInUse = next?.fingerprint === fingerprint && master.fingerprint !== fingerprint;
	const { origin, file = "" } = isInUse ? next : master;
	return {
		fingerprint,
		origin,
		file,
		next: next === undefined || next.fingerprint === fingerprint ? "" : next.fingerprint,
	};
}

/** Result of a rotation. */
interface Rotation {
	/** Id of the new key; for the master key its fingerprint. */
	id: string;
	/** Fingerprint of the previous master key; empty for other keys. */
	previous: string;
	/** Advice on what to do now. */
	message: string;
}

/**
 * Replaces the active key of a purpose, the record key of a named realm, or the master key. Anything that older keys sealed or
 * signed stays valid, except for cursors, which end with their key.
 * @throws AppError forbidden, insufficient_scope, not_found, validation_failed, conflict (there is no next master key, it is no key, or
 * its file cannot be written; or another server of the store does not have it)
 * Design: §5
 */
export async function rotateKey(
	needs: KeyNeeds,
	actor: Actor,
	{ purpose, realm: slug }: { purpose: KeyPurpose | "master"; realm: string | undefined },
): Promise<Rotation> {
	await requireInstanceAdmin(needs, actor, "write");
	if (slug !== undefined && purpose !== "record")
		throw new AppError("validation_failed", "a realm has only a record key: leave realm out, or rotate record");
	if (purpose === "master") return rotateMaster(needs, actor);
	const realm = slug === undefined ? undefined : await findRealm(needs, actor, slug);
	const event = eventBy(actor, needs.system.now(), "key.rotated", realm, { purpose });
	const id = await rotateDataKey({ keys: needs.store.keys, keyring: needs.keyring }, purpose, realm?.id ?? "", event);
	if (purpose === "rows") needs.renewRows();
	return { id: id.toString("hex"), previous: "", message: AFTER[purpose] };
}

/**
 * Refuses a next master key that another active server does not have: it could not open keys. The store decides again in the transaction.
 * @param next its fingerprint; undefined for one that this server would make
 * ADR 18
 */
async function refuseUnready({ claims, nodes }: OtherServers, next: string | undefined): Promise<void> {
	if (!claims.isShared) return;
	const active = (await nodes()).filter(({ status }) => status === "active");
	const has = ({ master_key, next_master_key }: Node) => next === master_key || next === next_master_key;
	if (active.length > 1 && !active.every(has)) throw new AppError("conflict", UNREADY);
}

/** Effects of a key's rotation on existing data. */
const AFTER: Record<KeyPurpose, string> = {
	record: "new values are sealed with the new key; existing values stay readable",
	portable: "new svc:v1: text is sealed with the new key; older text can still be opened",
	session: "new sessions are signed with the new key; existing sessions continue: `svc revoke` ends them",
	cursor: "clients that are reading a list page by page must start again",
	checkpoint: "new checkpoints of the audit log are signed with the new key; older ones stay verifiable",
	rows: "rows are authenticated with the new key one after another; the old key is destroyed when none needs it",
};

async function rotateMaster(needs: KeyNeeds, actor: Actor): Promise<Rotation> {
	const { master, keyring, system } = needs;
	const given = await findNext(master);
	if (given?.fingerprint === keyring.fingerprint) {
		throw new AppError(
			"conflict",
			`the next master key, ${given.file}, is already in use: put it in place of the previous key, then provide another`,
		);
	}
	const home = given === undefined ? master.home : undefined;
	if (given === undefined && home === undefined) throw new AppError("conflict", NOT_OURS);
	await refuseUnready(needs.store, given?.fingerprint);
	const next = given?.key.reveal() ?? system.randomBytes(KEY_BYTES);
	const event = eventBy(actor, system.now(), "key.rotated", undefined, { purpose: "master" });
	const { from, to } = await rotateMasterKey({ keys: needs.store.keys, keyring, home, system }, next, event);
	const location = given === undefined ? master.file : `${given.file}, which the server needs from now on`;
	const message = `keep a copy of the new master key ${to} elsewhere now: it is in ${location}; the backups made until now need ${from}: keep that key as long as you keep them`;
	return { id: to, previous: from, message };
}

const NOT_OURS =
	"the server cannot replace a master key that comes from a credential or the environment: provide the next one as the credential next-master-key or in next_master_key_file (SVC_NEXT_MASTER_KEY_FILE), restart the server, then run `svc keys rotate --master`";

/** Finds the next key. An error that would prevent a start is an answer here, and the server goes on. */
function findNext(master: MasterKeySource): Promise<MasterKey | undefined> {
	return master.next().catch((error: unknown) => {
		throw error instanceof FatalError ? new AppError("conflict", error.message) : error;
	});
}

async function findRealm(needs: KeyNeeds, actor: Actor, slug: string): Promise<RealmAccess> {
	const realm = await needs.store.realms.access(slug, actor.user_id);
	if (realm === undefined) throw realmNotFound();
	return realm;
}

function byPurposeAndAge(a: KeyRow, b: KeyRow): number {
	return `${a.purpose} ${a.created_at}` < `${b.purpose} ${b.created_at}` ? -1 : 1;
}
