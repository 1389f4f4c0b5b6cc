package main

// latencies is the source of the prices.
const latencies = "[N. Viennot, core-to-core-latency](https://github.com/nviennot/core-to-core-latency), README of commit 0dddf50, read on 2026-11-22"

// machines are in the order of the document. Each price is the median of a
// table of all pairs of cores, measured by exchanges of one word
// (compare-and-exchange).
var machines = []machine{
	{
		name: "AMD EPYC Milan, 2 × 64 cores", group: 8, socket: 64, cores: 128, near: 23, within: 107, across: 197,
		source: latencies + ": EPYC 7R13 (c6a.metal), 23 ns in a group of 8, 107 ns between groups, 197 ns between sockets. " +
			"That machine has 2 × 48 cores; the model takes its prices for 2 × 64",
	},
	{
		name: "Intel Xeon Ice Lake, 2 × 32 cores", group: 32, socket: 32, cores: 64, near: 51, within: 51, across: 108,
		source: latencies + ": Xeon Platinum 8375C (c6i.metal), 51 ns, and 108 ns between sockets",
	},
	{
		name: "AWS Graviton3, 64 cores", group: 64, socket: 64, cores: 64, near: 46, within: 46, across: 46,
		source: latencies + ": c7g.16xlarge, 46 ns",
	},
}
