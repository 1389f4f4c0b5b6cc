// The script keeps the page up to date. It requests the JSON of the page, and
// writes its values into the elements, which name their fields. It formats values
// as the server does.
(() => {
	"use strict";
	const root = document.documentElement;
	if ("static" in root.dataset) return; // a search is not repeated
	const problemsOnly = new URLSearchParams(location.search).has("problems");
	const byId = (id) => document.getElementById(id);
	const all = (selector, within = document) => [...within.querySelectorAll(selector)];
	const interval = Number(root.dataset.poll);
	// The milliseconds that rates and the graphs cover: more if polls are rare.
	const windows = {
		rate: Math.max(10_000, 2.5 * interval),
		graph: Math.max(5 * 60_000, 30 * interval),
	};
	const unknown = "–";

	// at returns the value at a path such as "gauges.ready".
	const at = (value, path) => path.split(".").reduce((inner, name) => inner?.[name], value);

	// ---- Formats, as in format.go ----

	const grouped = (n) => String(Math.trunc(n)).replace(/\B(?=(\d{3})+(?!\d))/g, ",");
	const twoDigits = (n) => String(n).padStart(2, "0");
	const withUnit = (n, unit, name) => n < 10 * unit
		? `${Math.floor(n / unit)}.${Math.floor(n % unit / (unit / 10))} ${name}`
		: `${Math.floor(n / unit)} ${name}`;

	function duration(seconds) {
		const n = Math.round(seconds * 1e9);
		const whole = Math.floor(n / 1e9);
		if (n < 0) return "-" + duration(-seconds);
		if (n === 0) return unknown;
		if (n < 1e3) return `${n} ns`;
		if (n < 1e6) return withUnit(n, 1e3, "µs");
		if (n < 1e9) return withUnit(n, 1e6, "ms");
		if (n < 60e9) return withUnit(n, 1e9, "s");
		if (whole < 3600) return `${Math.floor(whole / 60)} m ${twoDigits(whole % 60)} s`;
		if (whole < 86400) return `${Math.floor(whole / 3600)} h ${twoDigits(Math.floor(whole % 3600 / 60))} m`;
		return `${grouped(whole / 86400)} d ${twoDigits(Math.floor(whole % 86400 / 3600))} h`;
	}

	function share(part) {
		const percent = part * 100;
		if (percent === 0 || percent >= 10) return `${Math.trunc(percent)} %`;
		if (percent < 0.1) return "< 0.1 %";
		return `${Math.trunc(percent)}.${Math.trunc(percent * 10) % 10} %`;
	}

	const ratio = (r) => { const tenths = Math.trunc(r * 10); return `${Math.trunc(tenths / 10)}.${tenths % 10}`; };
	const shortUnit = (n, unit, name) => n < 10 * unit
		? `${Math.floor(n / unit)}.${Math.floor(n % unit / (unit / 10))}${name}` : `${Math.floor(n / unit)}${name}`;
	function short(n) {
		if (n < 1e3) return String(n);
		if (n < 1e6) return shortUnit(n, 1e3, "k");
		if (n < 1e9) return shortUnit(n, 1e6, "M");
		return shortUnit(n, 1e9, "G");
	}

	// lastOf formats the time that the readings cover. If they cover nearly all of the
	// window, it is the window: otherwise it would change with each reading.
	const lastOf = (milliseconds) => milliseconds < 0.95 * windows.graph ? `last ${duration(milliseconds / 1000)}`
		: `last ${duration(windows.graph / 1000).replace(/ 00 [ms]$/, "")}`;

	function brief(n) {
		if (n < 1e7) return grouped(n);
		let unit = 1e6, name = 0;
		while (n / unit >= 1000) { unit *= 1000; name++; }
		return withUnit(n, unit, "MGTPE"[name]);
	}

	const rate = (perSecond) => perSecond === null ? unknown
		: perSecond > 0 && perSecond < 10 ? perSecond.toFixed(1) : grouped(Math.round(perSecond));

	function format(kind, value) {
		if (value === null || value === undefined) return unknown;
		switch (kind) {
		case "count": return grouped(value);
		case "brief": return brief(value);
		case "duration": return duration(value);
		case "age": return value === 0 ? "now" : duration(value);
		case "measured": return value === 0 ? "0" : duration(value);
		case "rate": return rate(value);
		case "share": return share(value);
		case "ratio": return ratio(value);
		case "decimal": return value >= 100 ? grouped(Math.round(value)) : String(Number(value.toPrecision(3)));
		case "truth": return value ? "yes" : "no";
		case "yes": return value === true ? "yes" : value || "";
		case "worker": return value === 0 ? unknown : grouped(value);
		default: return String(value);
		}
	}

	// ---- Changing only what differs, so that a selection or the focus stays ----

	function setText(element, text) { if (element.textContent !== text) element.textContent = text; }
	function setAttribute(element, name, value) {
		if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
	}
	function make(name, properties = {}, ...children) {
		const element = Object.assign(document.createElement(name), properties);
		element.append(...children);
		return element;
	}
	function draw(name, attributes, ...children) {
		const element = document.createElementNS("http://www.w3.org/2000/svg", name);
		for (const [key, value] of Object.entries(attributes)) element.setAttribute(key, value);
		element.append(...children);
		return element;
	}
	function announce(text) { byId("announcer").textContent = text; }

	// ---- History: the readings of the last minutes of each queue ----

	const history = new Map();

	// keepEvery is the milliseconds between readings whose histograms are kept. They
	// are large.
	const keepEvery = windows.graph / 150;

	function remember(queue, time) {
		let past = history.get(queue.id) ?? [];
		const durations = queue.detail?.durations;
		if (past.length && isAnother(past, queue, time)) past = [];
		const kept = past.findLast((p) => p.durations);
		past.push({
			time, instance: queue.instance, queue: { gauges: queue.gauges, counters: queue.counters, values: queue.values },
			durations: kept && time < kept.time + keepEvery ? null : durations,
		});
		while (past[0].time < time - windows.graph) past.shift();
		history.set(queue.id, past);
	}

	// isAnother reports whether a queue is not that of the readings, but has the same
	// name. If the queues are not comparable, lower counts show it.
	function isAnother(past, queue, time) {
		const last = past.at(-1);
		return queue.instance !== last.instance || time <= last.time || wentBack(past, queue);
	}

	// wentBack reports whether a count is lower than before.
	function wentBack(past, queue) {
		const last = past.at(-1).queue, kept = past.findLast((p) => p.durations)?.durations;
		const less = (part, names) => names.some((name) => (at(queue, `${part}.${name}`) ?? 0) < (at(last, `${part}.${name}`) ?? 0));
		return less("counters", Object.keys(last.counters)) || less("values", ["put", "merged", "overCapacity"]) ||
			Object.entries(kept ?? {}).some(([name, h]) => !queue.detail.durations || since(h, queue.detail.durations[name]) === null);
	}

	// forget drops the history of queues that are gone.
	function forget(present) {
		const ids = new Set(present.map((queue) => queue.id));
		for (const id of history.keys()) if (!ids.has(id)) history.delete(id);
	}

	// lastSeconds returns the first and the last reading of the last few seconds, or
	// the last two readings.
	function lastSeconds(past) {
		const last = past.at(-1);
		const first = past.find((p) => p.time >= last.time - windows.rate);
		return [first === last ? past.at(-2) ?? last : first, last];
	}
	// perSecond returns the rate of a counter in the last seconds, or null if it is
	// not known.
	function perSecond(past, path) { return past ? slope(...lastSeconds(past), path) : null; }
	// partOf returns the growth of one counter as a share of that of another, or null
	// if the other did not grow.
	function partOf([first, last], path, whole) {
		const [part, all] = [path, whole].map((counter) => (at(last.queue, counter) ?? 0) - (at(first.queue, counter) ?? 0));
		return all > 0 ? Math.min(Math.max(part / all, 0), 1) : null;
	}
	function slope(first, last, path) {
		const from = at(first.queue, path), to = at(last.queue, path);
		if (first === last || from === null || to === null || from === undefined) return null;
		return Math.max(0, to - from) * 1000 / (last.time - first.time);
	}

	// points returns the points of a graph: of a value, of the rate of a counter, or
	// of its share of another counter.
	function points(past, { graph: path, whole, of }) {
		switch (of) {
		case "rate": return past.slice(1).map((p, i) => ({ time: p.time, value: slope(past[i], p, path) ?? 0 }));
		case "share": return past.slice(1).map((p, i) => ({ time: p.time, value: partOf([past[i], p], path, whole) })).filter((p) => p.value !== null);
		default: return past.map((p) => ({ time: p.time, value: at(p.queue, path) ?? null })).filter((p) => p.value !== null);
		}
	}

	// graph draws a line of the last minutes. what is the dataset of an element, or
	// has the same fields.
	function graph(element, past, what) {
		if (!past || (at(past.at(-1).queue, what.graph) ?? null) === null) return; // the queue does not keep it
		const line = points(past, what);
		if (line.length < 2) return;
		const start = past[0].time, span = Math.max(line.at(-1).time - start, 1); // the same in all graphs
		const highest = Math.max(...line.map((p) => p.value)), lowest = Math.min(...line.map((p) => p.value));
		// The number of ready items is scaled to its range, and all others from 0. A
		// range has ten at least, so that one item more does not look like thousands.
		const bottom = what.graph === "gauges.ready" ? lowest : 0;
		const [floor, top] = what.of === "share" ? [0, 1] : [bottom, highest === bottom ? bottom : Math.max(highest, bottom + 10)], range = top - floor;
		const x = (p) => (100 * (p.time - start) / span).toFixed(2);
		const y = (p) => (range > 0 ? 29 - 28 * (p.value - floor) / range : top > 0 ? 15 : 29).toFixed(2);
		const path2d = line.map((p, i) => `${i ? "L" : "M"}${x(p)} ${y(p)}`).join("");
		let svg = element.firstElementChild;
		if (!svg) {
			svg = draw("svg", { viewBox: "0 0 100 30", preserveAspectRatio: "none", role: "img" },
				draw("path", { class: "area" }), draw("path", { class: "line" }));
			element.append(svg);
		}
		if (element.closest(".tile")) showScale(element, [top, floor].map(what.of === "share" ? share : range < top / 10 ? grouped : (n) => short(Math.round(n))), lastOf(span));
		svg.firstElementChild.setAttribute("d", `${path2d}L100 30L${x(line[0])} 30Z`);
		svg.lastElementChild.setAttribute("d", path2d);
		const write = { rate, share, speed: rate }[what.of] ?? grouped;
		setAttribute(svg, "aria-label", `${what.name}, ${lastOf(span)}: ${write(lowest)} to ${write(highest)}, now ${write(line.at(-1).value)}`);
	}

	// showScale writes the values of the axis beside a graph: the top, the bottom, and
	// the time that it covers. A value that does not change has no axis.
	function showScale(element, [top, bottom], time) {
		const scale = element.querySelector(".scale") ?? element.appendChild(make("span", { className: "scale", ariaHidden: "true" }, make("i"), make("i"), make("i")));
		[top === bottom ? "" : top, time, top === bottom ? "" : bottom].forEach((text, i) => setText(scale.children[i], text));
	}

	// ---- Tables ----

	const orders = new WeakMap(); // of the tables that the user sorted

	function prepareTable(table) {
		for (const head of all("thead th", table)) {
			if (head.dataset.format === "graph") continue;
			const button = make("button", { type: "button", textContent: head.textContent });
			button.addEventListener("click", () => sortBy(table, head));
			head.replaceChildren(button);
		}
	}

	function sortBy(table, head) {
		const words = ["key", "text", "error", "queue", "verdict"].includes(head.dataset.format);
		const current = head.getAttribute("aria-sort");
		const direction = current ? (current === "ascending" ? "descending" : "ascending") : (words ? "ascending" : "descending");
		for (const other of all("thead th", table)) other.removeAttribute("aria-sort");
		head.setAttribute("aria-sort", direction);
		orders.set(table, { field: head.dataset.field, sign: direction === "ascending" ? 1 : -1 });
		if (shown) showTable(table, shown);
		announce(`sorted by ${head.textContent}, ${direction}`);
	}

	function inOrder(rows, order) {
		if (!order) return rows;
		return [...rows].sort((a, b) => {
			const x = at(a, order.field) ?? null, y = at(b, order.field) ?? null;
			if (x === null || y === null) return (x === null) - (y === null); // unknown values come last
			return order.sign * (typeof x === "string" ? (x < y ? -1 : x > y ? 1 : 0) : x - y);
		});
	}

	// shownQueues returns the queues of the overview, problems first.
	const tones = ["bad", "warn", "plain", "good"];
	function shownQueues({ queues }) {
		const rank = new Map(queues.map((queue) => [queue, tones.indexOf(queue.verdict.tone)]));
		return [...queues].sort((a, b) => rank.get(a) - rank.get(b));
	}

	function showTable(table, report) {
		const path = table.dataset.table;
		const rows = path === "queues" ? shownQueues(report) : at(queueOf(table, report), path);
		if (!rows) return;
		const heads = all("thead th", table), body = table.tBodies[0], focused = document.activeElement;
		const known = new Map([...body.rows].map((row, i) => [row.dataset.id ?? String(i), row]));
		const wanted = inOrder(rows, orders.get(table)).map((value, i) => {
			const id = path === "queues" ? value.id : String(i);
			const row = known.get(id) ?? make("tr");
			row.dataset.id = id;
			row.classList.toggle("stuck", value.stuck === true);
			heads.forEach((head, column) => showCell(row, column, head, value, path));
			return row;
		});
		if (wanted.length !== body.rows.length || wanted.some((row, i) => body.rows[i] !== row)) {
			body.replaceChildren(...wanted);
			if (body.contains(focused)) focused.focus({ preventScroll: true });
		}
		table.parentElement.hidden = rows.length === 0;
		const empty = table.closest("section").querySelector("[data-empty]");
		if (empty) empty.hidden = rows.length > 0;
		hold(table);
	}

	// hold keeps the greatest height of a table's part, and the greatest width of each
	// column of numbers, so that a poll does not move what is below or beside.
	function hold(table) {
		const part = table.closest("section");
		if (!table.offsetWidth) return;
		part.style.minHeight = `${part.offsetHeight}px`;
		for (const head of all("thead th.number", table)) head.style.minWidth = `${head.offsetWidth}px`;
	}
	window.addEventListener("resize", () => all("[data-table]").forEach((table) => {
		for (const element of [table.closest("section"), ...all("thead th", table)]) element.removeAttribute("style");
	}));

	function showCell(row, column, { dataset: { field, format: kind }, textContent: label }, value, path) {
		const cell = row.cells[column] ?? row.appendChild(makeCell(kind));
		if (!["key", "queue", "verdict", "error", "graph"].includes(kind)) cell.dataset.label = label;
		const content = at(value, field);
		switch (kind) {
		case "key":
			showLink(cell.firstChild, path, value);
			return showKey(cell, cell.firstChild.firstChild, content, value[`${field}Length`], value, path);
		case "queue":
			setAttribute(cell.firstChild, "href", "?" + new URLSearchParams({ queue: content }));
			return setText(cell.firstChild.firstChild, content);
		case "verdict": {
			const { tone, text, beside } = value.verdict;
			setAttribute(cell.firstChild, "data-tone", tone);
			return setText(cell.firstChild, beside ? `${text}; ${beside.text}` : text);
		}
		case "error":
			setAttribute(cell.firstChild, "title", content);
			return showKey(cell, cell.firstChild, content, value[`${field}Length`], {}, path);
		case "text": return showKey(cell, cell.firstChild, content, value[`${field}Length`], {}, path);
		case "share":
			setAttribute(cell.lastChild.lastChild, "width", Math.trunc(content * 100));
			if (cell.firstChild.data !== share(content)) cell.firstChild.data = share(content);
			return undefined;
		case "graph": return graph(cell, history.get(value.id), { graph: field, name: "Ready" });
		default:
			setText(cell, format(kind, content));
			return void cell.classList.toggle("none", cell.textContent === unknown);
		}
	}

	function makeCell(kind) {
		switch (kind) {
		case "key": return make("th", { scope: "row", className: "key" }, make("a", {}, make("bdi")));
		case "queue": return make("th", { scope: "row", className: "key" }, make("a", {}, make("bdi")));
		case "verdict": return make("td", { className: "verdict" }, make("span", { className: "badge" }));
		case "text": return make("td", { className: "word" }, make("bdi"));
		case "error": return make("td", { className: "error" }, make("bdi", { className: "halves" }, make("span"), make("span")));
		case "yes": return make("td");
		case "graph": return make("td", { className: "live" });
		case "share": return make("td", { className: "number share" }, document.createTextNode(""),
			draw("svg", { viewBox: "0 0 100 6", preserveAspectRatio: "none", "aria-hidden": "true" },
				draw("rect", { class: "rail", width: 100, height: 6 }), draw("rect", { class: "part", width: 0, height: 6 })));
		default: return make("td", { className: "number" });
		}
	}

	// linkTo returns the address of the page of an item, a group or a worker.
	// It keeps the number of rows that the address of this page has.
	const rows = new URLSearchParams(location.search).get("rows");
	const linkTo = (name, value) => "?" + new URLSearchParams({ queue: single, [name]: value, ...rows !== null && { rows } });

	// showLink links a key to the page of its item or group.
	function showLink(link, path, { id }) {
		if (id) setAttribute(link, "href", linkTo(path === "detail.groups" ? "group" : "item", id));
		else link.removeAttribute("href");
	}

	// setHalves writes a text that is cut in its middle, as in tables.go.
	function setHalves(element, text) {
		const letters = [...text], from = Math.max(Math.trunc(letters.length / 2), letters.length - 20);
		[letters.slice(0, from), letters.slice(from)].forEach((part, i) => setText(element.children[i], part.join("")));
	}

	function showKey(cell, place, key, length, { stuck, batch, worker }) {
		(place.className === "halves" ? setHalves : setText)(place, key);
		const notes = [];
		if (length) notes.push(["small", `… ${grouped(length)} bytes`]);
		if (stuck) notes.push(["em", "stuck"]);
		if (batch) notes.push(["a", `and ${grouped(batch - 1)} more of this worker`, { className: "more", href: linkTo("worker", worker) }]);
		const present = [...cell.children].slice(1);
		if (present.length === notes.length && notes.every(([name], i) => present[i].localName === name)) {
			return notes.forEach(([, text, more], i) => { setText(present[i], text); if (more) setAttribute(present[i], "href", more.href); });
		}
		present.forEach((element) => element.remove());
		cell.append(...notes.map(([name, text, more]) => make(name, { textContent: text, ...more })));
	}

	// ---- Charts ----

	const longest = duration(2 ** 20);
	const bound = (bucket) => bucket.atMostSeconds === null ? `> ${longest}` : `≤ ${format("measured", bucket.atMostSeconds)}`;

	// since returns the difference of two readings of a histogram, or null if a count
	// is lower than before: then they are different histograms.
	function since(earlier, later) {
		const before = new Map(earlier.fine.atMostSeconds.map((atMost, i) => [atMost, earlier.fine.counts[i]]));
		const found = new Map(later.fine.atMostSeconds.map((atMost, i) => [atMost, later.fine.counts[i]]));
		for (const [atMost, n] of before) if ((found.get(atMost) ?? 0) < n) return null;
		const fine = [...found].map(([atMost, n]) => [atMost, n - (before.get(atMost) ?? 0)]).filter(([, n]) => n > 0);
		const count = later.count - earlier.count;
		const quantile = (part) => {
			let seen = 0;
			return fine.find(([, n]) => (seen += n) >= Math.ceil(part * count))?.[0] ?? null;
		};
		const coarse = new Map(earlier.buckets.map((bucket) => [bucket.atMostSeconds, bucket.count]));
		return {
			count,
			meanSeconds: later.meanSeconds === null ? null : count > 0 ? Math.max(0, later.sumSeconds - earlier.sumSeconds) / count : 0,
			p50Seconds: quantile(0.5), p90Seconds: quantile(0.9), p99Seconds: quantile(0.99),
			buckets: later.buckets.map((bucket) => ({ ...bucket, count: bucket.count - (coarse.get(bucket.atMostSeconds) ?? 0) })),
		};
	}

	const quantile = (h, name) => h.count === 0 ? unknown : h[name] === null ? `> ${longest}` : format("measured", h[name]);
	const half = (h) => h.p50Seconds === null ? `longer than ${longest}` : `at most ${format("measured", h.p50Seconds)}`;
	const summary = (h, none) => h.count === 0 ? none : `${grouped(h.count)} ${h.count === 1 ? "duration," : "durations, half of them"} ${half(h)}`;
	const highestOf = (h) => Math.max(0, ...h.buckets.map((bucket) => bucket.count));

	// showChart shows a histogram, and its growth in the time of the graphs.
	function showChart(chart, queue, past) {
		const h = at(queue, chart.dataset.chart);
		if (!h) return;
		chart.hidden = "fleeting" in chart.dataset && h.count === 0;
		const first = past?.find((p) => p.durations), base = first && at({ detail: first }, chart.dataset.chart);
		const milliseconds = first ? past.at(-1).time - first.time : 0;
		const recent = base && milliseconds > 0 ? since(base, h) : null;
		chart.classList.toggle("has-recent", recent !== null);
		chart.classList.toggle("empty", h.count === 0);
		showNumbers(chart, "part", h);
		setText(chart.querySelector(`[data-part="first"]`), h.buckets.length ? bound(h.buckets[0]) : "");
		setText(chart.querySelector(`[data-part="last"]`), h.buckets.length ? bound(h.buckets.at(-1)) : "");
		const svg = chart.querySelector("svg"), name = chart.dataset.name;
		let label = `${name}: ${summary(h, "nothing yet")}`;
		if (recent) {
			const span = lastOf(milliseconds);
			setText(chart.querySelector("[data-recent-span]"), span);
			showNumbers(chart, "recent", recent);
			label = `${name}, ${span}: ${summary(recent, "nothing")}; ${chart.querySelector("th.all").textContent}: ${summary(h, "nothing yet")}`;
		}
		setAttribute(svg, "aria-label", label);
		setAttribute(svg, "viewBox", `0 0 ${Math.max(1, h.buckets.length) * 10} 100`);
		// Histograms of the same shape have the same height, whatever their counts.
		const scale = recent?.count > 0 ? h.count / recent.count : 0;
		const highest = Math.max(highestOf(h), scale > 0 ? highestOf(recent) * scale : 0);
		const words = (i, n) => `${bound(h.buckets[i])}: ${grouped(n)}`;
		showBars(svg.querySelector(".all"), h.buckets.map((b) => b.count), highest, 0, 8, words);
		showBars(svg.querySelector(".recent"), scale > 0 ? recent.buckets.map((b) => b.count) : [], highest / scale, 2, 4,
			(i, n) => `${words(i, h.buckets[i].count)}, ${grouped(n)} of them recent`);
	}

	function showNumbers(chart, column, h) {
		const show = (name, text) => setText(chart.querySelector(`td[data-${column}="${name}"]`), text);
		for (const name of ["p50Seconds", "p90Seconds", "p99Seconds"]) show(name, quantile(h, name));
		show("mean", format("measured", h.count === 0 ? null : h.meanSeconds));
		show("count", grouped(h.count));
	}

	function showBars(group, counts, highest, offset, width, words) {
		while (group.childElementCount > counts.length) group.lastElementChild.remove();
		counts.forEach((n, i) => {
			const bar = group.children[i] ?? group.appendChild(draw("rect", { width }, draw("title", {})));
			const height = n > 0 ? Math.max(2, Math.trunc(100 * n / highest)) : 0;
			setAttribute(bar, "x", i * 10 + offset);
			setAttribute(bar, "y", 100 - height);
			setAttribute(bar, "height", height);
			setText(bar.firstChild, words(i, n));
		});
	}

	// ---- The map of shards, as in heat.go ----

	const quantities = {
		depth: { field: "ready", unit: "ready" },
		inflight: { field: "processing", unit: "in flight" },
		delayed: { field: "delayed", unit: "delayed" },
		adds: { field: "added", unit: "of all adds", shared: true },
	};

	function showHeat(map, queue) {
		const quantity = quantities[map.dataset.heat], values = queue.detail.shards[quantity.field];
		const sum = values.reduce((a, b) => a + b, 0), highest = Math.max(...values), busiest = values.indexOf(highest);
		const part = (v) => sum === 0 ? 0 : v / sum;
		const words = (v) => `${quantity.shared ? share(part(v)) : grouped(v)} ${quantity.unit}`;
		const scale = quantity.shared ? 2 * sum / values.length : highest;
		values.forEach((v, i) => {
			const cell = map.children[i]?.firstElementChild;
			if (!cell) return;
			const level = v === 0 ? 0 : Math.min(9, 1 + Math.trunc(8 * v / scale));
			const label = `shard ${grouped(i)}: ${words(v)}`;
			setAttribute(cell, "class", `h${level}`);
			setAttribute(cell, "aria-label", label);
			setAttribute(cell, "title", label);
			setText(cell, quantity.shared ? share(part(v)).replaceAll(" ", "") : short(v));
		});
		setText(map.parentElement.querySelector("[data-heat-summary]"), sum === 0 ? `All shards: nothing ${quantity.unit}.`
			: `Highest: shard ${grouped(busiest)}, ${words(highest)}, which is ${ratio(highest * values.length / sum)} times the mean.`);
	}

	function prepareHeat(map) {
		for (const link of all("[data-quantity]", map.closest("section"))) {
			link.addEventListener("click", (event) => {
				if (!shown || event.ctrlKey || event.metaKey || event.shiftKey) return;
				event.preventDefault();
				map.dataset.heat = link.dataset.quantity;
				for (const other of all("[data-quantity]", map.closest("section"))) other.removeAttribute("aria-current");
				link.setAttribute("aria-current", "true");
				window.history.replaceState(null, "", link.getAttribute("href"));
				showHeat(map, queueOf(map, shown));
				announce(map.parentElement.querySelector("[data-heat-summary]").textContent);
			});
		}
	}

	// ---- The page as a whole ----

	let shown = null; // the last report

	const queueOf = (element, report) => {
		const id = element.closest("[data-queue]")?.dataset.queue;
		return report.queues.find((queue) => queue.id === id);
	};

	function show(report) {
		const time = Date.parse(report.time);
		for (const queue of report.queues) if (!queue.fault) remember(queue, time);
		forget(report.queues);
		const before = shown;
		shown = report;
		root.classList.add("updating");
		for (const element of all("[data-total]")) setText(element, format(element.dataset.format ?? "count", report[element.dataset.total]));
		const count = report.queues.length + report.notShown, problems = report.queues.filter((queue) => tones.indexOf(queue.verdict.tone) < 2).length + report.problemsNotShown;
		for (const element of all("[data-problems]")) setText(element, `${grouped(count)} ${count === 1 ? "queue" : "queues"}, ${grouped(problems)} with a problem`);
		for (const hint of all("[data-beyond]")) hint.hidden = !report[problemsOnly ? "problemsNotShown" : "notShown"];
		for (const article of all("[data-queue]")) {
			const queue = queueOf(article, report);
			if (!queue) continue;
			showVerdict(article, queue, before && queueOf(article, before));
			if (queue.detail) showQueue(article, queue);
			if (queue.found) showFound(article, queue.found);
			for (const form of all("form[method=post]", article)) form.hidden = !(offered[form.elements.action.value]?.(queue) ?? true);
		}
		for (const table of all("table[data-table]")) showTable(table, report);
		const clock = byId("time");
		clock.dateTime = report.time;
		setText(clock, report.time.slice(11, 19) + " UTC");
	}

	// offered says which actions have an effect, as in actions.go.
	const offered = {
		pause: ({ gauges, state }) => !gauges.paused && state === "running",
		resume: ({ gauges }) => gauges.paused,
		retry: ({ found }) => (found.items[0]?.dueSeconds ?? null) !== null,
		cancel: ({ found }) => found.items.length > 0,
	};

	function showFound(article, found) {
		const notice = article.querySelector("[data-notice]");
		setText(notice, found.notices.join(" "));
		notice.hidden = found.notices.length === 0;
	}

	function showVerdict(article, queue, before) {
		const badge = article.querySelector(".verdict");
		if (!queue.verdict || !queue.detail) return;
		const { tone, text, beside } = queue.verdict, trend = article.querySelector(".trend");
		setText(badge, text);
		article.querySelector(".hero").dataset.tone = tone;
		if (queue.gauges.stuck > 0) badge.href = "#detail.processing"; else badge.removeAttribute("href");
		trend.hidden = !beside;
		trend.dataset.tone = beside?.tone ?? "plain";
		setText(trend, beside?.text ?? "");
		if (!before) return;
		if (before.state !== queue.state) announce(`${queue.id} is ${queue.state}`);
		else if (before.verdict.name !== queue.verdict.name || before.gauges.paused !== queue.gauges.paused) announce(`${queue.id}: ${text}`);
	}

	// highlights return the lines of a narrow page, as in tables.go: a key and a
	// text, or nothing.
	const ellipsis = (text, length) => length ? text + "…" : text;
	const failure = (row) => row && [ellipsis(row.key, row.keyLength), `${row.ageSeconds === 0 ? "now" : `${duration(row.ageSeconds)} ago`}: ${ellipsis(row.error, row.errorLength)}`];
	const highlights = {
		"detail.processing": ({ processing: [row] }) => row?.stuck && [ellipsis(row.key, row.keyLength), `for ${duration(row.ageSeconds)}`],
		"detail.groups": ({ groups: [row] }) => row?.ready > 0 && [ellipsis(row.group, row.groupLength), `${grouped(row.ready)} ready, ${share(row.share)} of all`],
		"detail.failures": ({ failures }) => failure(failures?.[0]),
		"detail.discards": ({ failures, discards }) => !failures?.length && failure(discards?.[0]),
	};

	function showHighlight(line, detail) {
		const path = line.dataset.highlight, found = highlights[path](detail);
		line.hidden = !found;
		if (!found) return;
		const [key, text] = all("bdi", line);
		setText(key, found[0]);
		setHalves(text, found[1]);
		showLink(key.parentElement, path, at({ detail }, path)[0]);
	}

	function showQueue(article, queue) {
		const past = history.get(queue.id);
		for (const element of all("[data-value]", article)) {
			const value = at(queue, element.dataset.value);
			setText(element, format(element.dataset.format, value));
			if (element.dataset.format === "brief") setAttribute(element, "title", format("count", value));
		}
		article.querySelector(`[data-value="state"]`).hidden = queue.state === "running" || queue.state === queue.verdict.name;
		for (const element of all("[data-known]", article)) element.hidden = element.querySelector("b").textContent === unknown;
		for (const element of all("[data-rate]", article)) setText(element, rate(perSecond(past, element.dataset.rate)));
		for (const element of all("[data-share]", article)) {
			setText(element, format("share", past && partOf(lastSeconds(past), element.dataset.share, element.dataset.whole)));
		}
		for (const element of all("[data-graph]", article)) graph(element, past, element.dataset);
		for (const chart of all("[data-chart]", article)) showChart(chart, queue, past);
		for (const map of all("[data-heat]", article)) showHeat(map, queue);
		for (const line of all("[data-highlight]", article)) showHighlight(line, queue.detail);
		for (const tile of all("[data-grows]", article)) tile.classList.toggle("grows", at(queue, tile.dataset.grows) > 0);
		for (const row of all("[data-counter]", article)) row.hidden = at(queue, row.dataset.counter) === 0;
	}

	// ---- Polling, while the page is visible ----

	let paused = false, asking = false, timer = 0;
	let trouble = null; // a state and a reason, if the last poll failed
	// lateAfter is the milliseconds after which the page says that it waits for an
	// answer.
	const lateAfter = Math.max(1000, 3 * interval);

	// The queue of the page, or null if the page shows all queues.
	const single = document.querySelector("[data-queue]")?.dataset.queue ?? null;
	let away = false; // that queue was unavailable

	// A Missing error says why an answer has no queue to show.
	class Missing extends Error {}
	// An Unclear error says that an answer does not fit this page.
	class Unclear extends Error {}

	// poll returns a report, or throws an error that says why there is none.
	async function poll() {
		const address = new URL(location.href);
		address.hash = "";
		address.searchParams.set("format", "json");
		if (!address.searchParams.has("rows")) address.searchParams.set("rows", root.dataset.rows);
		if (single !== null) address.searchParams.set("queue", single);
		const bound = AbortSignal.timeout(Math.max(15_000, 2 * interval));
		const response = await fetch(address, { cache: "no-store", signal: bound }).catch(() => { throw new Error("no answer"); });
		const text = await response.text().catch(() => { throw new Error("no answer"); });
		if (!response.ok) throw refused(response, text);
		const report = parse(text);
		if (report?.version > 2) throw new Error("the page is older than the program: reload it");
		if (!isReport(report)) throw new Unclear("the answer is not understood");
		if (single !== null) requireQueue(report.queues.find((queue) => queue.id === single));
		return report;
	}

	function parse(text) {
		try { return JSON.parse(text); } catch { return null; }
	}

	// isReport reports whether an answer has everything that the page shows. The page
	// shows all of an answer, or nothing.
	const isObject = (value) => typeof value === "object" && value !== null && !Array.isArray(value);
	const areObjects = (values) => Array.isArray(values) && values.every(isObject);
	const isReport = (report) => isObject(report) && report.version === 2 && typeof report.time === "string" && !Number.isNaN(Date.parse(report.time)) &&
		areObjects(report.queues) && report.queues.every(isQueue);
	const isQueue = (queue) => typeof queue.id === "string" && typeof queue.instance === "string" && isObject(queue.gauges) && isObject(queue.counters) && isObject(queue.verdict) &&
		(queue.detail === undefined || isDetail(queue.detail)) && (queue.found === undefined || areObjects(queue.found.items) && Array.isArray(queue.found.notices));
	const isDetail = (detail) => isObject(detail) && isObject(detail.configuration) && isObject(detail.shards) &&
		["processing", "ready", "delayed", "retried", "groups"].every((rows) => areObjects(detail[rows])) &&
		Object.values(quantities).every(({ field }) => Array.isArray(detail.shards[field])) && isHistogram(detail.timeLeft) &&
		(detail.durations === null || ["queue", "work", "delay"].every((name) => isHistogram(detail.durations?.[name])));
	const isHistogram = (h) => isObject(h) && areObjects(h.buckets) && Array.isArray(h.fine?.atMostSeconds) && Array.isArray(h.fine.counts);

	// refused returns an error with the text of the answer, unless it is an HTML page,
	// as from a proxy.
	function refused(response, text) {
		const plain = /^text\/plain\s*(;|$)/i.test(response.headers.get("Content-Type") ?? "");
		const line = plain ? text.trim().split(/[\r\n]/, 1)[0] : "";
		const message = line ? `${response.status}: ${[...line].slice(0, 120).join("")}` : String(response.status);
		return single !== null && response.status === 400 ? new Missing(message) : new Error(message);
	}

	function requireQueue(queue) {
		if (!queue) throw new Missing("the queue is not there");
		if (queue.fault) throw new Missing(queue.fault);
		if (!queue.detail && !queue.found) throw new Missing("the answer has no details of the queue");
	}

	// wasReplaced reports whether a queue of the same name has taken the place of the
	// page's queue: with another configuration, or in another process, which does not
	// know the token of the page.
	function wasReplaced(report) {
		if (single === null || !shown) return false;
		const [before, now] = [shown, report].map(({ queues: [{ instance, detail, values }] }) =>
			JSON.stringify([instance.split("-")[0], detail?.configuration, values?.capacity]));
		return before !== now;
	}

	function notShown(error) {
		if (error instanceof Missing) {
			away = true;
			trouble = { state: "away", why: `the queue is unavailable (${error.message})` };
		} else if (error instanceof Unclear) {
			trouble = { state: "unclear", why: error.message };
		} else {
			trouble = { state: "lost", why: `connection lost (${error.message})` };
		}
		showConnection();
	}

	// showConnection shows the state of the polls. A paused page also shows what was
	// wrong with the last answer.
	function showConnection(state = paused ? "paused" : "live") {
		const words = { paused: "frozen at", live: "live,", asking: "asking… Last seen", late: "waiting for an answer, last seen" };
		if (!trouble) return connection(state, words[state]);
		connection(trouble.state, paused ? `frozen; ${trouble.why}. Last seen` : `${trouble.why}; trying again. Last seen`);
	}

	async function turn() {
		if (asking) return;
		asking = true;
		const late = setTimeout(() => { if (!paused) showConnection("late"); }, lateAfter);
		try {
			const report = await poll();
			if (away || wasReplaced(report)) return location.reload(); // another queue has other elements
			showOrThrow(report);
			trouble = null;
			showConnection();
		} catch (error) {
			notShown(error);
		} finally {
			clearTimeout(late);
			asking = false;
			schedule();
		}
	}

	function showOrThrow(report) {
		try {
			show(report);
		} catch (error) {
			reportError(error);
			throw new Unclear("the answer is not understood");
		}
	}

	// resume polls at once, and says so, because the values may be old.
	function resume() {
		showConnection("asking");
		turn();
	}

	// schedule arranges the next turn, unless the page is paused or hidden.
	function schedule() {
		clearTimeout(timer);
		if (!paused && !document.hidden) timer = setTimeout(turn, interval);
	}

	const troubles = { lost: "connection lost", away: "the queue is unavailable", unclear: "the answer is not understood" };

	function connection(state, text) {
		const element = byId("connection"), before = element.dataset.connection;
		setText(byId("connection-text"), text);
		element.dataset.connection = state;
		root.classList.toggle("stale", state in troubles);
		byId("elsewhere").hidden = state !== "away" || new URLSearchParams(location.search).has("queue"); // such a page links to all queues
		if (troubles[state] && before !== state) announce(troubles[state]);
		if (troubles[before] && !troubles[state]) announce("connected again");
	}

	function addPauseButton() {
		const button = make("button", { type: "button", textContent: "Freeze page" });
		button.addEventListener("click", () => {
			paused = !paused;
			setText(button, paused ? "Unfreeze" : "Freeze page");
			announce(paused ? "the page is frozen" : "the page is live");
			if (!paused) return resume();
			showConnection();
			schedule();
		});
		byId("controls").append(button);
	}

	document.addEventListener("visibilitychange", () => { if (document.hidden || paused) schedule(); else resume(); });
	all("table[data-table]").forEach(prepareTable);
	all("[data-heat]").forEach(prepareHeat);
	addPauseButton();
	turn();
})();
