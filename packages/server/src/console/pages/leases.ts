import { getLease, type LeaseNeeds, listRealmLeases, revokeLease } from "../../leases/leases.ts";
import type { LeaseState, ListedLease } from "../../leases/model.ts";
import { type Names, nameIn, namesOf } from "../../names.ts";
import type { QuestionNeeds } from "../../semaphore.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import { type Endpoint, fieldOf, type Moved, type Page, type Visit } from "../page.ts";
import { bars } from "./chart.ts";
import { table, time } from "./components.ts";
import type { MemberPageNeeds } from "./members.ts";
import { inRealm, mayIn } from "./realm-frame.ts";
import { abandoning, type StuckNeeds, stuckTable } from "./stuck-leases.ts";

/** Dependencies of the page of a realm's leases. */
export type LeasePageNeeds = LeaseNeeds & MemberPageNeeds & QuestionNeeds & StuckNeeds;

/** Leases of each state that the page shows. */
const PAGE = 100;
const PATH = /^\/console\/realms\/([^/]+)\/leases$/;

/** A realm's credentials: those that live, and those that cannot be revoked. */
export function leasesPage(needs: LeasePageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => leases(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => end(needs, visit) },
	];
}

async function leases(needs: LeasePageNeeds, { actor, params: [slug = ""], token }: Visit): Promise<Page> {
	const may = await mayIn(needs, actor, slug);
	const inState = async (state: LeaseState) => (await listRealmLeases(needs, actor, slug, { limit: PAGE, state })).rows;
	const live = [...(await inState("active")), ...(await inState("intent"))];
	const stuck = [...(await inState("revoking")), ...(await inState("uncertain"))];
	live.sort((one, other) => (one.expires_at < other.expires_at ? -1 : 1));
	const people = await namesOf(
		needs,
		[...live, ...stuck].map(({ user_id }) => user_id),
	);
	const now = needs.system.now().getTime();
	const mayEnd = ({ user_id }: ListedLease) => user_id === actor.user_id || may("realms:manage");
	const button = (lease: ListedLease, label: string) =>
		mayEnd(lease)
			? html`<form method="post" action="/console/realms/${slug}/leases">${token}<input type="hidden" name="id" value="${lease.id}"><button aria-label="${label}: ${lease.name}">${label}</button></form>`
			: undefined;
	const actions = (lease: ListedLease) => {
		const [again, end] = [button(lease, "Try now"), actor.instance_admin ? abandoning(lease) : undefined];
		return again === undefined && end === undefined ? undefined : html`${again ?? ""}${end ?? ""}`;
	};
	const alive = liveTable(live, now, people, (lease) => button(lease, "End now"));
	const waiting = await stuckTable(needs, { leases: stuck, people, isOfAllRealms: false, actions });
	const note = actor.instance_admin
		? ""
		: html`<p class="quiet">An instance admin can abandon one that cannot be revoked.</p>`;
	return {
		...inRealm(slug, "Leases", may),
		title: `Leases of ${slug}`,
		body: html`${live.length === 0 ? html`<p>No live lease. A lease is a credential that an engine made and that expires.</p>` : html`${ending(live, now)}${alive}`}
<h2>Not revoked yet</h2>${stuck.length === 0 ? html`<p>None: every credential that had to be revoked is gone.</p>` : html`${waiting}${note}`}`,
		commands: [
			command`svc lease list --realm ${slug}`,
			command`svc lease revoke LEASE-ID --realm ${slug}`,
			...(actor.instance_admin ? [command`svc lease abandon LEASE-ID --reason TEXT`] : []),
		],
	};
}

type People = ReadonlyMap<string, Names>;

/** Lists the live leases. @param button what ends one; undefined when the caller may not */
function liveTable(
	leases: readonly ListedLease[],
	now: number,
	people: People,
	button: (lease: ListedLease) => Html | undefined,
): Html {
	const buttons = leases.map(button);
	const hasButtons = buttons.some((one) => one !== undefined);
	const rows = leases.map(({ engine, role, name, user_id, expires_at }, at) => {
		const cell = hasButtons ? html`<td>${buttons[at] ?? ""}</td>` : "";
		return html`<tr><th scope="row" class="key">${name}</th><td data-label="Engine">${engine}${role === "" ? "" : `, ${role}`}</td><td data-label="For">${nameIn(people, user_id)}</td><td data-label="Left">${left(Date.parse(expires_at) - now)}</td><td data-label="Ends">${time(expires_at)}</td>${cell}</tr>`;
	});
	const headings = ["Credential", "Engine", "For", "Left", "Ends", ...(hasButtons ? ["End it"] : [])];
	return table("Live, the first to end on top", headings, rows);
}

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;

/** Draws how many leases end in each hour of the next day. */
function ending(live: readonly ListedLease[], now: number): Html {
	const values = Array<number>(24).fill(0);
	for (const { expires_at } of live) {
		const hour = Math.max(0, Math.floor((Date.parse(expires_at) - now) / HOUR_MS));
		if (hour < values.length) values[hour] = (values[hour] ?? 0) + 1;
	}
	return bars({ title: "Leases that end, by the hour", values, from: "now", to: "in one day" });
}

/** Tells the time that is left, in its two largest units. */
function left(ms: number): string {
	const minutes = Math.max(0, Math.floor(ms / MINUTE_MS));
	const [days, hours] = [Math.floor(minutes / 1440), Math.floor(minutes / 60) % 24];
	if (days > 0) return `${days} d ${hours} h`;
	return hours > 0 ? `${hours} h ${minutes % 60} min` : `${minutes} min`;
}

async function end(needs: LeasePageNeeds, visit: Visit): Promise<Moved> {
	const [slug = ""] = visit.params;
	const id = fieldOf(visit, "id");
	const to = address`/console/realms/${slug}/leases`;
	if ((await revokeLease(needs, visit.actor, slug, id)) === "done") return { to, message: "The credential is gone." };
	const { last_error } = await getLease(needs, visit.actor, slug, id);
	const why = last_error === "" ? "its target is away or refuses" : last_error;
	return { to, message: `Not gone yet: ${why}. The server tries again until the credential is gone.` };
}
