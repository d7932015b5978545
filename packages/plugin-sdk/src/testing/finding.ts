/** A fault of an engine. The message describes it, `remedy` advises the author; neither quotes what the engine wrote. */
export class Finding extends Error {
	override readonly name = "Finding";
	readonly remedy: string;

	constructor(problem: string, remedy: string) {
		super(problem);
		this.remedy = remedy;
	}
}
