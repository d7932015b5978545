import type { Limit, Limits } from "../../limits.ts";
import { type RefusalNeeds, requireInstanceAdmin } from "../../policy/authorize.ts";
import { command } from "../command.ts";
import { type Html, html } from "../html.ts";
import type { Endpoint, Page, Visit } from "../page.ts";
import { table } from "./components.ts";
import { ofServer } from "./server-frame.ts";

/** Dependencies of the page of limits. */
export type LimitPageNeeds = RefusalNeeds & { limits: Limits };

/** Share of a limit above which it is marked, as the doctor does. */
const NEARLY = 0.8;

/** Every limit and how near it is, the nearest on top, for the instance admin. */
export function limitsPage(needs: LimitPageNeeds): Endpoint[] {
	return [{ method: "GET", path: /^\/console\/limits$/, answer: (visit) => limits(needs, visit) }];
}

async function limits(needs: LimitPageNeeds, { actor }: Visit): Promise<Page> {
	await requireInstanceAdmin(needs, actor, "read");
	const measured = await Promise.all(needs.limits.all().map(measure));
	const nearest = measured.toSorted((a, b) => b.share - a.share);
	const headings = ["Limit", "Used", "Of", "Nearest", "Refused since the start", "What to do"];
	return {
		...ofServer("Limits", actor),
		title: "Limits",
		body: html`<p>${verdict(nearest)}</p>${table(
			"The nearest on top",
			headings,
			nearest.map(({ row }) => row),
		)}`,
		commands: [command`svc doctor`],
	};
}

/** Says how near the limits are. */
function verdict(nearest: readonly { name: string; share: number }[]): Html | string {
	const near = nearest.filter(({ share }) => share >= NEARLY).length;
	if (near > 0)
		return html`<strong class="warn">${near === 1 ? "1 limit is" : `${near} limits are`} nearly reached.</strong>`;
	const [{ name, share } = { name: "", share: 0 }] = nearest;
	return `No limit is near. The nearest is ${name}, at ${Math.round(share * 100)} %.`;
}

const numberOf = (value: number) => value.toLocaleString("en", { maximumFractionDigits: 2 });

async function measure({
	name,
	max,
	used,
	refused,
	nearest,
	hint,
}: Limit): Promise<{ name: string; share: number; row: Html }> {
	const most = (await nearest?.())?.toSorted((a, b) => b.used / b.max - a.used / a.max)[0];
	const filled = most ?? { name: "", used: await used(), max };
	const share = filled.used / Math.max(1, filled.max);
	const mark = share >= NEARLY ? html` <span class="warn">nearly reached</span>` : "";
	const advice = share >= NEARLY ? hint : "";
	const row = html`<tr><th scope="row">${name}</th><td data-label="Used">${numberOf(filled.used)}${mark}</td><td data-label="Of">${numberOf(filled.max)}</td><td data-label="Nearest">${filled.name}</td><td data-label="Refused">${refused?.() ?? ""}</td><td data-label="What to do">${advice}</td></tr>`;
	return { name, share, row };
}
