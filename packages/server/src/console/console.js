// @ts-check

const status = document.querySelector("[role=status]");
const shown = document.querySelector("[data-value]");

/** Seconds for which a value is shown; the server's answer also reloads the page after them. */
const shownSeconds = Number(shown?.getAttribute("data-value")) || 30;

/** Takes the value out of the page: Back must not show it again. */
function hide() {
	if (shown === null || shown.textContent === "") return;
	shown.textContent = "";
	shown.remove();
	for (const button of document.querySelectorAll("[data-copy]")) button.remove();
	if (status !== null) status.textContent = "The value is hidden.";
}

if (shown !== null) {
	addEventListener("pagehide", hide);
	setTimeout(hide, shownSeconds * 1000);
}

for (const button of document.querySelectorAll("[data-copy]")) {
	button.removeAttribute("hidden");
	button.addEventListener("click", async () => {
		if (shown === null || shown.textContent === null) return;
		await navigator.clipboard.writeText(shown.textContent);
		if (status !== null) status.textContent = "Copied. The clipboard keeps it until you copy something else.";
	});
}
