//go:build trial

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/go-logr/logr"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
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

func runManager(ctx context.Context, o options) error {
	klog.SetLogger(logr.Discard())
	ctrl.SetLogger(logr.Discard())
	config := &rest.Config{Host: o.manager, QPS: -1, ContentConfig: rest.ContentConfig{ContentType: "application/json"}}
	m, err := ctrl.NewManager(config, ctrl.Options{
		MapperProvider: mapper, Metrics: metricsserver.Options{BindAddress: "0"}, HealthProbeBindAddress: "0",
		LeaderElection: true, LeaderElectionID: "trial", LeaderElectionNamespace: "default",
		LeaderElectionReleaseOnCancel: true, LeaseDuration: new(o.lease()),
		RenewDeadline: new(o.lease() - 10*time.Second), RetryPeriod: new(time.Second),
	})
	if err != nil {
		return err
	}
	newQueue, err := newQueueOf(o.queues, o.workers)
	if err != nil {
		return err
	}
	r := &reconciler{client: m.GetClient(), round: o.round}
	err = ctrl.NewControllerManagedBy(m).Named("tasks").
		For(newObject(), builder.WithPredicates(predicate.GenerationChangedPredicate{})).
		WithOptions(controller.Options{MaxConcurrentReconciles: o.workers, NewQueue: newQueue, CacheSyncTimeout: 10 * time.Minute}).
		Complete(r)
	if err != nil {
		return err
	}
	return errors.Join(m.Start(ctx), json.NewEncoder(os.Stdout).Encode(report{r.reconciles.Load(), r.doubled.Load()}))
}

// lease is so long that the leader stays one while the API server is down.
func (o options) lease() time.Duration { return o.down + 30*time.Second }

func newObject() *unstructured.Unstructured {
	object := &unstructured.Unstructured{}
	object.SetGroupVersionKind(taskVersion.WithKind("Task"))
	return object
}

// mapper knows the one kind that there is. The server is asked for none.
func mapper(*rest.Config, *http.Client) (meta.RESTMapper, error) {
	m := meta.NewDefaultRESTMapper([]schema.GroupVersion{taskVersion})
	m.Add(taskVersion.WithKind("Task"), meta.RESTScopeNamespace)
	return m, nil
}

type report struct{ Reconciles, Doubled int64 }

// A reconciler fails once for each change of a tenth of the tasks.
type reconciler struct {
	client              client.Client
	round               int64
	reconciles, doubled atomic.Int64
	running             sync.Map // the tasks that are being reconciled
	failed              sync.Map // the last value of each task that was seen
}

func (r *reconciler) Reconcile(ctx context.Context, request reconcile.Request) (result reconcile.Result, err error) {
	if _, twice := r.running.LoadOrStore(request, true); twice {
		r.doubled.Add(1)
	}
	defer r.running.Delete(request)
	r.reconciles.Add(1)
	object, task := newObject(), task{}
	if err := r.client.Get(ctx, request.NamespacedName, object); err != nil {
		return result, client.IgnoreNotFound(err)
	}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, &task); err != nil {
		return result, err
	}
	want := taskStatus{task.Spec.Value, r.round}
	if task.Status == want {
		return result, nil
	}
	before, failed := r.failed.Swap(request.Name, task.Spec.Value)
	if strings.HasSuffix(request.Name, "7") && (!failed || before != task.Spec.Value) {
		return result, errors.New("fails on purpose")
	}
	patch := fmt.Sprintf(`{"status": {"seen": %d, "round": %d}}`, want.Seen, want.Round)
	return result, r.client.Status().Patch(ctx, object, client.RawPatch("application/merge-patch+json", []byte(patch)))
}

type process struct {
	command *exec.Cmd
	out     bytes.Buffer
}

func startProcess(o options) (*process, error) {
	self, err := os.Executable()
	if err != nil {
		return nil, err
	}
	p := &process{command: exec.Command(self, "-manager", o.manager, "-queues", o.queues,
		"-round", fmt.Sprint(o.round), "-workers", fmt.Sprint(o.workers), "-down", o.down.String())}
	p.command.Stdout, p.command.Stderr = &p.out, os.Stderr
	return p, p.command.Start()
}

// stop returns an error if the manager has reconciled a task twice at once.
func (p *process) stop() error {
	if err := p.command.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	if err := p.command.Wait(); err != nil {
		return fmt.Errorf("the manager: %w", err)
	}
	var r report
	if err := json.Unmarshal(p.out.Bytes(), &r); err != nil || r.Doubled > 0 {
		return errors.Join(err, fmt.Errorf("%d of %d reconciles overlapped with one of the same task", r.Doubled, r.Reconciles))
	}
	return nil
}

func (p *process) kill() {
	_ = p.command.Process.Kill()
	_ = p.command.Wait()
}
