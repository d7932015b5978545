import { accountContract } from "./accounts.ts";
import { currentAccessContract } from "./current-access.ts";
import { engineContract } from "./engines.ts";
import { keyContract } from "./keys.ts";
import { leaseBeginningContract } from "./lease-beginnings.ts";
import { leaseListContract } from "./lease-lists.ts";
import { leaseReadContract } from "./lease-reads.ts";
import { leaseContract } from "./leases.ts";
import type { OpenStore } from "./open-store.ts";
import { policyContract } from "./policy.ts";
import { realmContract } from "./realms.ts";
import { revocationContract } from "./revocations.ts";
import { secretContract } from "./secrets.ts";
import { ssoContract } from "./sso.ts";
import { tokenContract } from "./tokens.ts";

/** Promises of the port, by subject: each is a set of tests for any adapter. Design: §14 */
export const CONTRACT: Record<string, (openStore: OpenStore) => Promise<void>> = {
	accounts: accountContract,
	"current access": currentAccessContract,
	engines: engineContract,
	keys: keyContract,
	"lease beginnings": leaseBeginningContract,
	"lease lists": leaseListContract,
	"lease reads": leaseReadContract,
	leases: leaseContract,
	policy: policyContract,
	realms: realmContract,
	revocations: revocationContract,
	secrets: secretContract,
	sso: ssoContract,
	tokens: tokenContract,
};
