import type { Database } from "better-sqlite3";
import type { Append } from "../../../audit/chain.ts";
import type { Implementations } from "../../store.ts";
import { LOSS_ACCEPTED } from "../../unsuitable.ts";
import { withLazyStatements } from "../lazy-statements.ts";
import { accountWrites } from "./accounts.ts";
import { auditWrites } from "./audit.ts";
import { commonWrites } from "./common.ts";
import { engineWrites } from "./engines.ts";
import { factorWrites } from "./factors.ts";
import { invitationWrites } from "./invitations.ts";
import { keyWrites } from "./keys.ts";
import { leaseWrites } from "./leases.ts";
import { machineWrites } from "./machines.ts";
import { policyWrites } from "./policy.ts";
import { realmWrites } from "./realms.ts";
import { resetWrites } from "./resets.ts";
import { restoreWrites } from "./restores.ts";
import { revocationWrites } from "./revocations.ts";
import { secretWrites } from "./secrets.ts";
import { ssoWrites } from "./sso.ts";
import { tokenWrites } from "./tokens.ts";
import { trustWrites } from "./trusts.ts";

/** Makes every operation that changes the database, by noun. They run in the writer thread, inside its transaction. */
export function allWrites(connection: Database, append: Append): Writes {
	const db = withLazyStatements(connection);
	const setMeta = db.prepare(
		"INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
	);
	return {
		accounts: accountWrites(db, append),
		audit: auditWrites(db, append),
		backups: restoreWrites(db, append),
		common: commonWrites(db),
		engines: engineWrites(db, append),
		factors: factorWrites(db, append),
		invitations: invitationWrites(db, append),
		keys: keyWrites(db, append),
		leases: leaseWrites(db, append),
		machines: machineWrites(db, append),
		policy: policyWrites(db, append),
		realms: realmWrites(db, append),
		resets: resetWrites(db, append),
		revocations: revocationWrites(db, append),
		secrets: secretWrites(db, append),
		sso: ssoWrites(db, append),
		tokens: tokenWrites(db, append),
		trusts: trustWrites(db, append),
		health: {
			probe: (at) => void setMeta.run("probe", at),
			acceptLoss(at, event) {
				setMeta.run(LOSS_ACCEPTED, at);
				append(event);
			},
		},
	};
}

/** Every operation that changes the database, as declared. */
export type Writes = Implementations<"write">;
