package shardqprom

import (
	"errors"
	"fmt"
)

// Options configure a [Collector]. The zero Options are Kubernetes' names, and no groups.
type Options struct {
	// Style says after whose example the seven series of a workqueue are labeled and explained.
	// Default: [Kubernetes].
	Style Style

	// Groups is how many groups of each queue have series of their own in shardq_group_items: those
	// with the most items. The others are added up in the group "other", and with them a group of
	// that very name. So what there is depends on the traffic, but is never more than three series
	// for each of Groups+1 groups. Each scrape goes through all groups that have items. Names of
	// groups are shown as they are, but what is not valid UTF-8, and what is beyond the first 128
	// bytes; those that are then alike are added up. Default: 0, none.
	Groups int

	// Unchecked makes an unchecked collector, which tells the registry nothing beforehand. It can
	// then be registered where the seven names are registered already: with controller-runtime's
	// metrics.Registry, or the registry of component-base. Style must be that of the registry then.
	// In return the registry cannot tell when it is registered twice, cannot unregister it (take
	// out its queues instead), and fails the scrape if somebody else's queue has the name of one of
	// ours. Default: false, and the registry refuses what it has already.
	Unchecked bool
}

// A Style is the example after which the seven series are labeled and explained. Their names and
// buckets are the same in both; the series beyond the seven have the labels of the style, too.
type Style int

const (
	// Kubernetes is the way of k8s.io/component-base: the label name.
	Kubernetes Style = iota
	// ControllerRuntime is the way of sigs.k8s.io/controller-runtime: the labels name and
	// controller, which are both the name of the queue, and with the depth the label priority,
	// which is empty, as it is there for queues that do not count by priorities.
	ControllerRuntime

	styles = iota // how many there are
)

func (s Style) valid() bool { return s == Kubernetes || s == ControllerRuntime }

// labels returns the names of the labels that all series have.
func (s Style) labels() []string {
	if s == ControllerRuntime {
		return []string{"name", "controller"}
	}
	return []string{"name"}
}

// values returns what these labels are for a queue.
func (s Style) values(queue string) []string {
	if s == ControllerRuntime {
		return []string{queue, queue}
	}
	return []string{queue}
}

// validate returns one error that names every fault, or nil.
func (o Options) validate() error {
	var faults []error
	if !o.Style.valid() {
		faults = append(faults, fmt.Errorf("shardqprom: Options.Style is %d: want Kubernetes or ControllerRuntime", o.Style))
	}
	if o.Groups < 0 {
		faults = append(faults, fmt.Errorf("shardqprom: Options.Groups is %d: want 0 (none) or more", o.Groups))
	}
	return errors.Join(faults...)
}
