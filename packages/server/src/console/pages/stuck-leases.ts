import type { LeaseClock } from "../../leases/clock.ts";
import type { LeaseStore, ListedLease, RevokeReason } from "../../leases/model.ts";
import type { Reaper } from "../../leases/reaper.ts";
import { type Names, nameIn } from "../../names.ts";
import { type Html, html } from "../html.ts";
import { table, time } from "./components.ts";

/** Dependencies of showing leases that are not revoked yet. */
export interface StuckNeeds {
	store: { leases: Pick<LeaseStore, "pausedAt"> };
	clock: Pick<LeaseClock, "now">;
	reaper: Pick<Reaper, "targets">;
}

/** Leases that must be revoked, and what the page offers for them. */
export interface StuckLeases {
	leases: readonly ListedLease[];
	people: ReadonlyMap<string, Names>;
	/** Shows the realm of each. */
	isOfAllRealms: boolean;
	/** Makes the buttons of a lease. */
	actions(lease: ListedLease): Html | undefined;
}

/** Reasons in words; a lease whose answer got lost is revoked, too. */
const REASONS: Record<RevokeReason | "", string> = {
	expired: "it ended",
	requested: "somebody ended it",
	realm_deleted: "its realm was deleted",
	undelivered: "its answer did not arrive",
	uncertain: "perhaps it was made",
	zombie: "it came back",
	"": "",
};

/** Shows why each must be revoked, why it is not yet, how often that was tried, and when the next try is. */
export async function stuckTable(needs: StuckNeeds, stuck: StuckLeases): Promise<Html> {
	const { leases, people, isOfAllRealms } = stuck;
	const actions = leases.map((lease) => stuck.actions(lease));
	const hasActions = actions.some((one) => one !== undefined);
	const targets = new Map(needs.reaper.targets().map((one) => [one.target, one]));
	const pausedAt = await needs.store.leases.pausedAt();
	const nextTry = (lease: ListedLease) =>
		pausedAt === undefined
			? untilNext(lease, targets.get(lease.target), needs.clock.now())
			: html`paused since a restore: <code>svc lease resume</code> goes on`;
	const rows = leases.map((lease, at) => {
		const { engine, realm, name, user_id, reason, attempts, last_error } = lease;
		const ofRealm = isOfAllRealms ? html`<td data-label="Realm" class="whole">${realm}</td>` : "";
		const offered = hasActions ? html`<td class="whole"><div class="row">${actions[at] ?? ""}</div></td>` : "";
		return html`<tr><th scope="row" class="key">${name}</th>${ofRealm}<td data-label="Engine" class="type">${engine}</td><td data-label="For">${nameIn(people, user_id)}</td><td data-label="Must go">${REASONS[reason]}</td><td data-label="Last failure" class="bad">${last_error}</td><td data-label="Tries">${attempts}</td><td data-label="Next try">${nextTry(lease)}</td>${offered}</tr>`;
	});
	const headings = [
		"Credential",
		...(isOfAllRealms ? ["Realm"] : []),
		...["Engine", "For", "Must go because", "Last failure", "Tries", "Next try"],
		...(hasActions ? ["Change"] : []),
	];
	return html`${table("The server tries again until each is gone", headings, rows)}<p class="quiet">While a target does not answer, the server asks it every few seconds whether it is back, and the number of tries stays.</p>`;
}

const SECOND_MS = 1000;
const MINUTE_MS = 60 * SECOND_MS;

type Target = ReturnType<Reaper["targets"]>[number];

function untilNext({ due_at }: ListedLease, target: Target | undefined, now_ms: number): Html {
	if (target?.state === "away") return html`when its target answers again; away since ${time(target.since)}`;
	if (target?.state === "blocked") return html`when its target lets the server; refused since ${time(target.since)}`;
	const left_ms = (due_at ?? now_ms) - now_ms;
	if (left_ms <= 0) return html`now`;
	const [count, unit] =
		left_ms < MINUTE_MS ? [Math.ceil(left_ms / SECOND_MS), "s"] : [Math.ceil(left_ms / MINUTE_MS), "min"];
	return html`in ${count} ${unit}`;
}

/** Leads to the page that abandons a lease. */
export function abandoning({ id, name }: ListedLease): Html {
	return html`<a class="button" href="/console/leases/${id}/abandon" aria-label="Abandon ${name}">Abandon</a>`;
}
