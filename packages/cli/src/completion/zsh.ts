import { optionValuesOf, type Place } from "./places.ts";

/** The script that completes in zsh. */
export function zshScript(places: readonly Place[]): string {
	const described = (words: readonly { name: string; summary: string }[]) =>
		words.map(({ name, summary }) => quote(`${name}:${summary}`)).join(" ");
	const cases = places.map(
		({ at, commands, options, arguments: args }) =>
			`\t'${at}') commands=(${described(commands)}) options=(${described(options)}) arguments=(${args.map((values) => `'${values.join(" ")}'`).join(" ")}) ;;`,
	);
	const values = optionValuesOf(places).map(
		(one) => `\t${one.at === undefined ? "*" : `'${one.at}'`}' ${one.option}') values='${one.values.join(" ")}' ;;`,
	);
	return `#compdef svc
# Completion of svc in zsh. In ~/.zshrc, after compinit: source <(svc completion zsh)
_svc_place() {
	commands=() options=() arguments=()
	case $1 in
${cases.join("\n")}
	esac
}
_svc_values() {
	values=
	case "$1 $2" in
${values.join("\n")}
	esac
}
${WALK}`;
}

const quote = (text: string): string => `'${text.replaceAll("'", "'\\''")}'`;

/** Not `path`, which is the shell's own. */
const WALK = `_svc_offer() {
	local word
	for word; do
		case $word in
		@any) ;;
		@files) _files ;;
		@*) compadd -- \${(f)"$("\${words[1]/#\\~/$HOME}" complete "\${word#@}" $given 2>/dev/null)"} ;;
		*) compadd -- "$word" ;;
		esac
	done
}
_svc() {
	local at= word option values
	local -i place=1 i
	local -a commands options arguments given
	_svc_place ''
	for ((i = 2; i < CURRENT; i++)); do
		word=$words[i] option=\${words[i]%%=*}
		_svc_values "$at" "$option"
		if [[ -n $values ]]; then
			if [[ $word == *=* ]]; then word=\${word#*=}; else ((i++)); word=$words[i]; fi
			if ((i >= CURRENT)); then
				_svc_offer \${=values}
				return
			fi
			case $option in --realm | --env | --address | --cacert | --fingerprint) given+=("$option" "$word") ;; esac
		elif (( \${commands[(I)$word:*]} )); then
			at="\${at:+$at }$word"
			_svc_place "$at"
		elif [[ $word != -* ]]; then
			((place++))
		fi
	done
	if [[ $words[CURRENT] == --*=* ]]; then
		_svc_values "$at" "\${words[CURRENT]%%=*}"
		compset -P '*='
		_svc_offer \${=values}
	elif [[ $words[CURRENT] == -* ]]; then
		_describe -o option options
	else
		(( place == 1 && $#commands )) && _describe command commands
		_svc_offer \${=arguments[place]}
	fi
}
if [[ $funcstack[1] == _svc ]]; then _svc "$@"; else compdef _svc svc; fi
`;
