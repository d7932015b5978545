/* The only source of the server that names the library, loaded when the first code is drawn. The single binary has it in a script of its own. */
import { create } from "qrcode";

/** Rows of a QR code's squares: true is dark. */
export function squaresOf(text: string): boolean[][] {
	const { data, size } = create(text, { errorCorrectionLevel: "M" }).modules;
	return Array.from({ length: size }, (_, row) => Array.from(data.subarray(row * size, (row + 1) * size), Boolean));
}
