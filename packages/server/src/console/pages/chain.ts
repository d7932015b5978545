import { latestProof, type VerifyNeeds, verifyLog } from "../../audit/audit.ts";
import type { LatestProof } from "../../audit/model.ts";
import type { Examination, Findings } from "../../doctor/findings.ts";
import { type NameNeeds, nameIn, namesOf } from "../../names.ts";
import type { RefusalNeeds } from "../../policy/authorize.ts";
import type { Actor } from "../../policy/model.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import type { Endpoint, Moved, Page, Visit } from "../page.ts";
import { time } from "./components.ts";
import { ofServer } from "./server-frame.ts";

/** Dependencies of the page of the log's chain. */
export type ChainPageNeeds = VerifyNeeds &
	RefusalNeeds &
	NameNeeds & { server: { doctor: { findings: Pick<Findings, "last"> } } };

const PATH = /^\/console\/chain$/;

/** State of the log's chain, for the instance admin: its length, who verified it last, and verifying it now. */
export function chainPage(needs: ChainPageNeeds): Endpoint[] {
	return [
		{ method: "GET", path: PATH, answer: (visit) => chain(needs, visit) },
		{ method: "POST", path: PATH, answer: (visit) => verify(needs, visit) },
	];
}

async function chain(needs: ChainPageNeeds, { actor, token }: Visit): Promise<Page> {
	const proof = await latestProof(needs, actor);
	const { events, hash } = await needs.store.audit.head();
	return {
		...ofServer("Health", actor),
		title: "The audit log's chain",
		body: html`<p>Each event is hashed with the one before it, and the server signs the state of the log once a minute while events arrive. Verifying reads the whole log, compares it with each signed state, compares what people may do with what the log says they were granted, and opens everything that is sealed.</p>
<p>The log has ${events} events. Keep this line elsewhere: with it, you notice even a log that was cut off.</p><pre>${events} ${hash.toString("hex")}</pre>
<h2>Last signed and verified</h2>${await stateOf(needs, proof)}<form method="post" action="/console/chain">${token}<p><button>Verify it now</button></p></form>`,
		commands: [command`svc audit verify`, command`svc audit verify --seq ${events} --hash ${hash.toString("hex")}`],
	};
}

/** Says in a line how the log is, for the instance admin; nothing for anybody else. */
export async function chainLine(needs: ChainPageNeeds, actor: Actor): Promise<Html | string> {
	if (!actor.instance_admin) return "";
	const state = await stateOf(needs, await latestProof(needs, actor));
	return html`<section class="box" aria-labelledby="chain"><h2 id="chain"><a href="/console/chain">The audit log's chain</a></h2>${state}</section>`;
}

async function stateOf(needs: ChainPageNeeds, { checkpoint, verified }: LatestProof): Promise<Html> {
	const signed =
		checkpoint === undefined
			? html`The server has not signed its state yet.`
			: html`The last signed state covers the log to event ${checkpoint.seq}, ${time(checkpoint.timestamp)}.`;
	const examined = doctorsWord(needs.server.doctor.findings.last());
	if (verified === undefined) return html`<p>${signed} ${examined ?? "Nobody has verified it yet."}</p>`;
	const { timestamp, actor, data } = verified;
	const { status, last_seq } = JSON.parse(data) as { status: string; last_seq: number };
	const who = nameIn(await namesOf(needs, [actor]), actor);
	const result = status === "intact" ? "intact" : html`<strong class="bad">${status.replaceAll("_", " ")}</strong>`;
	return html`<p>${signed} Verified up to event ${last_seq}, ${time(timestamp)} by ${who}: ${result}.${examined === undefined ? "" : html` ${examined}`}</p>`;
}

/** Says what the doctor found when it last read the whole log. */
function doctorsWord(last: Examination | undefined): Html | undefined {
	const found = last?.checks.find(({ name }) => name === "audit");
	if (last === undefined || found === undefined) return undefined;
	const mark = found.status === "ok" ? "" : "bad";
	return html`The doctor read it ${time(last.at)}: <span class="${mark}">${found.message}</span>.`;
}

async function verify(needs: ChainPageNeeds, { actor }: Visit): Promise<Moved> {
	const { status, events, checkpoints } = await verifyLog(needs, actor, undefined);
	const to = address`/console/chain`;
	const read = `${events} events and ${checkpoints} signed states were compared`;
	if (status === "intact") return { to, message: `The log is intact: ${read}.` };
	return {
		to,
		message: `Verifying found a problem (${status.replaceAll("_", " ")}): \`svc audit verify\` says where.`,
	};
}
