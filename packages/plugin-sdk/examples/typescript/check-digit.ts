/** The digit that makes a number end in 0 under the Luhn algorithm (ISO/IEC 7812-1 annex B). */
export function checkDigit(digits: string): string {
	const weighed = [...digits].reverse().map((digit, index) => Number(digit) * (index % 2 === 0 ? 2 : 1));
	const sum = weighed.reduce((total, number) => total + (number > 9 ? number - 9 : number), 0);
	return String((10 - (sum % 10)) % 10);
}
