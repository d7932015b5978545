import { type Address, type Html, html } from "../html.ts";
import { table } from "./components.ts";

/** Size in units of the drawing; the page scales it. */
const WIDTH = 600;
const HEIGHT = 80;
/** The lowest part of a bar that is seen. */
const MIN_HEIGHT = 2;

/** A day, such as `2030-01-31`, and what was counted on it. */
interface CountedDay {
	day: string;
	count: number;
	/** Those of them that are marked as bad. */
	bad?: number;
}

/** Days that are drawn, the oldest first. */
export interface DayChart {
	/** Says what is counted: the chart's title, and the table's. */
	title: string;
	/** Heading of the counts, and of those marked as bad where these are counted separately. */
	counted: string;
	bad?: string;
	days: readonly CountedDay[];
	/** The list of what happened from the beginning of one day to that of another. */
	to(since: string, until: string): Address;
	/** The day whose list is open. */
	chosen?: string | undefined;
}

/** Draws a bar for each day, which leads to that day's list, and has the same as a table for people who do not see or click it. */
export function dayChart(chart: DayChart): Html {
	const { title, days } = chart;
	const most = Math.max(0, ...days.map(({ count }) => count));
	const bars = days.map((day, at) => bar(chart, day, at * (WIDTH / days.length), most));
	const legend = chart.bad === undefined ? "" : html` <span class="bad">■ ${chart.bad.toLowerCase()}</span>`;
	const first = days[0]?.day ?? "";
	const last = days.at(-1)?.day ?? "";
	return html`<figure class="chart"><figcaption>${title} <span class="quiet">at most ${most}</span>${legend}</figcaption><svg viewbox="0 0 ${WIDTH} ${HEIGHT}" preserveaspectratio="none" aria-hidden="true" class="bars days">${bars}</svg><p class="axis quiet"><span>${first}</span><span>${last}</span></p>${numbers(chart)}</figure>`;
}

function bar({ days, counted, bad, to, chosen }: DayChart, one: CountedDay, x: number, most: number): Html {
	const width = ((WIDTH / days.length) * 0.8).toFixed(1);
	const part = (count: number, above: number, kind: string) => {
		if (count === 0) return html``;
		const height = heightOf(count, most);
		return html`<rect x="${x.toFixed(1)}" y="${(HEIGHT - height - above).toFixed(1)}" width="${width}" height="${height.toFixed(1)}" class="${kind}"></rect>`;
	};
	const refused = one.bad ?? 0;
	const below = refused === 0 ? 0 : heightOf(refused, most);
	const label = `${one.day}: ${one.count} ${counted.toLowerCase()}${bad === undefined ? "" : `, ${refused} ${bad.toLowerCase()}`}`;
	const target = to(one.day, dayAfter(one.day));
	const whole = html`<rect x="${x.toFixed(1)}" y="0" width="${width}" height="${HEIGHT}" class="${one.day === chosen ? "whole chosen" : "whole"}"></rect>`;
	return html`<a href="${target}" tabindex="-1"><title>${label}</title>${whole}${part(refused, 0, "bad")}${part(one.count - refused, below, "")}</a>`;
}

const heightOf = (count: number, most: number) => Math.max(MIN_HEIGHT, (count / most) * HEIGHT);

function numbers({ title, counted, bad, days, to, chosen }: DayChart): Html {
	const used = days.filter(({ count }) => count > 0).toReversed();
	if (used.length === 0) return html`<p class="quiet">Nothing in these days.</p>`;
	const rows = used.map(({ day, count, bad: refused = 0 }) => {
		const target = to(day, dayAfter(day));
		const link =
			day === chosen ? html`<a href="${target}" aria-current="true">${day}</a>` : html`<a href="${target}">${day}</a>`;
		const marked = bad === undefined ? "" : html`<td data-label="${bad}">${refused}</td>`;
		return html`<tr><th scope="row">${link}</th><td data-label="${counted}">${count}</td>${marked}</tr>`;
	});
	const headings = ["Day (UTC)", counted, ...(bad === undefined ? [] : [bad])];
	return html`<details><summary>The same as a table</summary>${table(`${title}, without the days on which there was none`, headings, rows)}</details>`;
}

/** The day after one, as it is written. */
function dayAfter(day: string): string {
	return new Date(Date.parse(day) + 24 * 60 * 60 * 1000).toISOString().slice(0, 10);
}
