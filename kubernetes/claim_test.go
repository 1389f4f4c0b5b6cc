package kubernetes_test

import (
	"context"
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/stretchr/testify/require"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/kubernetes"
)

// queueWith returns the queue that a controller gets.
func queueWith(t *testing.T, options kubernetes.Options[reconcile.Request]) priorityqueue.PriorityQueue[reconcile.Request] {
	q := kubernetes.NewQueue(options)(t.Name(), nil).(priorityqueue.PriorityQueue[reconcile.Request])
	t.Cleanup(q.ShutDown)
	return q
}

// claimed calls a reconciler for an item that the queue has handed out.
func claimed(
	t *testing.T, claims *kubernetes.Claims[reconcile.Request], item reconcile.Request, f func(context.Context) error,
) error {
	_, err := claims.Reconciler(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
		return reconcile.Result{}, f(ctx)
	})).Reconcile(t.Context(), item)
	return err
}

// TestReconcilerLearnsOfAnAdd: before the reconcile begins, in its midst, by a
// delay that expires, and never of what is another item's. A Cancel of the item is no
// add, and does not take back that the reconcile knows of one.
func TestReconcilerLearnsOfAnAdd(t *testing.T) {
	item, other := request("a", 1), request("a", 2)
	for name, add := range map[string]func(q priorityqueue.PriorityQueue[reconcile.Request]){
		"a delay": func(q priorityqueue.PriorityQueue[reconcile.Request]) { q.AddAfter(item, time.Second) },
		"AddWithOpts": func(q priorityqueue.PriorityQueue[reconcile.Request]) {
			q.AddWithOpts(priorityqueue.AddOpts{}, other, item)
		},
	} {
		for _, early := range []bool{true, false} {
			synctest.Test(t, func(t *testing.T) {
				claims := &kubernetes.Claims[reconcile.Request]{}
				q := queueWith(t, kubernetes.Options[reconcile.Request]{Claims: claims})
				q.Add(item)
				_, _ = q.Get()
				cancel := q.(*kubernetes.Queue[reconcile.Request]).Underlying().Cancel
				if early {
					add(q)
					time.Sleep(2 * time.Second) // of the bubble
				}
				require.NoError(t, claimed(t, claims, item, func(ctx context.Context) error {
					claim, ok := kubernetes.ClaimFrom[reconcile.Request](ctx)
					require.True(t, ok)
					require.Equal(t, item, claim.Item().Item)
					require.Equal(t, early, claim.AddedAgain(), name)
					if !early {
						q.Add(other)
						cancel(item)
						require.False(t, claim.AddedAgain())
						add(q)
						<-claim.Again()
					}
					cancel(item)
					require.True(t, claim.AddedAgain())
					return ctx.Err() // nobody asked for that
				}))
			})
		}
	}
}

// TestReconcileIsCanceled: with the cause, and without an error that the
// controller would count. Other errors pass.
func TestReconcileIsCanceled(t *testing.T) {
	own := errors.New("of the reconciler")
	item := request("a", 1)
	for _, fail := range []func(context.Context) error{
		func(ctx context.Context) error { return ctx.Err() }, context.Cause, func(context.Context) error { return own },
	} {
		claims := &kubernetes.Claims[reconcile.Request]{CancelIfAddedAgain: true}
		q := queueWith(t, kubernetes.Options[reconcile.Request]{Claims: claims})
		q.Add(item)
		_, _ = q.Get()
		err := claimed(t, claims, item, func(ctx context.Context) error {
			q.Add(item)
			<-ctx.Done()
			require.Equal(t, kubernetes.ErrAddedAgain, context.Cause(ctx))
			return fail(ctx)
		})
		require.Equal(t, fail(t.Context()), err)
		q.Done(item)
		require.Equal(t, 1, q.Len(), "it runs once more")
	}
}

// TestNoClaim: a reconciler that is called by a test has none, and a Claims
// does not serve two queues.
func TestNoClaim(t *testing.T) {
	claims := &kubernetes.Claims[reconcile.Request]{}
	none := func(ctx context.Context) error {
		_, ok := kubernetes.ClaimFrom[reconcile.Request](ctx)
		require.False(t, ok)
		return nil
	}
	require.NoError(t, claimed(t, claims, request("a", 1), none))
	options := kubernetes.Options[reconcile.Request]{Claims: claims}
	first, err := kubernetes.New(options)
	require.NoError(t, err)
	require.NoError(t, claimed(t, claims, request("a", 1), none), "not in processing")
	_, err = kubernetes.New(options)
	require.ErrorContains(t, err, "serves another queue")
	first.ShutDown()
	second, err := kubernetes.New(options)
	require.NoError(t, err)
	second.ShutDown()
}

// TestGroupMetrics: the largest groups have series, and a queue that is shut down
// has none. Of two queues of one name the first has.
func TestGroupMetrics(t *testing.T) {
	r := prometheus.NewPedanticRegistry()
	r.MustRegister(kubernetes.GroupMetrics(1))
	options := kubernetes.Options[reconcile.Request]{Queue: shardq.Options[reconcile.Request]{Group: kubernetes.ByNamespace}}
	q, second := queueWith(t, options), queueWith(t, options)
	second.Add(request("other", 1))
	for i := range 3 {
		q.Add(request("big", i))
	}
	q.Add(request("small", 0))
	q.AddAfter(request("small", 1), time.Hour)
	values := func() map[string]float64 {
		families, err := r.Gather()
		require.NoError(t, err)
		found := map[string]float64{}
		for _, f := range families {
			for _, m := range f.Metric {
				if labels := m.Label; labels[3].GetValue() != "" && labels[2].GetValue() == t.Name() {
					found[labels[1].GetValue()+" "+labels[3].GetValue()] = m.Gauge.GetValue()
				}
			}
		}
		return found
	}
	require.Equal(t, map[string]float64{
		"big ready": 3, "big processing": 0, "big delayed": 0,
		"other ready": 1, "other processing": 0, "other delayed": 1,
	}, values())
	q.ShutDown()
	second.ShutDown()
	require.Empty(t, values())
}

// TestContextLivesThroughTheDrain: with DrainFor, a reconcile keeps its context
// when that of the controller is canceled, until the drain ends. A deadline of
// the reconcile stays.
func TestContextLivesThroughTheDrain(t *testing.T) {
	for timeout, want := range map[time.Duration]error{time.Hour: context.Canceled, 300 * time.Millisecond: context.DeadlineExceeded} {
		synctest.Test(t, func(t *testing.T) {
			claims := &kubernetes.Claims[reconcile.Request]{}
			q := queueWith(t, kubernetes.Options[reconcile.Request]{Claims: claims, DrainFor: time.Second})
			q.Add(request("a", 1))
			item, _ := q.Get()
			controller, stop := context.WithCancel(t.Context())
			ctx, cancel := context.WithTimeout(controller, timeout)
			defer cancel()
			begun := time.Now()
			_, err := claims.Reconciler(reconcile.Func(func(ctx context.Context, _ reconcile.Request) (reconcile.Result, error) {
				stop()
				go q.ShutDown()
				synctest.Wait()
				require.NoError(t, ctx.Err())
				<-ctx.Done()
				return reconcile.Result{}, ctx.Err()
			})).Reconcile(ctx, item)
			require.ErrorIs(t, err, want)
			require.Equal(t, min(timeout, time.Second), time.Since(begun))
			q.Done(item)
			synctest.Wait()
		})
	}
}
