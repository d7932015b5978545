import type { Layout } from "./layout.ts";

/** The settings of a new installation: people who reach it cannot register. Design: §6, §7.1 */
export function settingsText({ data_dir }: Layout, listen: string): string {
	return `# Settings of the svc server; docs/settings.md lists them all. After a change: systemctl restart svc
data_dir = "${data_dir}"
listen = "${listen}"

[registration]
# The first account needs the setup code in ${data_dir}/setup-code; its owner registers the others.
mode = "admin"

[log]
level = "info"
`;
}

/** The account of the server, for sysusers.d(5): nobody signs in with it. */
export function accountText({ user, data_dir }: Layout): string {
	return `u ${user} - "svc secrets management server" ${data_dir} /usr/sbin/nologin\n`;
}
