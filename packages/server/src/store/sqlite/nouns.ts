import type { Database } from "better-sqlite3";
import type { AuditEvent } from "../../audit/model.ts";
import type { Store } from "../store.ts";
import { copyDatabase } from "./copies.ts";
import { drizzle } from "./drizzle.ts";
import type { LongReader } from "./reader.ts";
import type { Reading } from "./reading.ts";
import { accountReads } from "./reads/accounts.ts";
import { engineReads } from "./reads/engines.ts";
import { keyReads } from "./reads/keys.ts";
import { leaseReads } from "./reads/leases.ts";
import { policyReads } from "./reads/policy.ts";
import { realmReads } from "./reads/realms.ts";
import { restoreReads } from "./reads/restores.ts";
import { secretReads } from "./reads/secrets.ts";
import { ssoReads } from "./reads/sso.ts";
import { tokenReads } from "./reads/tokens.ts";
import { numbersOf, secretSnapshots } from "./secret-snapshots.ts";
import type { Writer } from "./writer.ts";
import { LEASE_VERBS } from "./writes/leases.ts";

const ACCOUNT_VERBS = [
	"register",
	"setPassword",
	"setDisabled",
	"setLimits",
	"openSession",
	"closeSession",
	"dropSessions",
	"dropKnownSources",
] as const;
const SSO_VERBS = ["setProvider", "removeProvider", "signIn", "link", "unlink", "consume", "forgetUsed"] as const;

/** What the nouns are asked and changed through. */
interface Ways {
	writer: Pick<Writer, "append" | "noun">;
	connection: Database;
	reading: Reading;
	/** For what takes long. */
	reader: LongReader;
	/** The end of the audit chain. */
	tip(): { seq: number; hash: Buffer };
}

/** Every noun of the store: what is asked on this thread, what takes long, and what changes. */
export function createNouns(ways: Ways): Omit<Store, "isWritable" | "eventsOnLowDisk" | "close"> {
	const { writer, connection, reader, tip } = ways;
	const asked = questionsOf(ways);
	const append = (event: AuditEvent) => writer.append(event);
	const log = reader.noun("audit", ["list", "count", "export", "checkpoints", "verify"]);
	const { forget, hasten, ...lease } = writer.noun("leases", LEASE_VERBS);
	const { forgetExpired, ...token } = writer.noun("tokens", ["create", "revoke", "used", "forgetExpired"]);
	return {
		accounts: { ...asked.accounts, ...writer.noun("accounts", ACCOUNT_VERBS) },
		audit: { ...log, ...writer.noun("audit", ["addCheckpoint", "record"]), append, tip },
		backups: {
			copyTo: (to) => copyDatabase(connection.name, to),
			...asked.backups,
			...writer.noun("backups", ["noteRestored"]),
		},
		engines: { ...asked.engines, ...writer.noun("engines", ["setConfig", "removeConfig", "keepGenerated"]) },
		keys: { ...asked.keys, ...writer.noun("keys", ["initialize", "rotate", "rewrap"]) },
		leases: {
			...asked.leases,
			...reader.noun("leases", ["list", "count"]),
			...lease,
			forget: untilNothing(forget),
			hasten: untilNothing(hasten),
		},
		policy: { ...asked.policy, ...writer.noun("policy", ["bind", "unbind"]) },
		realms: {
			...asked.realms,
			...reader.noun("realms", ["fullest"]),
			...writer.noun("realms", ["create", "remove", "purge"]),
		},
		revocations: writer.noun("revocations", ["revoke"]),
		secrets: { ...asked.secrets, ...createSnapshots(ways), ...writer.noun("secrets", ["set", "promote", "remove"]) },
		sso: { ...asked.sso, ...writer.noun("sso", SSO_VERBS) },
		tokens: {
			...asked.tokens,
			...reader.noun("tokens", ["listLine", "countLine"]),
			...token,
			forgetExpired: untilNothing(forgetExpired),
		},
	};
}

function questionsOf({ reading, connection }: Ways) {
	const db = drizzle({ client: connection });
	return {
		accounts: reading.within(accountReads(db)),
		backups: reading.within(restoreReads(connection)),
		engines: reading.within(engineReads(db)),
		keys: reading.within(keyReads(db)),
		leases: reading.within(leaseReads(db)),
		policy: reading.within(policyReads(db)),
		realms: reading.within(realmReads(db)),
		secrets: reading.within(secretReads(db)),
		sso: reading.within(ssoReads(db)),
		tokens: reading.within(tokenReads(db)),
	};
}

/** Names that are read on this thread, which costs 4 ms at most. */
const FEW_NAMES = 1000;

/** The thread is asked only for many: it may be at something that takes long. */
function createSnapshots({ connection, reading, reader }: Ways): Pick<Store["secrets"], "snapshot" | "pairs"> {
	const names = secretSnapshots(connection).names;
	const here = reading.within({ names: async (...args: Parameters<typeof names>) => names(...args) });
	const there = reader.noun("secrets", ["names", "pairs"]);
	return {
		async snapshot(realm_id, environment, expired_by) {
			const few = numbersOf(await here.names(realm_id, environment, expired_by, FEW_NAMES + 1));
			if (few.length <= FEW_NAMES * 3) return few;
			return numbersOf(await there.names(realm_id, environment, expired_by, -1));
		},
		pairs: async (...args) => numbersOf(await there.pairs(...args)),
	};
}

/** Goes on in small steps, so that other writes get their turn between them. */
function untilNothing<Input>(step: (input: Input) => Promise<number>): (input: Input) => Promise<number> {
	return async (input) => {
		let total = 0;
		for (let count = -1; count !== 0; total += count) count = await step(input);
		return total;
	};
}
