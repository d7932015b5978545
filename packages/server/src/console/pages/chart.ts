import { type Html, html } from "../html.ts";

/** Size in units of the drawing; the page scales it. */
const WIDTH = 600;
const HEIGHT = 80;
/** The lowest bar that is seen. */
const MIN_HEIGHT = 2;

/** Data of a chart of bars. The page must show the same as a table. */
export interface Bars {
	/** Says what the bars are: the chart's title, and its name to screen readers. */
	title: string;
	values: readonly number[];
	/** The ends of the axis below. */
	from: string;
	to: string;
	/** Writes the largest value. */
	write?: (value: number) => string;
	/** Draws in the color of what is bad. */
	isBad?: boolean;
}

/** Draws bars as an SVG without a script and without a style of its own. */
export function bars({ title, values, from, to, write = String, isBad = false }: Bars): Html {
	const most = Math.max(0, ...values);
	const step = WIDTH / Math.max(1, values.length);
	const drawn = values.flatMap((value, index) => {
		if (value <= 0) return [];
		const height = Math.max(MIN_HEIGHT, (value / most) * HEIGHT);
		const [x, y, width] = [index * step, HEIGHT - height, step * 0.8].map((length) => length.toFixed(1));
		return [html`<rect x="${x ?? ""}" y="${y ?? ""}" width="${width ?? ""}" height="${height.toFixed(1)}"></rect>`];
	});
	const label = `${title}: at most ${write(most)}. The table has every number.`;
	return html`<figure class="chart"><figcaption>${title} <span class="quiet">at most ${write(most)}</span></figcaption><svg viewbox="0 0 ${WIDTH} ${HEIGHT}" preserveaspectratio="none" role="img" aria-label="${label}" class="${isBad ? "bars bad" : "bars"}">${drawn}</svg><p class="axis quiet"><span>${from}</span><span>${to}</span></p></figure>`;
}
