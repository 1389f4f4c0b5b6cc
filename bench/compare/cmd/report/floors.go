package main

import "fmt"

// peer is the queue that ratios are taken to.
const peer = "client-go"

// floor is the least that shardq is to reach in a comparison.
type floor struct {
	subject string
	// atLeast is a floor of the ratio of the peer's value to the subject's, if
	// it is not zero.
	atLeast float64
	// atMost is otherwise a ceiling of the subject's value.
	atMost float64
}

// verdict is a floor beside what was measured.
type verdict struct {
	Work, Subject, Floor, Measured, Reached string
}

func (o outcome) verdicts() (all []verdict) {
	for _, f := range o.floors {
		v := verdict{Work: o.title, Subject: f.subject, Reached: "**missed**"}
		var reached bool
		if f.atLeast > 0 {
			measured := spreadOf(ratios(o.values[peer], o.values[f.subject]))
			v.Floor = fmt.Sprintf("≥ %s × %s", figure(f.atLeast), peer)
			v.Measured = measured.String()
			reached = measured.median >= f.atLeast
		} else {
			measured := spreadOf(o.values[f.subject])
			v.Floor = fmt.Sprintf("≤ %s %s", figure(f.atMost), o.unit)
			v.Measured = measured.String()
			reached = measured.median <= f.atMost
		}
		if reached {
			v.Reached = "reached"
		}
		all = append(all, v)
	}
	return all
}
