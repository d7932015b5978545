import { bySubject, describe, type Logged, type Operation } from "./history.ts";

/** Finds what goes back: versions of a secret, and tokens that were revoked. Each of them only grows, so that one pass is enough. */
export function findSteps(operations: readonly Operation[]): string[] {
	const keys = [...bySubject(operations, "write", "read").values()];
	return [...keys.flatMap(findVersionSteps), ...findTokenSteps(operations)];
}

function findVersionSteps(operations: readonly Operation[]): string[] {
	const found: string[] = [];
	const done = operations.filter(({ outcome }) => outcome === "done");
	const writes = operations.filter(({ kind }) => kind === "write");
	const byValue = new Map(writes.map((write) => [write.value, write]));
	const versions = new Map<number, Operation>();
	for (const write of writes.filter(({ outcome }) => outcome === "done")) {
		const other = versions.get(write.version ?? 0);
		if (other !== undefined) found.push(`two writes have one version: ${describe(other)}; ${describe(write)}`);
		versions.set(write.version ?? 0, write);
	}
	const ended = done.toSorted((one, other) => one.end_ms - other.end_ms).values();
	let next = ended.next();
	let newest: Operation | undefined;
	for (const operation of done.toSorted((one, other) => one.start_ms - other.start_ms)) {
		for (; !next.done && next.value.end_ms < operation.start_ms; next = ended.next())
			if ((next.value.version ?? 0) > (newest?.version ?? 0)) newest = next.value;
		const least = (newest?.version ?? 0) + (operation.kind === "write" ? 1 : 0);
		if (newest !== undefined && (operation.version ?? 0) < least)
			found.push(`a version goes back: ${describe(operation)} after ${describe(newest)}`);
		if (operation.kind === "read") found.push(...findOddValue(operation, byValue.get(operation.value)));
	}
	return found;
}

function findOddValue(read: Operation, write: Operation | undefined): string[] {
	if (write === undefined) return [`a value that nobody wrote: ${describe(read)}`];
	if (write.outcome === "void" || write.outcome === "refused")
		return [`a value whose write was refused: ${describe(read)}; ${describe(write)}`];
	if (write.start_ms > read.end_ms) return [`a value that was written later: ${describe(read)}; ${describe(write)}`];
	if (write.outcome === "done" && write.version !== read.version)
		return [`a value of another version: ${describe(read)}; ${describe(write)}`];
	return [];
}

function findTokenSteps(operations: readonly Operation[]): string[] {
	const revocations = bySubject(operations, "revoke");
	return operations.flatMap((operation) => {
		if (operation.token === undefined) return [];
		const ends = revocations.get(operation.token) ?? [];
		const revoked = ends.find(({ outcome, end_ms }) => outcome === "done" && end_ms < operation.start_ms);
		if (revoked !== undefined && operation.outcome === "done")
			return [`a revoked token is used: ${describe(operation)} after ${describe(revoked)}`];
		const mayBeRevoked = ends.some(({ outcome, start_ms }) => outcome !== "void" && start_ms < operation.end_ms);
		return operation.status === 401 && !mayBeRevoked ? [`a token is refused: ${describe(operation)}`] : [];
	});
}

/** Types of the events of a read and of a write. */
const TYPES: Readonly<Record<string, string>> = { read: "secret.read", write: "secret.set" };

/** Finds operations that are in the log not exactly once: each that was answered, and none that was void. */
export function findLogGaps(operations: readonly Operation[], log: readonly Logged[]): string[] {
	const counts = new Map<string, number>();
	for (const { type, request_id } of log) {
		const name = `${type} ${request_id}`;
		counts.set(name, (counts.get(name) ?? 0) + 1);
	}
	return operations.flatMap((operation) => {
		const type = TYPES[operation.kind];
		if (type === undefined || operation.outcome === "unknown") return [];
		const count = counts.get(`${type} ${operation.request_id}`) ?? 0;
		const expected = operation.outcome === "done" ? 1 : 0;
		return count === expected ? [] : [`${count} events in place of ${expected}: ${describe(operation)}`];
	});
}

/** Finds versions that are missing from the log, or in it twice. */
export function findVersionGaps(log: readonly Logged[]): string[] {
	const sets = Map.groupBy(
		log.filter(({ type }) => type === "secret.set"),
		({ realm, key }) => `${realm} ${key}`,
	);
	return [...sets].flatMap(([key, events]) => {
		const versions = events.map(({ version }) => version ?? 0).sort((one, other) => one - other);
		const at = versions.findIndex((version, index) => version !== index + 1);
		return at < 0 ? [] : [`the log has version ${versions[at]} of ${key} in place of ${at + 1}`];
	});
}
