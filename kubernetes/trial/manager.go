package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"net/http"
	"os"
	goruntime "runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// managerOptions say what a manager, a process of its own, has to do.
type managerOptions struct {
	queue, address string
	round          int64
	workers        int
	down, work     time.Duration
}

// runManager runs a controller of tasks until ctx ends, and writes its report.
func runManager(ctx context.Context, o managerOptions) error {
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	scheme := runtime.NewScheme()
	scheme.AddKnownTypes(taskVersion, &Task{}, &TaskList{})
	metav1.AddToGroupVersion(scheme, taskVersion)
	config := &rest.Config{Host: o.address, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme, MapperProvider: mapper, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		LeaderElection: true, LeaderElectionID: "trial", LeaderElectionNamespace: "default",
		LeaderElectionReleaseOnCancel: true,
		// The leader stays one while the API server is down, also on a machine
		// that has much else to do.
		LeaseDuration: new(o.down + 30*time.Second), RenewDeadline: new(o.down + 20*time.Second), RetryPeriod: new(time.Second),
	})
	if err != nil {
		return err
	}
	r := &reconciler{client: m.GetClient(), round: o.round, work: o.work, parts: map[string][]time.Duration{}}
	newQueue, err := newQueueOf(o.queue, o.workers, &r.adds)
	if err != nil {
		return err
	}
	err = ctrl.NewControllerManagedBy(m).Named("tasks").
		For(&Task{}, builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.workers, NewQueue: newQueue, CacheSyncTimeout: 10 * time.Minute}).
		Complete(r)
	if err != nil {
		return err
	}
	err = m.Start(ctx)
	if reported := json.NewEncoder(os.Stdout).Encode(r.report()); err == nil {
		err = reported
	}
	return err
}

// mapper knows the one kind that there is. The server is asked for none.
func mapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{taskVersion})
	m.Add(taskVersion.WithKind("Task"), meta.RESTScopeNamespace)
	return m, nil
}

// A reconciler writes the value of a task into its status. It fails once for
// each change of a tenth of the tasks.
type reconciler struct {
	client     client.Client
	round      int64
	work       time.Duration // of each reconcile
	adds       timings
	reconciles atomic.Int64
	doubled    atomic.Int64

	running sync.Map // the tasks that are being reconciled
	failed  sync.Map // the value for which a task has failed

	mu    sync.Mutex
	parts map[string][]time.Duration
}

var errOnPurpose = errors.New("fails on purpose")

// Reconcile implements reconcile.Reconciler.
func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (reconcile.Result, error) {
	if _, twice := r.running.LoadOrStore(request, true); twice {
		r.doubled.Add(1)
	}
	defer r.running.Delete(request)
	r.reconciles.Add(1)
	var task Task
	if err := r.client.Get(ctx, request.NamespacedName, &task); err != nil {
		return reconcile.Result{}, client.IgnoreNotFound(err)
	}
	if task.Status.Seen == task.Spec.Value && task.Status.Round == r.round {
		return reconcile.Result{}, nil
	}
	if r.failsNow(&task) {
		return reconcile.Result{}, errOnPurpose
	}
	if task.Status.Seen != task.Spec.Value {
		r.note(task.Spec.Part, time.Since(time.Unix(0, task.Spec.Changed)))
	}
	if err := pause(ctx, r.work); err != nil {
		return reconcile.Result{}, err
	}
	patch := fmt.Sprintf(`{"status": {"seen": %d, "round": %d}}`, task.Spec.Value, r.round)
	return reconcile.Result{}, r.client.Status().Patch(ctx, &task, client.RawPatch("application/merge-patch+json", []byte(patch)))
}

func (r *reconciler) failsNow(task *Task) bool {
	hash := fnv.New32a()
	_, _ = io.WriteString(hash, task.Name)
	if hash.Sum32()%10 != 0 {
		return false
	}
	before, failed := r.failed.Swap(task.Name, task.Spec.Value)
	return !failed || before != task.Spec.Value
}

// note notes how long after a change its reconcile began.
func (r *reconciler) note(part string, latency time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.parts[part] = append(r.parts[part], latency)
}

// A report is what a manager tells at its end.
type report struct {
	Reconciles, Doubled int64
	Memory              uint64 // what Go got from the system
	Adds                timing
	Parts               map[string]timing
}

func (r *reconciler) report() report {
	r.mu.Lock()
	defer r.mu.Unlock()
	var memory goruntime.MemStats
	goruntime.ReadMemStats(&memory)
	out := report{
		Reconciles: r.reconciles.Load(), Doubled: r.doubled.Load(), Memory: memory.Sys, Adds: r.adds.timing(),
		Parts: map[string]timing{},
	}
	for part, all := range r.parts {
		out.Parts[part] = timingOf(all)
	}
	return out
}
