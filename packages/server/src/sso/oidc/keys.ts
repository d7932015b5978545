import * as v from "valibot";
import { ProviderUnavailable } from "../model.ts";

/** Keys of a provider: every login examines each of them. Design: §11 */
const MAX_KEYS = 100;

/** Milliseconds in which keys are fetched once, however many id_tokens name an unknown key. Design: §11 */
const KEPT_MS = 60_000;

const KeySet = v.object({ keys: v.pipe(v.array(v.looseObject({})), v.minLength(1), v.maxLength(MAX_KEYS)) });

/**
 * Returns a provider's keys, fetched at most once a minute. A failure is not kept.
 * @param ask fetches them, and throws ProviderUnavailable
 */
export function createKeys<Options>(ask: (options: Options) => Promise<Response>) {
	let kept: { until: number; text: Promise<string> } | undefined;
	return async (options: Options): Promise<Response> => {
		if (kept === undefined || performance.now() >= kept.until) {
			const fetched = { until: performance.now() + KEPT_MS, text: ask(options).then(readKeys) };
			kept = fetched;
			fetched.text.catch(() => {
				if (kept === fetched) kept = undefined;
			});
		}
		return new Response(await kept.text, { headers: { "content-type": "application/json" } });
	};
}

async function readKeys(response: Response): Promise<string> {
	const text = await response.text();
	if (!v.is(v.pipe(v.string(), v.parseJson(), KeySet), text)) {
		throw new ProviderUnavailable(`the provider's keys are not a JSON Web Key Set of 1 to ${MAX_KEYS} keys`);
	}
	return text;
}
