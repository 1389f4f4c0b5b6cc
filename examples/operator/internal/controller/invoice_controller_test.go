package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/go-logr/logr"
	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shardq/shardq/clock"
	examplev1 "github.com/shardq/shardq/examples/operator/api/v1"
	"github.com/shardq/shardq/kubernetes"
)

var created = time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)

func invoice(generation int64, paid bool) *examplev1.Invoice {
	return &examplev1.Invoice{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "shop", Name: "17", Generation: generation, CreationTimestamp: metav1.NewTime(created),
		},
		Spec: examplev1.InvoiceSpec{Amount: 4990, Currency: "EUR", Paid: paid},
	}
}

// builder returns the builder of a client without a server.
func builder(t *testing.T) *fake.ClientBuilder {
	scheme := runtime.NewScheme()
	require.NoError(t, examplev1.AddToScheme(scheme))
	return fake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(&examplev1.Invoice{})
}

// reconcileAt reconciles invoice 17 at a time.
func reconcileAt(t *testing.T, c client.Client, now time.Time) (ctrl.Result, error) {
	r := &InvoiceReconciler{Client: c, Now: func() time.Time { return now }}
	return r.Reconcile(t.Context(), request("shop", 17))
}

func request(namespace string, number int) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: fmt.Sprint(number)}}
}

// TestStatus: the status follows the spec and the time, and only an open
// invoice is reconciled again.
func TestStatus(t *testing.T) {
	for name, test := range map[string]struct {
		paid  bool
		after time.Duration
		phase examplev1.Phase
		again time.Duration
	}{
		"new":          {false, 0, examplev1.Open, paymentTerm},
		"almost due":   {false, paymentTerm - time.Second, examplev1.Open, time.Second},
		"due":          {false, paymentTerm, examplev1.Overdue, 0},
		"long overdue": {false, 2 * paymentTerm, examplev1.Overdue, 0},
		"paid":         {true, time.Hour, examplev1.Paid, 0},
		"paid late":    {true, 2 * paymentTerm, examplev1.Paid, 0},
	} {
		t.Run(name, func(t *testing.T) {
			c := builder(t).WithObjects(invoice(3, test.paid)).Build()
			result, err := reconcileAt(t, c, created.Add(test.after))
			require.NoError(t, err)
			require.Equal(t, ctrl.Result{RequeueAfter: test.again}, result)
			var now examplev1.Invoice
			require.NoError(t, c.Get(t.Context(), request("shop", 17).NamespacedName, &now))
			require.Equal(t, examplev1.InvoiceStatus{Phase: test.phase, ObservedGeneration: 3}, now.Status)
			require.Equal(t, invoice(3, test.paid).Spec, now.Spec)
		})
	}
}

// counting returns functions that count the updates of a status, and let them
// fail with an error unless it is nil.
func counting(updates *int, fails error) interceptor.Funcs {
	return interceptor.Funcs{SubResourceUpdate: func(
		ctx context.Context, c client.Client, name string, o client.Object, options ...client.SubResourceUpdateOption,
	) error {
		*updates++
		if fails != nil {
			return fails
		}
		return c.SubResource(name).Update(ctx, o, options...)
	}}
}

func TestStatusIsWrittenOnce(t *testing.T) {
	updates := 0
	c := builder(t).WithObjects(invoice(1, false)).WithInterceptorFuncs(counting(&updates, nil)).Build()
	for range 3 {
		_, err := reconcileAt(t, c, created.Add(time.Hour))
		require.NoError(t, err)
	}
	require.Equal(t, 1, updates)
}

func TestDeletedInvoiceIsLeftAlone(t *testing.T) {
	result, err := reconcileAt(t, builder(t).Build(), created)
	require.NoError(t, err)
	require.Zero(t, result)
}

// TestErrorsAreReturned, so that the queue delays the invoice by its backoff.
func TestErrorsAreReturned(t *testing.T) {
	updates := 0
	conflict := apierrors.NewConflict(examplev1.GroupVersion.WithResource("invoices").GroupResource(), "17", nil)
	c := builder(t).WithObjects(invoice(1, false)).WithInterceptorFuncs(counting(&updates, conflict)).Build()
	_, err := reconcileAt(t, c, created)
	require.ErrorIs(t, err, conflict)

	down := errors.New("the server is down")
	c = builder(t).WithInterceptorFuncs(interceptor.Funcs{Get: func(
		context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption,
	) error {
		return down
	}}).Build()
	_, err = reconcileAt(t, c, created)
	require.ErrorIs(t, err, down)
}

// TestControllerUsesShardq: the queue of the controller keeps priorities, lets
// namespaces take turns, and limits each of them.
func TestControllerUsesShardq(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		made := options(logr.Discard()).NewQueue("invoice", nil)
		require.IsType(t, &kubernetes.Queue[reconcile.Request]{}, made)
		queue := made.(priorityqueue.PriorityQueue[reconcile.Request])
		defer queue.ShutDown()

		list := priorityqueue.AddOpts{Priority: new(handler.LowPriority)}
		for n := range 10 {
			queue.AddWithOpts(list, request("big", n))
		}
		queue.AddWithOpts(list, request("small", 0))
		queue.Add(request("big", 9)) // changed
		next := func() reconcile.Request {
			got, _ := queue.Get()
			return got
		}
		got, priority, _ := queue.GetWithPriority()
		require.Equal(t, request("big", 9), got)
		require.Zero(t, priority)
		require.Equal(t, request("small", 0), next(), "the turn of the other namespace")
		for n := range perNamespace - 1 {
			require.Equal(t, request("big", n), next())
		}

		var beyond reconcile.Request
		go func() { beyond = next() }()
		synctest.Wait()
		require.Zero(t, beyond, "the namespace is at its limit")
		queue.Done(request("big", 0))
		synctest.Wait()
		require.Equal(t, request("big", perNamespace-1), beyond)
	})
}

// TestLogNamesStuckInvoice steps a clock until an invoice is stuck.
func TestLogNamesStuckInvoice(t *testing.T) {
	lines := make(chan string, 10)
	log := funcr.New(func(_, line string) { lines <- line }, funcr.Options{})
	o := queueOptions(log)
	fake := clock.NewFake(created)
	o.Queue.Clock = fake
	queue := kubernetes.NewQueue(o)("invoice", nil)
	defer queue.ShutDown()

	queue.Add(request("shop", 17))
	got, _ := queue.Get()
	require.Equal(t, request("shop", 17), got)
	fake.Step(stuckAfter + time.Second) // beyond the tick
	require.Contains(t, <-lines, `"item"="shop/17"`)
}
