import { DAYS, type DayNeeds, readsPerDay } from "../../audit/days.ts";
import type { Actor } from "../../policy/model.ts";
import type { SecretName } from "../../secrets/secrets.ts";
import { address, type Html, html } from "../html.ts";
import { dayChart } from "./day-chart.ts";

/** Shows how often a secret was read on each of the last days, and leads to who read it. */
export async function readsSection(
	needs: DayNeeds,
	actor: Actor,
	{ slug, key, environment }: SecretName,
): Promise<Html> {
	const { days, isCut } = await readsPerDay(needs, actor, { slug, key, environment });
	const total = days.reduce((sum, { reads }) => sum + reads, 0);
	const span = isCut
		? `the last ${days.length} of ${DAYS} days; the days before have too many events to count`
		: `${DAYS} days`;
	const chart = dayChart({
		...{ title: "Reads a day", counted: "Reads", days: days.map(({ day, reads }) => ({ day, count: reads })) },
		to: (since, until) => address`/console/realms/${slug}/audit?key=${key}&since=${since}&until=${until}`,
	});
	return html`<h2>Reads</h2><p>${total === 1 ? "1 read" : `${total} reads`} in ${span}. <a href="/console/realms/${slug}/audit?key=${key}">Who read and wrote ${key}</a></p>${days.length === 0 ? "" : chart}`;
}
