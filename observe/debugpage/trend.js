"use strict";

// trend says whether a queue keeps up. It uses the readings of the last
// milliseconds, oldest first:
//
//	time       in milliseconds
//	ready      the number of ready items
//	done       the number of Dones, or null if they are not counted
//	oldest     the age of the oldest ready item in seconds, or null without ages
//	held       the number of items held, or the weight of a Coalescer's values
//	capacity   the limit of held, 0 without a limit
//
// It returns { tone, verdict }. Some verdicts add span, the seconds that were
// compared, and change, the difference in items or seconds. The tone is good only
// if nothing is ready now, or the number of ready items falls. trend returns null
// if there are too few readings.
function trend(readings, milliseconds) {
	const now = readings.at(-1);
	if (!now) return null;
	const recent = readings.filter((r) => r.time >= now.time - milliseconds), enough = 6;
	const idle = (part) => (part[0].done ?? null) !== null && part[0].done === now.done;
	const behind = recent.slice(recent.findLastIndex((r) => r.ready === 0) + 1); // the readings since something is ready
	const nothingDone = behind.length >= enough && idle(behind);
	const seconds = (part) => Math.floor((now.time - part[0].time) / 1000);
	if (now.capacity > 0 && now.held >= now.capacity) {
		return nothingDone ? { tone: "warn", verdict: "full, nothing is done", span: seconds(behind) } : { tone: "warn", verdict: "full" };
	}
	if (recent.length < enough) return null;
	if (nothingDone) return { tone: "warn", verdict: "nothing is done", span: seconds(behind) };
	if (now.ready === 0) return { tone: "good", verdict: "keeping up" };

	const mean = (part) => part.reduce((sum, r) => sum + r.ready, 0) / part.length;
	const third = Math.floor(recent.length / 3), last = recent.slice(-third), half = Math.ceil(third / 2);
	const before = mean(recent.slice(0, third)), after = mean(last), threshold = Math.max(10, before / 10);
	const span = seconds(recent);
	const more = Math.min(after, now.ready) - before; // a peak that has passed does not count
	if (more > threshold) return { tone: "warn", verdict: "falling behind", change: after - before, span };
	const older = (now.oldest ?? 0) - (recent[0].oldest ?? 0);
	if (older * 1000 > (now.time - recent[0].time) / 2) return { tone: "warn", verdict: "falling behind in age", change: older, span };
	const falls = mean(last.slice(-half)) < mean(last.slice(0, half)) && now.ready < last[0].ready;
	if (before - now.ready > threshold && falls) return { tone: "good", verdict: "catching up", change: before - now.ready, span };
	const steady = Math.abs(now.ready - before) <= threshold && Math.abs(after - before) <= threshold;
	return { tone: "plain", verdict: steady ? "steady" : "up and down" };
}
