import { optionValuesOf, type Position } from "./positions.ts";

/** The completion script for fish. */
export function fishScript(positions: readonly Position[]): string {
	const described = (words: readonly { name: string; summary: string }[]) =>
		words.map(({ name, summary }) => `${quote(name)}\\t${quote(summary)}`).join(" ");
	const cases = positions.map(({ at, commands, options, arguments: args }) =>
		[
			`\t\tcase '${at}'`,
			...(commands.length > 0 ? [`\t\t\tset -g __svc_commands ${described(commands)}`] : []),
			`\t\t\tset -g __svc_options ${described(options)}`,
			...(args.length > 0
				? [`\t\t\tset -g __svc_arguments ${args.map((values) => quote(values.join(" "))).join(" ")}`]
				: []),
		].join("\n"),
	);
	const values = optionValuesOf(positions).map(
		(one) =>
			`\t\tcase ${quote(`${one.at ?? "*"} ${one.option}`)}\n\t\t\tstring split ' ' ${quote(one.values.join(" "))}`,
	);
	return `# Completion of svc in fish. svc completion fish > ~/.config/fish/completions/svc.fish
function __svc_position
	set -g __svc_commands
	set -g __svc_options
	set -g __svc_arguments
	switch "$argv[1]"
${cases.join("\n")}
	end
end
function __svc_values
	switch "$argv[1] $argv[2]"
${values.join("\n")}
	end
end
${WALK}`;
}

const quote = (text: string): string => `'${text.replaceAll("\\", "\\\\").replaceAll("'", "\\'")}'`;

const WALK = `function __svc_offer -a current program
	set -l given (string split -n -- \\n $argv[3])
	for word in $argv[4..]
		switch $word
			case @any
			case @files
				__fish_complete_path $current
			case '@*'
				command $program complete (string sub -s 2 -- $word) $given 2>/dev/null
			case '*'
				printf '%s\\n' $word
		end
	end
end
function __svc_complete
	set -l words (commandline -opc)
	set -l current (commandline -ct)
	set -l program $words[1]
	set -l at ''
	set -l position 1
	set -l given
	set -l i 2
	__svc_position ''
	while test $i -le (count $words)
		set -l word $words[$i]
		set -l option (string replace -r '=.*' '' -- $word)
		set -l values (__svc_values "$at" "$option")
		if test -n "$values"
			set -l value (string replace -r '^[^=]*=' '' -- $word)
			if not string match -q '*=*' -- $word
				set i (math $i + 1)
				if test $i -gt (count $words)
					__svc_offer "$current" $program "$(string join \\n -- $given)" $values
					return
				end
				set value $words[$i]
			end
			contains -- $option --realm --env --address --cacert --fingerprint; and set -a given $option $value
		else if string match -q -- "$word"\\t'*' $__svc_commands
			set at (string trim -- "$at $word")
			__svc_position "$at"
		else if not string match -q -- '-*' $word
			set position (math $position + 1)
		end
		set i (math $i + 1)
	end
	if string match -q -- '--*=*' $current
		set -l option (string replace -r '=.*' '' -- $current)
		__svc_offer '' $program "$(string join \\n -- $given)" (__svc_values "$at" "$option") | string replace -r '^' -- "$option="
	else if string match -q -- '-*' $current
		printf '%s\\n' $__svc_options
	else
		test $position -eq 1; and printf '%s\\n' $__svc_commands
		test $position -le (count $__svc_arguments); and __svc_offer "$current" $program "$(string join \\n -- $given)" (string split ' ' -- $__svc_arguments[$position])
	end
end
complete -c svc -f -a '(__svc_complete)'
`;
