import type { Examination } from "../../doctor/findings.ts";
import { checkHealth, type HealthNeeds } from "../../health/health.ts";
import type { History, Span } from "../../health/history.ts";
import { troubleOf } from "../../health/model.ts";
import type { Actor } from "../../policy/model.ts";
import { command } from "../command.ts";
import { address, type Html, html } from "../html.ts";
import type { Endpoint, Page, Visit } from "../page.ts";
import { type ChainPageNeeds, chainLine } from "./chain.ts";
import { bars } from "./chart.ts";
import { table, time } from "./components.ts";
import { verdictOf } from "./doctor.ts";
import { ofServer } from "./server-frame.ts";

/** Dependencies of the page of the server's health. */
export type HealthPageNeeds = HealthNeeds & ChainPageNeeds & { history: History };

/** The server's health, for everybody who is signed in: it names no realm and nobody. */
export function healthPage(needs: HealthPageNeeds): Endpoint[] {
	return [{ method: "GET", path: /^\/console\/health$/, answer: (visit) => health(needs, visit) }];
}

async function health(needs: HealthPageNeeds, { actor, query }: Visit): Promise<Page> {
	const of = query.of === "day" ? "day" : "hour";
	const { status, version, store, details } = await checkHealth(needs);
	const trouble = troubleOf(store);
	const spans = await needs.history.read(of);
	const links = (["hour", "day"] as const).map((one) => {
		const to = address`/console/health?of=${one}`;
		return one === of
			? html`<li><a href="${to}" aria-current="page">Last ${one}</a></li>`
			: html`<li><a href="${to}">Last ${one}</a></li>`;
	});
	return {
		...ofServer("Health", actor),
		title: "Health",
		body: html`<p>${verdict(status === "healthy", needs.server.doctor.findings.last(), actor)} Version ${version}.</p>
${trouble === undefined ? "" : html`<p class="bad">${trouble.message}: ${trouble.hint}.</p>`}
${details === undefined ? html`<p class="bad">The database does not answer.</p>` : leases(details, actor)}
${await chainLine(needs, actor)}
<nav class="tabs" aria-label="Time"><ul>${links}</ul></nav>${charts(spans, of)}${numbers(spans, of)}
<p class="quiet">Counted since the server's start, in memory. <code>/metrics</code> has the same for Prometheus.</p>`,
		commands: [command`svc status`],
	};
}

/** Gives one verdict: what the doctor found last counts, too. Only the instance admin sees what it was. */
function verdict(isHealthy: boolean, examined: Examination | undefined, { instance_admin }: Actor): Html {
	if (!isHealthy)
		return html`<strong class="bad">The server is unhealthy: its database or its keys do not work.</strong>`;
	const link = html`<a href="${address`/console/doctor`}">Doctor</a>`;
	if (examined === undefined) {
		const more = instance_admin
			? html` The page ${link} looks at everything else; nobody has opened it since the start.`
			: "";
		return html`<strong>The server is healthy: it reads, writes and encrypts.</strong>${more}`;
	}
	const isFailing = examined.checks.some(({ status }) => status === "failed");
	const first = isFailing
		? html`<strong class="bad">The server reads, writes and encrypts, but has problems.</strong>`
		: html`<strong>The server is healthy.</strong>`;
	const found = instance_admin ? html` ${verdictOf(examined.checks)} ${time(examined.at)}, ${link}.` : "";
	return html`${first}${found}`;
}

function leases(
	{
		leases: { open, stuck, overdue, oldest_overdue_seconds },
	}: NonNullable<Awaited<ReturnType<typeof checkHealth>>["details"]>,
	{ instance_admin }: Actor,
): Html {
	const live = open.active ?? 0;
	const since = `${Math.max(1, Math.floor(oldest_overdue_seconds / 60))} min`;
	const where = instance_admin
		? html`The page <a href="/console/leases">Leases</a>`
		: html`The page Leases of its realm`;
	// The server counts leases and targets together, so the page says no number.
	const late =
		stuck > 0
			? html` <span class="bad">At least one cannot be revoked: it should have ended ${since} ago.</span> ${where} says why.`
			: overdue > 0
				? html` <span class="warn">At least one should have ended ${since} ago, and is not revoked yet.</span> ${where} says which.`
				: "";
	return html`<p>${live === 1 ? "1 live lease." : `${live} live leases.`}${late}</p>`;
}

const ms = (value: number) => (value === 0 ? "0" : `${value < 10 ? value.toFixed(1) : Math.round(value)} ms`);

function charts(spans: readonly Span[], of: "hour" | "day"): Html {
	const ends = { from: `one ${of} ago`, to: "now" };
	const each = of === "hour" ? "a minute" : "a quarter of an hour";
	const drawn = [
		bars({ ...ends, title: `Reads ${each}`, values: spans.map(({ reads }) => reads) }),
		bars({ ...ends, title: `Writes ${each}`, values: spans.map(({ writes }) => writes) }),
		bars({ ...ends, title: `Denials ${each}`, values: spans.map(({ denials }) => denials), isBad: true }),
		bars({ ...ends, title: `Failed sign-ins ${each}`, values: spans.map((one) => one.failed_sign_ins), isBad: true }),
		bars({ ...ends, title: "Live leases", values: spans.map(({ live_leases }) => live_leases) }),
		bars({ ...ends, title: "99 of 100 answers within", values: spans.map(({ p99_ms }) => p99_ms ?? 0), write: ms }),
	];
	return html`<div class="charts">${drawn}</div>`;
}

function numbers(spans: readonly Span[], of: "hour" | "day"): Html {
	const used = spans.filter(({ p99_ms }) => p99_ms !== undefined);
	const rows = used.map(
		({ since, reads, writes, denials, failed_sign_ins, live_leases, p99_ms = 0 }) =>
			html`<tr><th scope="row">${new Date(since).toISOString().slice(11, 16)} UTC</th><td data-label="Reads">${reads}</td><td data-label="Writes">${writes}</td><td data-label="Denials">${denials}</td><td data-label="Failed sign-ins">${failed_sign_ins}</td><td data-label="Live leases">${live_leases}</td><td data-label="p99">${ms(p99_ms)}</td></tr>`,
	);
	const headings = ["From", "Reads", "Writes", "Denials", "Failed sign-ins", "Live leases", "p99"];
	return html`<details><summary>The same as a table</summary>${table(`The last ${of}, without the times when nobody asked`, headings, rows)}</details>`;
}
