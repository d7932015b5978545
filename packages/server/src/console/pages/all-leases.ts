import { check } from "../../http/input.ts";
import { AbandonLease, abandonLease, listAllLeases } from "../../leases/leases.ts";
import type { LeaseState } from "../../leases/model.ts";
import { nameIn, namesOf } from "../../names.ts";
import { requireInstanceAdmin } from "../../policy/authorize.ts";
import { command } from "../command.ts";
import { address, html } from "../html.ts";
import type { Endpoint, Moved, Page, Visit } from "../page.ts";
import { askAgain } from "./confirm.ts";
import type { LeasePageNeeds } from "./leases.ts";
import { ofServer } from "./server-frame.ts";
import { abandoning, stuckTable } from "./stuck-leases.ts";

/** Leases of each state that the page shows. */
const PAGE = 100;
const LIST = /^\/console\/leases$/;
const ABANDON = /^\/console\/leases\/([^/]+)\/abandon$/;

/** Credentials of all realms that are not revoked yet, for the instance admin, who can abandon one. */
export function allLeasesPage(needs: LeasePageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: LIST, answer: (visit) => leases(needs, visit) },
		{ method: "GET", path: ABANDON, answer: (visit) => askToAbandon(needs, visit) },
		{ method: "POST", path: ABANDON, answer: (visit) => abandon(needs, visit) },
	];
}

async function leases(needs: LeasePageNeeds, { actor }: Visit): Promise<Page> {
	const inState = (state: LeaseState) => listAllLeases(needs, actor, { limit: PAGE, state });
	const found = [await inState("revoking"), await inState("uncertain")];
	const stuck = found.flatMap(({ rows }) => rows);
	const people = await namesOf(
		needs,
		stuck.map(({ user_id }) => user_id),
	);
	const isCut = found.some(({ pagination }) => pagination.has_more);
	const shown = { leases: stuck, people, isOfAllRealms: true, actions: abandoning };
	const list =
		stuck.length === 0
			? html`<p>None: every credential that had to be revoked is gone.</p>`
			: html`${await stuckTable(needs, shown)}${isCut ? html`<p class="warn">There are more: <code>svc lease list</code> shows all.</p>` : ""}`;
	return {
		...ofServer("Leases", actor),
		title: "Leases",
		body: html`<h2>Not revoked yet, of all realms</h2>${list}<p class="quiet">The page Leases of a realm has its live ones. Leases of deleted realms are here alone.</p>`,
		commands: [
			command`svc lease list --all-realms --state revoking`,
			command`svc lease abandon LEASE-ID --reason TEXT`,
			command`svc lease revoke-all --engine keyvalue`,
		],
	};
}

async function askToAbandon(needs: LeasePageNeeds, { actor, token, params: [id = ""] }: Visit): Promise<Page> {
	await requireInstanceAdmin(needs, actor, "read");
	const lease = await needs.store.leases.byId(id);
	const people = await namesOf(needs, lease === undefined ? [] : [lease.user_id]);
	const which =
		lease === undefined
			? html`<p>There is no such lease.</p>`
			: html`<p>It is <code>${lease.name}</code> of ${lease.engine}, for ${nameIn(people, lease.user_id)}, in the realm ${lease.realm}. ${lease.last_error === "" ? "" : html`The last try failed: ${lease.last_error}`}</p>
<p class="warn">The credential may stay valid. The server no longer tries to revoke it: delete it by hand at its target.</p><form method="post" action="/console/leases/${id}/abandon">${token}
<label for="reason">Reason, for the audit log</label><input id="reason" name="reason" type="text" required autocomplete="off"><p><button>Abandon the lease</button></p></form>`;
	return {
		...ofServer("Leases", actor),
		title: "Abandon this lease?",
		body: html`${which}<p><a href="/console/leases">Keep it</a></p>`,
		commands: [command`svc lease abandon ${id} --reason TEXT`],
	};
}

async function abandon(needs: LeasePageNeeds, visit: Visit): Promise<Moved> {
	const [id = ""] = visit.params;
	const asked = await askAgain(needs, visit, address`/console/leases/${id}/abandon`);
	if (asked !== undefined) return asked;
	const { reason } = check(AbandonLease, { reason: visit.form.reason });
	await abandonLease(needs, visit.actor, id, reason);
	return { to: address`/console/leases`, message: "The lease is abandoned. Delete its credential by hand." };
}
