package shardqprom

import (
	"errors"
	"fmt"
)

// Options configure a [Collector]. The zero Options use the style of
// Kubernetes, and export no groups.
type Options struct {
	// Style selects the labels and help texts of the seven series of a
	// workqueue.
	//
	// Defaults to [Kubernetes].
	Style Style

	// Groups is the number of groups of each queue that have series of their
	// own in shardq_group_items. These are the groups with the most items. The
	// others are added up as the group "other", including a group of that name.
	// The number of series is therefore at most three times Groups+1 for each
	// queue. Each scrape reads all groups that have items.
	//
	// It is also the number of groups that have series of their own in
	// shardq_group_attempts_total, at most six each. These are the groups with
	// the most attempts of workers.
	//
	// Names of groups are cut after 128 bytes, and invalid UTF-8 is replaced.
	// Groups whose names are equal after that are added up.
	//
	// If zero, no groups are exported.
	Groups int

	// Unchecked makes the Collector send no descriptions to the registry. Such
	// a Collector can be registered where the seven names exist already: in
	// controller-runtime's metrics.Registry, or in the registry of
	// component-base. Style must be that of the registry.
	//
	// The registry then cannot detect that the Collector is registered twice,
	// and cannot unregister it: remove its queues instead. A scrape fails if
	// another exporter has a queue of the same name.
	//
	// If false, the registry rejects names that it has already.
	Unchecked bool
}

// A Style selects the labels and help texts of the seven series. Their names
// and buckets are the same in both styles. All other series have the labels of
// the style, too.
type Style int

const (
	// Kubernetes is the style of k8s.io/component-base, with the label name.
	Kubernetes Style = iota
	// ControllerRuntime is the style of sigs.k8s.io/controller-runtime. The
	// labels name and controller are both the name of the queue. The depth also
	// has the label priority, which is empty, as for queues there that do not
	// count by priority.
	ControllerRuntime

	styles = iota // the number of styles
)

func (s Style) valid() bool { return s == Kubernetes || s == ControllerRuntime }

// labels returns the names of the labels that all series have.
func (s Style) labels() []string {
	if s == ControllerRuntime {
		return []string{"name", "controller"}
	}
	return []string{"name"}
}

// values returns the values of these labels for a queue.
func (s Style) values(queue string) []string {
	if s == ControllerRuntime {
		return []string{queue, queue}
	}
	return []string{queue}
}

// validate returns one error that lists every fault, or nil.
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
