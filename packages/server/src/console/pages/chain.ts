import { type AuditNeeds, listEvents, verifyLog } from "../../audit/audit.ts";
import type { ListedEvent } from "../../audit/model.ts";
import { type NameNeeds, nameIn, namesOf } from "../../names.ts";
import { type RefusalNeeds, requireInstanceAdmin } from "../../policy/authorize.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import type { Endpoint, Moved, Page, Visit } from "../page.ts";
import { time } from "./parts.ts";

/** Dependencies of the page of the log's chain. */
export type ChainPageNeeds = AuditNeeds & RefusalNeeds & NameNeeds;

const PATH = /^\/console\/chain$/;

/** State of the log's chain, for the instance admin: its length, who verified it last, and verifying it now. */
export function chainPage(needs: ChainPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => chain(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => verify(needs, visit) },
	];
}

async function chain(needs: ChainPageNeeds, { actor, token }: Visit): Promise<Page> {
	await requireInstanceAdmin(needs, actor, "read");
	const { events, hash } = await needs.store.audit.head();
	const { rows } = await listEvents(needs, actor, { type: "audit.verified" }, { limit: 1, cursor: undefined });
	const [last] = rows;
	const people = await namesOf(needs, last === undefined ? [] : [last.actor]);
	const verified =
		last === undefined ? html`<p>Nobody has verified it yet.</p>` : lastOf(last, nameIn(people, last.actor));
	return {
		title: "The audit log's chain",
		above: [["Realms", address`/console`]],
		body: html`<p>Each event is hashed with the one before it, and the server signs the state of the log every minute in which something happens. Verifying reads the whole log, compares it with each signed state, and what people may do with what the log says they were given.</p>
<p>The log has ${events} events. Keep this line elsewhere: with it, even a log that was cut off is found out.</p><pre>${events} ${hash.toString("hex")}</pre>
<h2>Last verified</h2>${verified}<form method="post" action="/console/chain">${token}<p><button>Verify it now</button></p></form>`,
		commands: [command`svc audit verify`, command`svc audit verify --seq ${events} --hash ${hash.toString("hex")}`],
	};
}

function lastOf({ timestamp, data }: ListedEvent, who: string): Html {
	const { status, last_seq } = JSON.parse(data) as { status: string; last_seq: number };
	return html`<p>${time(timestamp)} by ${who}, up to event ${last_seq}: ${status === "intact" ? "intact" : html`<strong class="bad">${status.replaceAll("_", " ")}</strong>`}.</p>`;
}

async function verify(needs: ChainPageNeeds, { actor }: Visit): Promise<Moved> {
	const { status, events, checkpoints } = await verifyLog(needs, actor, undefined);
	const to = address`/console/chain`;
	const read = `${events} events and ${checkpoints} signed states were compared`;
	if (status === "intact") return { to, message: `The log is intact: ${read}.` };
	return {
		to,
		message: `The log is not what it should be (${status.replaceAll("_", " ")}): \`svc audit verify\` says where.`,
	};
}
