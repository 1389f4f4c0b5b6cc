package shardqprom

import (
	"errors"
	"fmt"
)

// Options configure a [Collector]. The zero Options use the style of
// Kubernetes, and export no groups.
type Options struct {
	// Style selects the labels and help texts of the seven series of a
	// workqueue. Defaults to [Kubernetes].
	Style Style

	// Groups is the number of groups of each queue that have series of their
	// own. The others are added up as the group "other". If zero, none are
	// exported.
	Groups int

	// Unchecked makes the Collector send no descriptions, so that it can be
	// registered where the seven names exist already: in controller-runtime's
	// metrics.Registry, or in the registry of component-base. Style must be
	// that of the registry.
	//
	// The registry then cannot detect a second registration, and cannot
	// unregister the Collector.
	Unchecked bool
}

// A Style selects the labels and help texts of the seven series. All other
// series have the labels of the style, too.
type Style int

const (
	// Kubernetes is the style of k8s.io/component-base, with the label name.
	Kubernetes Style = iota
	// ControllerRuntime is the style of sigs.k8s.io/controller-runtime.
	ControllerRuntime
)

func (o Options) validate() error {
	var faults []error
	if o.Style != Kubernetes && o.Style != ControllerRuntime {
		faults = append(faults, fmt.Errorf("shardqprom: Options.Style is %d: want Kubernetes or ControllerRuntime", o.Style))
	}
	if o.Groups < 0 {
		faults = append(faults, fmt.Errorf("shardqprom: Options.Groups is %d: want 0 (none) or more", o.Groups))
	}
	return errors.Join(faults...)
}

func (s Style) labels() []string { return []string{"name", "controller"}[:1+s] }

func (s Style) values(queue string) []string { return []string{queue, queue}[:1+s] }
