import { Failure } from "../failure.ts";
import { didYouMean } from "./nearest.ts";

/** Names that were typed and do not exist. */
interface Missing {
	/** Singular, such as `secret`. */
	readonly noun: string;
	readonly typed: readonly string[];
	/** Where they were looked for, such as `shop/dev`. */
	readonly within?: string | undefined;
	/** The names that exist there, as far as the caller may list them. */
	readonly known?: Iterable<string>;
	/** The next command to try. */
	readonly hint?: string | undefined;
}

/** Makes the failure for names that do not exist: it repeats them, except those that may be a secret, and suggests those that are near. */
export function notFound({ noun, typed, within, known = [], hint }: Missing): Failure {
	const names = typed.filter(isName);
	const nouns = typed.length === 1 ? noun : `${noun}s`;
	const what = names.length === 0 ? nouns : `${nouns} ${names.join(", ")}`;
	const all = [...known];
	const questions = new Set(names.slice(0, 3).map((name) => didYouMean(name, all)));
	return new Failure("notFound", `${what} not found${within === undefined ? "" : ` in ${within}`}`, {
		hint: [...questions, hint].filter((part) => part !== undefined).join(" ") || undefined,
	});
}

const NAME = /^[A-Za-z0-9_][A-Za-z0-9_.@+/-]{0,127}$/;
/** Beginnings of tokens, of this service and of others, and long runs of letters and digits as keys are. */
const SECRET = /^(?:svc_|eyJ|gh[a-z]_|sk-|xox)|(?=[A-Za-z]*\d)(?=\d*[A-Za-z])[A-Za-z0-9]{24}/;

/** Tells whether a typed word looks like a name, and not like a token or a value, so that a message may repeat it. */
export function isName(word: string): boolean {
	return NAME.test(word) && !SECRET.test(word);
}
