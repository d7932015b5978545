/** What is wrong with an engine. The message says it, `remedy` says what its author can do; neither quotes what the engine wrote. */
export class Finding extends Error {
	override readonly name = "Finding";
	readonly remedy: string;

	constructor(problem: string, remedy: string) {
		super(problem);
		this.remedy = remedy;
	}
}
