import type { KeySet, MacKey } from "../crypto/key-set.ts";
import type { FactorStore } from "../factors/model.ts";
import type { FactorCheckNeeds, SessionOwnerNeeds } from "../policy/authenticate.ts";
import type { Endpoint } from "./page.ts";
import { type AccountPageNeeds, accountPage } from "./pages/account.ts";
import { allLeasesPage } from "./pages/all-leases.ts";
import { type AuditPageNeeds, auditPages } from "./pages/audit.ts";
import { type ChainPageNeeds, chainPage } from "./pages/chain.ts";
import { type ComparePageNeeds, comparePage } from "./pages/compare.ts";
import { type ConfirmNeeds, confirmPage } from "./pages/confirm.ts";
import { deletedPages } from "./pages/deleted.ts";
import { type DeletedRealmNeeds, deletedRealmsPage } from "./pages/deleted-realms.ts";
import { type ExplainPageNeeds, explainPage } from "./pages/explain.ts";
import { factorsPage } from "./pages/factors.ts";
import { type IdentityPageNeeds, identitiesPage } from "./pages/identities.ts";
import { type InvitationPageNeeds, invitationPages } from "./pages/invitations.ts";
import { type LeasePageNeeds, leasesPage } from "./pages/leases.ts";
import { type MachinePageNeeds, machinePage } from "./pages/machine.ts";
import { type MachineListNeeds, machinesPage } from "./pages/machines.ts";
import { type MemberPageNeeds, membersPage } from "./pages/members.ts";
import { type NewTokenNeeds, newTokenPage } from "./pages/new-token.ts";
import { type OwnSessionPageNeeds, ownSessionsPage } from "./pages/own-sessions.ts";
import type { FactorPageNeeds } from "./pages/passkeys.ts";
import { realmSettingsPage } from "./pages/realm-settings.ts";
import { type RealmPageNeeds, realmPages } from "./pages/realms.ts";
import type { RegisterNeeds } from "./pages/register.ts";
import { secretPage } from "./pages/secret.ts";
import type { SecretNeeds } from "./pages/secret-name.ts";
import { secretsPages } from "./pages/secrets.ts";
import { type ServerPageNeeds, serverPages } from "./pages/server.ts";
import type { SignInNeeds } from "./pages/sign-in.ts";
import { type TrustPageNeeds, trustPage } from "./pages/trust.ts";

/** Dependencies of signing in that the console makes itself. */
type MadeHere = "sessions" | "cookies" | "challenges";

/** Dependencies of the console: those of the rules that its pages call. */
export type SiteNeeds = Omit<SessionOwnerNeeds, "sessions" | "noted"> &
	FactorCheckNeeds &
	Omit<SignInNeeds, MadeHere> &
	RealmPageNeeds &
	DeletedRealmNeeds &
	SecretNeeds &
	ComparePageNeeds &
	AccountPageNeeds &
	NewTokenNeeds &
	Omit<IdentityPageNeeds, "challenges"> &
	OwnSessionPageNeeds &
	Omit<FactorPageNeeds, "challenges"> &
	InvitationPageNeeds &
	ExplainPageNeeds &
	MachineListNeeds &
	MachinePageNeeds &
	TrustPageNeeds &
	MemberPageNeeds &
	LeasePageNeeds &
	Omit<RegisterNeeds, MadeHere> &
	ChainPageNeeds &
	AuditPageNeeds &
	ConfirmNeeds &
	ServerPageNeeds & {
		keyring: { cursorKey(): Buffer; session(): KeySet<MacKey> };
		store: { factors: Pick<FactorStore, "useChallenge" | "countChallenges"> };
		era: string;
		/** Address that browsers reach the server at. */
		address(): string;
	};

/** Makes every page that needs a session. */
export function endpointsOf(needs: SiteNeeds & FactorPageNeeds): Endpoint[] {
	const ofSecrets = [...secretsPages(needs), ...secretPage(needs), ...deletedPages(needs), ...comparePage(needs)];
	const ofPeople = [...invitationPages(needs), ...explainPage(needs)];
	const ofMachines = [...machinesPage(needs), ...machinePage(needs), ...trustPage(needs)];
	const ofRealms = [
		...leasesPage(needs),
		...allLeasesPage(needs),
		...membersPage(needs),
		...realmSettingsPage(needs),
		...auditPages(needs),
		...chainPage(needs),
		...ofPeople,
		...ofMachines,
	];
	const ofAccounts = [
		...accountPage(needs),
		...newTokenPage(needs),
		...identitiesPage(needs),
		...ownSessionsPage(needs),
		...factorsPage(needs),
	];
	const realms = [...realmPages(needs), ...deletedRealmsPage(needs)];
	return [...realms, ...ofSecrets, ...ofRealms, ...ofAccounts, ...confirmPage(needs), ...serverPages(needs)];
}
