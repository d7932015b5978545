import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { fromDeclarations, type Operations, type Store } from "../store.ts";
import { accountStatusContract } from "./account-status.ts";
import { accountContract } from "./accounts.ts";
import { auditContract } from "./audit.ts";
import { auditComparisonContract } from "./audit-comparison.ts";
import { auditDayContract } from "./audit-days.ts";
import { auditKeyContract } from "./audit-keys.ts";
import { backupContract } from "./backups.ts";
import { briefFactContract } from "./brief-facts.ts";
import { changedRealmContract } from "./changed-realms.ts";
import { commonTextContract } from "./common-texts.ts";
import { copyContract } from "./copies.ts";
import { currentAccessContract } from "./current-access.ts";
import { deletedRealmContract } from "./deleted-realms.ts";
import { engineContract } from "./engines.ts";
import { factorContract } from "./factors.ts";
import { healthContract } from "./health.ts";
import { holdingContract } from "./holdings.ts";
import { invitationContract, invitationUseContract } from "./invitations.ts";
import { keyContract } from "./keys.ts";
import { leaseBeginningContract } from "./lease-beginnings.ts";
import { leaseListContract } from "./lease-lists.ts";
import { leaseReadContract } from "./lease-reads.ts";
import { leaseWalkContract } from "./lease-walk.ts";
import { leaseContract } from "./leases.ts";
import { machineContract } from "./machines.ts";
import { nodeContract } from "./nodes.ts";
import type { OpenedStore, OpenStore } from "./open-store.ts";
import { passkeyContract } from "./passkeys.ts";
import { policyContract } from "./policy.ts";
import { quotaContract } from "./quota.ts";
import { realmContract } from "./realms.ts";
import { requestSlotContract } from "./request-slots.ts";
import { recoveryContract, resetContract } from "./resets.ts";
import { revocationContract } from "./revocations.ts";
import { rowLimitContract } from "./row-limits.ts";
import { secretSnapshotContract } from "./secret-snapshots.ts";
import { secretContract } from "./secrets.ts";
import { ssoContract } from "./sso.ts";
import { tokenContract } from "./tokens.ts";
import { trustContract } from "./trusts.ts";

/** Promises of the port, by subject: each is a set of tests. */
const PROMISES = {
	"account status": accountStatusContract,
	accounts: accountContract,
	audit: auditContract,
	"audit days": auditDayContract,
	"audit comparison": auditComparisonContract,
	"audit keys": auditKeyContract,
	backups: backupContract,
	"brief facts": briefFactContract,
	"changed realms": changedRealmContract,
	"common texts": commonTextContract,
	copies: copyContract,
	"current access": currentAccessContract,
	"deleted realms": deletedRealmContract,
	engines: engineContract,
	factors: factorContract,
	health: healthContract,
	holdings: holdingContract,
	invitations: invitationContract,
	"invitation use": invitationUseContract,
	keys: keyContract,
	"lease beginnings": leaseBeginningContract,
	"lease lists": leaseListContract,
	"lease reads": leaseReadContract,
	"lease walk": leaseWalkContract,
	leases: leaseContract,
	machines: machineContract,
	nodes: nodeContract,
	passkeys: passkeyContract,
	policy: policyContract,
	quotas: quotaContract,
	realms: realmContract,
	recovery: recoveryContract,
	"request slots": requestSlotContract,
	resets: resetContract,
	revocations: revocationContract,
	"row limits": rowLimitContract,
	"secret snapshots": secretSnapshotContract,
	secrets: secretContract,
	sso: ssoContract,
	tokens: tokenContract,
	trusts: trustContract,
} satisfies Record<string, (openStore: OpenStore) => Promise<void>>;

/** Tests whether an adapter keeps all promises of the port, and whether these say something about every operation. Design: §14 */
export function testContract(openStore: OpenStore): void {
	const untried = new Set<string>();
	fromDeclarations((noun, verb) => untried.add(`${noun}.${verb}`));

	/** Notes which operations of a store are called. */
	function watched({ store, reopen, ...opened }: OpenedStore): OpenedStore {
		type Verb = (...args: unknown[]) => unknown;
		const operations: Operations = fromDeclarations((noun, verb) => (...args: unknown[]) => {
			untried.delete(`${noun}.${verb}`);
			return (store as unknown as Record<string, Record<string, Verb>>)[noun]?.[verb]?.(...args);
		});
		const watching: Store = { ...store, ...operations };
		return { ...opened, store: watching, reopen: async () => watched(await reopen()) };
	}

	// In suites, because node:test may clean up behind a file's tests while the file still awaits the next store.
	for (const [subject, promises] of Object.entries(PROMISES))
		describe(subject, () => promises(async (cleanup) => watched(await openStore(cleanup))));
	test("every operation of the port is tried", () => assert.deepEqual([...untried], []));
}
