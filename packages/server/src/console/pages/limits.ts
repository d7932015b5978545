import type { Limit, Limits } from "../../limits.ts";
import { type RefusalNeeds, requireInstanceAdmin } from "../../policy/authorize.ts";
import { command } from "../command.ts";
import { type Html, html } from "../html.ts";
import type { Endpoint, Page, Visit } from "../page.ts";
import { table } from "./components.ts";
import { amountOf, limitInWords } from "./limit-words.ts";
import { ofServer } from "./server-frame.ts";

/** Dependencies of the page of limits. */
export type LimitPageNeeds = RefusalNeeds & { limits: Limits };

/** Share of a limit above which it is marked, as the doctor does. */
const NEARLY = 0.8;

/** Every limit and how near it is, the nearest on top, for the instance admin. */
export function limitsPage(needs: LimitPageNeeds): Endpoint[] {
	return [{ method: "GET", path: /^\/console\/limits$/, answer: (visit) => limits(needs, visit) }];
}

/** A limit with its use, for whom it is fullest. */
interface Measured {
	name: string;
	/** Realm, account or engine that is nearest to it; empty for the whole server. */
	whose: string;
	used: number;
	max: number;
	share: number;
	refused: number | undefined;
	hint: string;
}

async function limits(needs: LimitPageNeeds, { actor }: Visit): Promise<Page> {
	await requireInstanceAdmin(needs, actor, "read");
	const measured = await Promise.all(needs.limits.all().map(measure));
	const nearest = measured.toSorted((a, b) => b.share - a.share);
	const near = nearest.filter(({ share }) => share >= NEARLY);
	const used = nearest.filter(({ share, refused }) => share < NEARLY && (share > 0 || (refused ?? 0) > 0));
	const unused = nearest.filter((one) => !near.includes(one) && !used.includes(one));
	return {
		...ofServer("Limits", actor),
		title: "Limits",
		body: html`<p>${verdict(nearest, near.length)}</p>${near.length === 0 ? "" : nearTable(near)}${tableOf("In use, the nearest on top", used)}
<details><summary>${unused.length} limits of which nothing is used</summary>${tableOf("Not used now", unused)}</details>`,
		commands: [command`svc doctor`],
	};
}

/** Says how near the limits are. */
function verdict([first]: readonly Measured[], near: number): Html | string {
	if (near > 0)
		return html`<strong class="warn">${near === 1 ? "1 limit is" : `${near} limits are`} nearly reached.</strong>`;
	if (first === undefined || first.share === 0) return "No limit is near: nothing is used.";
	return `No limit is near. The nearest is “${limitInWords(first.name)}”, at ${percentOf(first.share)}.`;
}

/** Writes a share; a small one is not rounded to none. */
function percentOf(share: number): string {
	return share > 0 && share < 0.01 ? "less than 1 %" : `${Math.round(share * 100)} %`;
}

async function measure({ name, max, used, refused, nearest, hint }: Limit): Promise<Measured> {
	const most = (await nearest?.())?.toSorted((a, b) => b.used / b.max - a.used / a.max)[0];
	const filled = most ?? { name: "", used: await used(), max };
	const share = filled.used / Math.max(1, filled.max);
	return { name, whose: filled.name, used: filled.used, max: filled.max, share, refused: refused?.(), hint };
}

function nearTable(near: readonly Measured[]): Html {
	const rows = near.map((one) => html`<tr>${cells(one)}<td data-label="What to do">${one.hint}</td></tr>`);
	return table("Nearly reached", [...HEADINGS, "What to do"], rows);
}

function tableOf(caption: string, measured: readonly Measured[]): Html | string {
	return measured.length === 0
		? ""
		: table(
				caption,
				HEADINGS,
				measured.map((one) => html`<tr>${cells(one)}</tr>`),
			);
}

const HEADINGS = ["Limit", "Used", "Of", "Share", "Fullest", "Refused since the start"];

function cells({ name, whose, used, max, share, refused }: Measured): Html {
	return html`<th scope="row">${limitInWords(name)}<br><code class="quiet">${name}</code></th><td data-label="Used" class="type">${amountOf(name, used)}</td><td data-label="Of" class="type">${amountOf(name, max)}</td><td data-label="Share" class="type">${share >= NEARLY ? html`<span class="warn">${percentOf(share)}</span>` : percentOf(share)}</td><td data-label="Fullest">${whose}</td><td data-label="Refused since the start">${refused ?? "not counted"}</td>`;
}
