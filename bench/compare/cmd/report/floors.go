package main

import "fmt"

// peer is the queue to which ratios are taken.
const peer = "client-go"

// floor is the least that shardq has to reach in a comparison.
type floor struct {
	subject string
	// atLeast is the aim for the ratio of another's value to the subject's. It
	// is 0 if there is no aim, and the ratio is shown with a note.
	atLeast float64
	// than is that other. If empty, it is the peer.
	than string
	// bench is the subject that does only what every queue must do.
	bench string
	note  string
}

// verdict is a floor with the measurement.
type verdict struct {
	Work, Subject, Floor, Measured, Reached string
	// Bench names the floor benchmark. Above says how many times as much the
	// subject takes.
	Bench, Above string
	aimed        bool
}

// reached is the text of a verdict for a floor that was reached.
const reached = "reached"

func (o outcome) verdicts() (all []verdict) {
	for _, f := range o.floors {
		all = append(all, o.verdict(f))
	}
	return all
}

func (o outcome) verdict(f floor) verdict {
	if f.than == "" {
		f.than = peer
	}
	measured := spreadOf(ratios(o.values[f.than], o.values[f.subject]))
	v := verdict{
		Work: o.title, Subject: f.subject, aimed: f.atLeast > 0,
		Floor:    fmt.Sprintf("≥ %s × %s", figure(f.atLeast), f.than),
		Measured: measured.String(), Reached: "**missed**", Bench: "–", Above: "–",
	}
	switch {
	case !v.aimed:
		v.Floor, v.Reached = "–", f.note
	case measured.median >= f.atLeast:
		v.Reached = reached
	}
	if len(o.values[f.bench]) > 0 {
		v.Bench = fmt.Sprintf("%s: %s %s", f.bench, figure(spreadOf(o.values[f.bench]).median), o.unit)
		v.Above = spreadOf(ratios(o.values[f.subject], o.values[f.bench])).String() + " ×"
	}
	return v
}
