import { DAYS, type DayNeeds, readsPerDay } from "../../audit/days.ts";
import type { Actor } from "../../policy/model.ts";
import type { SecretName } from "../../secrets/secrets.ts";
import { address, type Html, html } from "../html.ts";
import { type DayChart, dayChart } from "./day-chart.ts";

/** Draws how often a secret was read on each of the last days. @returns the drawing, and the sum in words */
export async function readsChart(
	needs: DayNeeds,
	actor: Actor,
	name: SecretName,
	{ to, chosen }: Pick<DayChart, "to" | "chosen">,
): Promise<{ chart: Html; sum: string }> {
	const { days, isCut } = await readsPerDay(needs, actor, name);
	const total = days.reduce((sum, { reads }) => sum + reads, 0);
	const span = isCut
		? `the last ${days.length} of ${DAYS} days; the days before have too many events to count`
		: `${DAYS} days`;
	const sum =
		days.length === 0
			? "Today alone has too many reads to count here."
			: `${total === 1 ? "1 read" : `${total} reads`} in ${span}.`;
	const title = `Reads of ${name.key} in ${name.environment} a day`;
	const counts = days.map(({ day, reads }) => ({ day, count: reads }));
	return { chart: days.length === 0 ? html`` : dayChart({ title, counted: "Reads", days: counts, chosen, to }), sum };
}

/** Shows how often a secret was read on each of the last days, and leads to who read it. */
export async function readsSection(needs: DayNeeds, actor: Actor, name: SecretName): Promise<Html> {
	const { slug, key, environment } = name;
	const { chart, sum } = await readsChart(needs, actor, name, {
		to: (since, until) =>
			address`/console/realms/${slug}/audit?key=${key}&env=${environment}&since=${since}&until=${until}`,
		chosen: undefined,
	});
	return html`<h2>Reads</h2><p>${sum} <a href="/console/realms/${slug}/audit?key=${key}&env=${environment}">Who read and wrote ${key} in ${environment}</a></p>${chart}`;
}
