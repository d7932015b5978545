import { optionValuesOf, type Position } from "./positions.ts";

/** A shell's syntax for lists of words. */
interface Lists {
	/** Empties `commands`, `options` and `arguments`. */
	readonly reset: string;
	list(words: Position["commands"]): string;
}

/** The functions with which bash and zsh look up what can follow: `_svc_position` a command, `_svc_values` an option. */
export function lookups(positions: readonly Position[], { reset, list }: Lists): string {
	const cases = positions.map(({ at, commands, options, arguments: args }) => {
		const positions = args.map((values) => `'${values.join(" ")}'`).join(" ");
		return `\t'${at}') commands=${list(commands)} options=${list(options)} arguments=(${positions}) ;;`;
	});
	const values = optionValuesOf(positions).map(
		(one) => `\t${one.at === undefined ? "*" : `'${one.at}'`}' ${one.option}') values='${one.values.join(" ")}' ;;`,
	);
	return `_svc_position() {
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
