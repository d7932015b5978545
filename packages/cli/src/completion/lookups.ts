import { optionValuesOf, type Place } from "./positions.ts";

/** A shell's syntax for lists of words. */
interface Lists {
	/** Empties `commands`, `options` and `arguments`. */
	readonly reset: string;
	list(words: Place["commands"]): string;
}

/** The functions with which bash and zsh look up what can follow: `_svc_place` a command, `_svc_values` an option. */
export function lookups(places: readonly Place[], { reset, list }: Lists): string {
	const cases = places.map(({ at, commands, options, arguments: args }) => {
		const positions = args.map((values) => `'${values.join(" ")}'`).join(" ");
		return `\t'${at}') commands=${list(commands)} options=${list(options)} arguments=(${positions}) ;;`;
	});
	const values = optionValuesOf(places).map(
		(one) => `\t${one.at === undefined ? "*" : `'${one.at}'`}' ${one.option}') values='${one.values.join(" ")}' ;;`,
	);
	return `_svc_place() {
	${reset}
	case $1 in
${cases.join("\n")}
	esac
}
_svc_values() {
	values=
	case "$1 $2" in
${values.join("\n")}
	esac
}`;
}
