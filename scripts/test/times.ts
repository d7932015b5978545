import type { TestEvent } from "node:test/reporters";
import type { Unit } from "./groups.ts";

/** The time of a file or test. */
export interface Timed {
	readonly name: string;
	readonly ms: number;
}

/** A test, a suite or a whole process that is over. */
type Completed = Extract<TestEvent, { type: "test:complete" }>["data"];

/** Collects the times of the files and of their tests, also where several files share a process. */
export class Times {
	readonly files: Timed[] = [];
	readonly tests: Timed[] = [];
	/** Tests that are over in a shared process, and not yet counted to their file. */
	readonly #shared: Map<string, Timed[]>;
	readonly #root: string;
	readonly #names: ReadonlySet<string>;

	/**
	 * @param units the processes of the run
	 * @param root the repository, with a slash at its end: names of files are relative to it
	 */
	constructor(units: readonly Unit[], root: string) {
		const shared = units.filter(({ files }) => files.length > 1);
		this.#root = root;
		this.#names = new Set(shared.flatMap(({ files }) => files.map((file) => file.replace(root, ""))));
		this.#shared = new Map(shared.map(({ entry }) => [entry, []]));
	}

	/** @returns the file that is over with this, if one is */
	complete({ name, file = "", entryFile = file, nesting, details }: Completed): Timed | undefined {
		const ms = details.duration_ms;
		const tests = this.#shared.get(entryFile);
		if (tests === undefined) {
			if (nesting > 0) return undefined;
			if (name === file) return this.#end({ name: file.replace(this.#root, ""), ms });
			this.tests.push({ name: `${entryFile.replace(this.#root, "")}: ${name}`, ms });
		} else if (nesting === 1) {
			tests.push({ name, ms });
		} else if (nesting === 0 && this.#names.has(name)) {
			this.tests.push(...tests.splice(0).map((test) => ({ ...test, name: `${name}: ${test.name}` })));
			return this.#end({ name, ms });
		}
		return undefined;
	}

	#end(file: Timed): Timed {
		this.files.push(file);
		return file;
	}
}
