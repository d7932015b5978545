/** Five letters and digits that PostgreSQL names an error by. */
const CODE = /^[0-9A-Z]{5}$/;

/** Makes an error of the database one that says no more than its code: its text may hold what was written. */
export function harmless(error: unknown): Error {
	if (!(error instanceof Error)) return new Error("the database failed");
	const code = "code" in error ? String(error.code) : "";
	return CODE.test(code) ? new Error(`the database refused the change: ${code}`) : error;
}
