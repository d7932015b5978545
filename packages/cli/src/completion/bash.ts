import { lookups } from "./lookups.ts";
import type { Position } from "./positions.ts";

/** The completion script for bash 4 and later. */
export function bashScript(positions: readonly Position[]): string {
	const list = (words: Position["commands"]) => `'${words.map(({ name }) => name).join(" ")}'`;
	return `# Completion of svc in bash. In ~/.bashrc: source <(svc completion bash)
${lookups(positions, { reset: "commands= options= arguments=()", list })}
${WALK}`;
}

/** Compares words from the server, and never expands them. */
const WALK = `_svc_offer() {
	local word
	for word; do
		case $word in
		@any) ;;
		@files)
			compopt -o filenames 2>/dev/null
			while IFS= read -r word; do COMPREPLY+=("$word"); done < <(compgen -f -- "$current")
			;;
		@*)
			while IFS= read -r word; do
				[[ $word == "$current"* ]] && COMPREPLY+=("$word")
			done < <("$program" complete "\${word#@}" "\${given[@]}" 2>/dev/null)
			;;
		"$current"*) COMPREPLY+=("$word") ;;
		esac
	done
}
_svc() {
	local IFS=$' \\t\\n' program=\${COMP_WORDS[0]/#\\~/$HOME} current=\${COMP_WORDS[COMP_CWORD]}
	local at= position=0 i word commands options values
	local -a arguments given
	COMPREPLY=() given=()
	_svc_position ''
	for ((i = 1; i < COMP_CWORD; i++)); do
		word=\${COMP_WORDS[i]}
		_svc_values "$at" "$word"
		if [[ -n $values ]]; then
			((i++))
			if [[ \${COMP_WORDS[i]} == = ]]; then
				((i == COMP_CWORD)) && current= || ((i++))
			fi
			if ((i >= COMP_CWORD)); then
				_svc_offer $values
				return
			fi
			case $word in --realm | --env | --address | --cacert | --fingerprint) given+=("$word" "\${COMP_WORDS[i]}") ;; esac
		elif [[ " $commands " == *" $word "* ]]; then
			at="\${at:+$at }$word"
			_svc_position "$at"
		elif [[ $word != -* ]]; then
			((position++))
		fi
	done
	if [[ $current == -* ]]; then
		_svc_offer $options
	else
		((position > 0)) || _svc_offer $commands
		_svc_offer \${arguments[position]}
	fi
}
complete -F _svc svc
`;
