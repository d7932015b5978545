import { lookups } from "./lookups.ts";
import type { Position } from "./positions.ts";

/** The completion script for zsh. */
export function zshScript(positions: readonly Position[]): string {
	const list = (words: Position["commands"]) =>
		`(${words.map(({ name, summary }) => quote(`${name}:${summary}`)).join(" ")})`;
	return `#compdef svc
# Completion of svc in zsh. In ~/.zshrc, after compinit: source <(svc completion zsh)
${lookups(positions, { reset: "commands=() options=() arguments=()", list })}
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
	local -i position=1 i
	local -a commands options arguments given
	_svc_position ''
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
			_svc_position "$at"
		elif [[ $word != -* ]]; then
			((position++))
		fi
	done
	if [[ $words[CURRENT] == --*=* ]]; then
		_svc_values "$at" "\${words[CURRENT]%%=*}"
		compset -P '*='
		_svc_offer \${=values}
	elif [[ $words[CURRENT] == -* ]]; then
		_describe -o option options
	else
		(( position == 1 && $#commands )) && _describe command commands
		_svc_offer \${=arguments[position]}
	fi
}
if [[ $funcstack[1] == _svc ]]; then _svc "$@"; else compdef _svc svc; fi
`;
