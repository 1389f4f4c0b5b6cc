package controller

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/go-logr/logr/funcr"
	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
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
		"almost due": {false, paymentTerm - time.Second, examplev1.Open, time.Second},
		"due":        {false, paymentTerm, examplev1.Overdue, 0},
		"paid late":  {true, 2 * paymentTerm, examplev1.Paid, 0},
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

// TestStatusIsWrittenOnce: after a failed update, which the queue retries with a
// backoff, it is written once.
func TestStatusIsWrittenOnce(t *testing.T) {
	updates, fails := 0, errors.New("the server is down")
	c := builder(t).WithObjects(invoice(1, false)).WithInterceptorFuncs(interceptor.Funcs{SubResourceUpdate: func(
		ctx context.Context, c client.Client, name string, o client.Object, options ...client.SubResourceUpdateOption,
	) error {
		if updates++; updates == 1 {
			return fails
		}
		return c.SubResource(name).Update(ctx, o, options...)
	}}).Build()
	for _, want := range []error{fails, nil, nil} {
		_, err := reconcileAt(t, c, created.Add(time.Hour))
		require.Equal(t, want, err)
	}
	require.Equal(t, 2, updates)
}

func TestDeletedInvoiceIsLeftAlone(t *testing.T) {
	result, err := reconcileAt(t, builder(t).Build(), created)
	require.NoError(t, err)
	require.Zero(t, result)
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
