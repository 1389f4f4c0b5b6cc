package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"path/filepath"
	"strconv"
	"time"
)

// A trial runs a kube-controller-manager over objects that come and go.
type trial struct {
	options
	api    *api
	before counts // of the objects that are there without the trial's
	last   counts // of the trial's objects, when they were counted last
	most   counts // of them, at the most
}

// counts are numbers of objects.
type counts map[resource]int

// An outcome is what a trial found about a queue.
type outcome struct {
	queue   string
	steps   []step
	created counts
	left    counts
	metrics metrics
	usage   usage
	errors  int // the lines of the log that tell an error
}

// A step is a part of a trial, and its time.
type step struct {
	name string
	time time.Duration
}

// runTrial runs the whole trial of a queue.
func runTrial(ctx context.Context, o options, queue string, log func(string, ...any)) (*outcome, error) {
	logs := filepath.Join(o.dir, "logs", queue)
	c, err := startCluster(ctx, o.dir, logs)
	if err != nil {
		return nil, err
	}
	defer c.stop()
	log("%s: %s runs", queue, apiServer)
	m, err := c.startManager(ctx, o, queue, logs)
	if err != nil {
		return nil, err
	}
	stopped := false
	defer func() {
		if !stopped {
			m.stop()
		}
	}()
	log("%s: %s runs", queue, controllerManager)
	t := &trial{options: o, api: c.api, last: counts{}, most: counts{}}
	if err := t.prepare(ctx); err != nil {
		return nil, err
	}
	found := &outcome{queue: queue}
	for _, p := range t.parts() {
		begin := time.Now()
		if err := p.run(ctx, t); err != nil {
			return nil, fmt.Errorf("%s: %w: see %s", p.name, err, m.log)
		}
		found.steps = append(found.steps, step{p.name, time.Since(begin)})
		log("%s: %s after %v", queue, p.name, time.Since(begin).Round(time.Millisecond))
	}
	found.created, found.left = t.most, t.last
	if found.metrics, err = m.settled(ctx); err != nil {
		return nil, err
	}
	found.usage, stopped = m.stop(), true
	found.errors, err = countErrors(m.log)
	return found, err
}

// prepare makes the namespaces of the Deployments and Jobs, and waits until the
// controllers have done what they do without the trial.
func (t *trial) prepare(ctx context.Context) error {
	err := inParallel(homes, func(i int) error {
		return t.create(ctx, namespaces, "", namespaceObject(home(i)))
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	for {
		if t.before, err = t.count(ctx); err != nil {
			return err
		}
		n := t.before[namespaces]
		if t.before[serviceAccounts] >= n && t.before[configMaps] >= n {
			break
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("the controllers did not prepare the namespaces: there are %v", t.before)
		}
	}
	// Some controllers create objects of their own a little later.
	if err := pause(ctx, 3*time.Second); err != nil {
		return err
	}
	t.before, err = t.count(ctx)
	return err
}

// A part is what a step does, and what the controllers have to do then.
type part struct {
	name string
	act  func(context.Context) error
	want counts
	// Each owner has one dependent.
	owners [][2]resource
}

func (t *trial) parts() []part {
	n := t.n
	return []part{
		{
			"Deployments created, with ReplicaSets and Pods", t.createAll(deployments, deploymentObject),
			counts{deployments: n, replicaSets: n, pods: n},
			[][2]resource{{deployments, replicaSets}, {replicaSets, pods}},
		}, {
			"Jobs created, with Pods", t.createAll(jobs, jobObject),
			counts{deployments: n, replicaSets: n, jobs: n, pods: 2 * n},
			[][2]resource{{jobs, pods}},
		}, {
			"Namespaces created, with ServiceAccounts and ConfigMaps", t.createAll(namespaces, namespaceObject),
			counts{
				deployments: n, replicaSets: n, jobs: n, pods: 2 * n,
				namespaces: n, serviceAccounts: n, configMaps: n,
			}, nil,
		}, {
			"Deployments deleted, with ReplicaSets and Pods", t.deleteAll(deployments),
			counts{jobs: n, pods: n, namespaces: n, serviceAccounts: n, configMaps: n}, nil,
		}, {
			"Jobs deleted, with Pods", t.deleteAll(jobs),
			counts{namespaces: n, serviceAccounts: n, configMaps: n}, nil,
		}, {
			"Namespaces deleted, with what they had", t.deleteAll(namespaces), nil, nil,
		},
	}
}

// run runs a part. It ends when the controllers have done their work.
func (p part) run(ctx context.Context, t *trial) error {
	ctx, cancel := context.WithTimeout(ctx, t.timeout)
	defer cancel()
	if err := p.act(ctx); err != nil {
		return err
	}
	if err := t.wait(ctx, p.want); err != nil {
		return err
	}
	for _, pair := range p.owners {
		if err := t.checkOwners(ctx, pair[0], pair[1]); err != nil {
			return err
		}
	}
	return nil
}

func (t *trial) create(ctx context.Context, r resource, namespace, object string) error {
	_, err := t.api.exchange(ctx, http.MethodPost, r.path(namespace), object)
	return err
}

// where returns the namespace and the name of the i-th object of a resource.
func where(r resource, i int) (namespace, name string) {
	if name = "trial-" + strconv.Itoa(i); r == namespaces {
		return "", name
	}
	return home(i), name
}

// createAll returns a function that creates the objects of a resource.
func (t *trial) createAll(r resource, object func(name string) string) func(context.Context) error {
	return func(ctx context.Context) error {
		return inParallel(t.n, func(i int) error {
			namespace, name := where(r, i)
			return t.create(ctx, r, namespace, object(name))
		})
	}
}

// deleteAll returns a function that deletes the objects of a resource. The
// garbage collector has to delete what they own.
func (t *trial) deleteAll(r resource) func(context.Context) error {
	return func(ctx context.Context) error {
		return inParallel(t.n, func(i int) error {
			namespace, name := where(r, i)
			_, err := t.api.exchange(ctx, http.MethodDelete, r.path(namespace)+"/"+name,
				`{"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": "Background"}`)
			return err
		})
	}
}

func (t *trial) count(ctx context.Context) (c counts, err error) {
	c = counts{}
	for _, r := range counted {
		if c[r], err = t.api.count(ctx, r); err != nil {
			return nil, err
		}
	}
	return c, nil
}

// wait waits until there are so many objects more than without the trial.
func (t *trial) wait(ctx context.Context, want counts) error {
	for {
		has, err := t.count(ctx)
		if err != nil {
			return err
		}
		wrong := ""
		for _, r := range counted {
			n := has[r] - t.before[r]
			t.last[r], t.most[r] = n, max(n, t.most[r])
			if n != want[r] {
				wrong += fmt.Sprintf(" %d %s, want %d;", n, r.name, want[r])
			}
		}
		if wrong == "" {
			return nil
		}
		if err := pause(ctx, 200*time.Millisecond); err != nil {
			return fmt.Errorf("there are%s %w", wrong, err)
		}
	}
}

// checkOwners checks that each owner has one dependent.
func (t *trial) checkOwners(ctx context.Context, owners, dependents resource) error {
	all, err := t.api.list(ctx, owners, 0)
	if err != nil {
		return err
	}
	owned, err := t.api.list(ctx, dependents, 0)
	if err != nil {
		return err
	}
	have := map[string]int{}
	for _, d := range owned.Items {
		for _, o := range d.Metadata.OwnerReferences {
			have[o.UID]++
		}
	}
	for _, o := range all.Items {
		if n := have[o.Metadata.UID]; n != 1 {
			err = errors.Join(err, fmt.Errorf("%s of %s: %d %s, want 1", o.Metadata.Name, owners.name, n, dependents.name))
		}
	}
	return err
}

// pause waits, unless ctx ends.
func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}
