import { type Html, html } from "../html.ts";

/** Width of the quiet zone, in modules (ISO/IEC 18004). */
const QUIET = 4;

/** Draws a text as a QR code, dark on light in both colour schemes. @param label names the picture, for people who do not see it */
export async function qrPicture(text: string, label: string): Promise<Html> {
	const { squaresOf } = await import("../qr-code.ts");
	const rows = squaresOf(text);
	const side = rows.length + 2 * QUIET;
	const path = rows.map((row, y) => runsOf(row, y + QUIET)).join("");
	return html`<svg class="qr" data-qr="" role="img" aria-label="${label}" viewbox="0 0 ${side} ${side}"><rect width="${side}" height="${side}" fill="white"></rect><path d="${path}" fill="black"></path></svg>`;
}

/** Draws the dark squares of a row, adjacent ones as one. */
function runsOf(row: readonly boolean[], y: number): string {
	let path = "";
	for (let x = 0; x < row.length; x++) {
		if (!row[x] || row[x - 1]) continue;
		let length = 1;
		while (row[x + length]) length++;
		path += `M${x + QUIET} ${y}h${length}v1h-${length}z`;
	}
	return path;
}
