"use strict";

// trend says how the number of ready items of a queue changes. It uses the
// readings of the last milliseconds, oldest first:
//
//	time       in milliseconds
//	ready      the number of ready items
//	added      the number of adds that asked for a run
//	done       the number of Dones, or null if they are not counted
//	oldest     the age of the oldest ready item in seconds, or null without ages
//	throttled  the number of throttled groups
//
// It returns { tone, verdict }. Some verdicts add span, the seconds that were
// compared, and change, the difference in items or seconds. trend returns null
// if there are too few readings, or nothing is ready.
//
// The depth decides before the age, because the items of an initial list grow
// older until the last of them is done. A fall counts if it is a tenth of the
// depth, or a tenth of what left the queue. A steady queue varies by chance, with
// the square root of its adds. A fall of the second kind has to exceed that.
function trend(readings, milliseconds) {
	const now = readings.at(-1);
	if (!now || now.ready === 0) return null;
	const recent = readings.filter((r) => r.time >= now.time - milliseconds), enough = 6;
	const behind = recent.slice(recent.findLastIndex((r) => r.ready === 0) + 1); // the readings since something is ready
	const seconds = (part) => Math.floor((now.time - part[0].time) / 1000);
	if (recent.length < enough) return null;
	const idle = (behind[0].done ?? null) !== null && behind[0].done === now.done;
	if (behind.length >= enough && idle) return { tone: "warn", verdict: "nothing is done", span: seconds(behind) };

	const mean = (part) => part.reduce((sum, r) => sum + r.ready, 0) / part.length;
	const third = Math.floor(recent.length / 3), first = recent[0], last = recent.slice(-third), half = Math.ceil(third / 2);
	const before = mean(recent.slice(0, third)), after = mean(last), threshold = Math.max(10, before / 10);
	const span = seconds(recent);
	const more = Math.min(after, now.ready) - before; // a peak that has passed does not count
	if (more > threshold) return { tone: "warn", verdict: "falling behind", change: after - before, span };
	const added = now.added - first.added, left = first.ready - now.ready + added, fewer = before - now.ready;
	const enoughFewer = fewer > threshold || fewer >= Math.max(5, left / 10, 4 * Math.sqrt(added));
	const falls = mean(last.slice(-half)) < mean(last.slice(0, half)) && now.ready < last[0].ready;
	if (enoughFewer && falls) return { tone: "good", verdict: "catching up", change: fewer, span };
	const drains = added === 0 && (now.ready < first.ready || now.done > first.done);
	const aged = !drains && !recent.some((r) => r.throttled > 0); // the items of a throttled group grow older in a healthy queue
	const older = (now.oldest ?? 0) - (first.oldest ?? 0);
	if (aged && older * 1000 > (now.time - first.time) / 2) return { tone: "warn", verdict: "falling behind in age", change: older, span };
	const steady = Math.abs(now.ready - before) <= threshold && Math.abs(after - before) <= threshold;
	return { tone: "plain", verdict: steady ? "steady" : "up and down" };
}

// refine returns the verdict of a queue with its trend: { tone, text, also }. The
// verdict of one reading is that of the server, and found is the trend, or null.
// also is a trend to show beside a verdict of its own, or null.
function refine(verdict, found, inWords) {
	const alone = { tone: verdict.tone, text: verdict.text, also: null };
	if (!found) return alone;
	const stands = found.verdict === "nothing is done";
	switch (verdict.name) {
	case "working": return { tone: found.tone, text: inWords(found), also: null };
	case "no workers": return stands ? alone : { tone: found.tone, text: inWords(found), also: null };
	case "outage": case "full": case "stuck": case "throttled": case "shutting down":
		return { ...alone, also: { tone: found.tone === "good" ? "plain" : found.tone, text: inWords(found) } };
	default: return alone;
	}
}
