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
	const rows = measured.toSorted((a, b) => b.share - a.share).map(({ row }) => row);
	const headings = ["Limit", "Used", "Of", "Nearest", "Refused since the start", "What to do"];
	return {
		...ofServer("Limits", actor),
		title: "Limits",
		body: table("The nearest on top", headings, rows),
		commands: [command`svc doctor`],
	};
}

async function measure({ name, max, used, refused, nearest, hint }: Limit): Promise<{ share: number; row: Html }> {
	const most = (await nearest?.())?.toSorted((a, b) => b.used / b.max - a.used / a.max)[0];
	const filled = most ?? { name: "", used: await used(), max };
	const share = filled.used / Math.max(1, filled.max);
	const mark = share >= NEARLY ? html` <span class="warn">nearly reached</span>` : "";
	const advice = share >= NEARLY ? hint : "";
	const row = html`<tr><th scope="row">${name}</th><td data-label="Used">${filled.used}${mark}</td><td data-label="Of">${filled.max}</td><td data-label="Nearest">${filled.name}</td><td data-label="Refused">${refused?.() ?? ""}</td><td data-label="What to do">${advice}</td></tr>`;
	return { share, row };
}
