// Package ticks turns a clock into what a queue counts in: ticks, and
// nanoseconds on an axis without a sign. It takes no lock. [Base] reads the
// clock, which is user code, so its callers hold no lock either. [Coarse] is a
// reading that operations share, and a [Sampler] says how many of them.
package ticks
