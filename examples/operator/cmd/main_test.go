package main

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	toolscache "k8s.io/client-go/tools/cache"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/cache/informertest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllertest"

	examplev1 "github.com/shardq/shardq/examples/operator/api/v1"
	"github.com/shardq/shardq/kubernetes"
)

// nowhere is the configuration of a cluster that does not exist.
var nowhere = &rest.Config{Host: "https://cluster.invalid"}

// testOptions returns the options of a manager that listens nowhere. Managers
// of several tests have controllers of the same name.
func testOptions(t *testing.T, arguments ...string) ctrl.Options {
	s, err := parse(append(arguments, "-health-probe-bind-address=0"))
	require.NoError(t, err)
	options := s.options()
	options.Controller.SkipNameValidation = new(true)
	return options
}

// TestFlags has flags of config/manager/manager.yaml.
func TestFlags(t *testing.T) {
	options := testOptions(t, "--leader-elect", "--metrics-bind-address=:8443")
	require.True(t, options.LeaderElection)
	require.Equal(t, ":8443", options.Metrics.BindAddress)
}

// TestPageIsNotOpen: unless a flag says otherwise, the metrics server has HTTPS
// and a filter for all its pages. Without them, the page is served on this
// machine alone.
func TestPageIsNotOpen(t *testing.T) {
	metrics := testOptions(t).Metrics
	require.True(t, metrics.SecureServing)
	require.NotNil(t, metrics.FilterProvider)
	require.Contains(t, metrics.ExtraHandlers, kubernetes.Path)
	for address, want := range map[string]int{
		"127.0.0.1:6060": 1, "[::1]:6060": 1, ":8443": 0, "0.0.0.0:8443": 0, "10.0.0.1:8443": 0, "0": 0, "localhost": 0,
	} {
		options := testOptions(t, "-metrics-secure=false", "-metrics-bind-address="+address)
		require.Len(t, options.Metrics.ExtraHandlers, want, address)
	}
}

// TestManagerReconciles runs the manager with one invoice, and with fakes in
// place of the cluster. The controller sets the status, and the live page shows
// its queue.
func TestManagerReconciles(t *testing.T) {
	invoice := &examplev1.Invoice{
		ObjectMeta: metav1.ObjectMeta{Namespace: "shop", Name: "17", CreationTimestamp: metav1.Now()},
		Spec:       examplev1.InvoiceSpec{Amount: 4990, Currency: "EUR"},
	}
	updated := make(chan examplev1.InvoiceStatus, 1)
	options := testOptions(t)
	options.NewClient = func(*rest.Config, client.Options) (client.Client, error) {
		return fake.NewClientBuilder().WithScheme(scheme).WithObjects(invoice).WithStatusSubresource(invoice).
			WithInterceptorFuncs(interceptor.Funcs{SubResourceUpdate: func(
				ctx context.Context, c client.Client, name string, o client.Object, all ...client.SubResourceUpdateOption,
			) error {
				err := c.SubResource(name).Update(ctx, o, all...)
				updated <- o.(*examplev1.Invoice).Status
				return err
			}}).Build(), nil
	}
	options.NewCache = func(*rest.Config, cache.Options) (cache.Cache, error) {
		return listing{&informertest.FakeInformers{Scheme: scheme}, invoice}, nil
	}
	manager, err := newManager(nowhere, options)
	require.NoError(t, err)

	ctx, stop := context.WithTimeout(t.Context(), time.Minute)
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- manager.Start(ctx) }()
	select {
	case status := <-updated:
		require.Equal(t, examplev1.Open, status.Phase)
	case err := <-ended:
		require.FailNow(t, "the manager has ended", "%v", err)
	}

	answer := httptest.NewRecorder()
	request := httptest.NewRequest(http.MethodGet, kubernetes.Path+"?format=text", nil)
	options.Metrics.ExtraHandlers[kubernetes.Path].ServeHTTP(answer, request)
	page, err := io.ReadAll(answer.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, answer.Code)
	require.Contains(t, string(page), "invoice")
	require.Contains(t, string(page), "shop/17")

	stop()
	require.NoError(t, <-ended)
}

// A listing is a cache whose informers list one invoice.
type listing struct {
	cache.Cache
	invoice *examplev1.Invoice
}

// GetInformer implements [cache.Informers].
func (l listing) GetInformer(context.Context, client.Object, ...cache.InformerGetOption) (cache.Informer, error) {
	return informer{controllertest.NewFakeInformer(controllertest.Synced), l.invoice}, nil
}

type informer struct {
	*controllertest.FakeInformer
	invoice *examplev1.Invoice
}

// AddEventHandlerWithOptions calls the handler for the initial list.
func (i informer) AddEventHandlerWithOptions(
	handler toolscache.ResourceEventHandler, options toolscache.HandlerOptions,
) (toolscache.ResourceEventHandlerRegistration, error) {
	handler.OnAdd(i.invoice, true)
	return i.FakeInformer.AddEventHandlerWithOptions(handler, options)
}
