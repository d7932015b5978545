import { execFile } from "node:child_process";

/** Tells systemd the state of the service: texts such as `READY=1`, as sd_notify(3) lists them. It never rejects. */
export type Notify = (...states: readonly string[]) => Promise<void>;

/** Milliseconds after which systemd-notify is given up; it takes 6. */
const TIMEOUT_MS = 10_000;

/** Signs of life for each interval in which systemd wants one. */
const SIGNS = 3;

/**
 * Takes the address of systemd out of the environment, so that no other process learns it. Outside of a service it sends nothing.
 * systemd-notify does the sending, because Node has no datagram sockets of the file system.
 * @param env is changed
 * @param complain receives one sentence when systemd cannot be notified
 */
export function takeNotifier(env: Record<string, string | undefined>, complain: (message: string) => void): Notify {
	const { NOTIFY_SOCKET, WATCHDOG_USEC, PATH } = env;
	delete env.NOTIFY_SOCKET;
	delete env.WATCHDOG_USEC;
	if (!NOTIFY_SOCKET) return async () => {};
	const options = { env: { NOTIFY_SOCKET, PATH }, timeout: TIMEOUT_MS };
	const notify: Notify = (...states) =>
		new Promise((resolve) => {
			execFile("systemd-notify", states, options, (error) => {
				if (error !== null) complain(`systemd could not be notified of ${states[0]}: is systemd-notify installed?`);
				resolve();
			});
		});
	const watchdog_ms = Number(WATCHDOG_USEC ?? 0) / 1000;
	if (watchdog_ms > 0) setInterval(() => void notify("WATCHDOG=1"), watchdog_ms / SIGNS).unref();
	return notify;
}
