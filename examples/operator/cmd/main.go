// Command manager runs the controller of invoices.
package main

import (
	"crypto/tls"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	// These plugins authenticate at the clusters of cloud providers.
	_ "k8s.io/client-go/plugin/pkg/client/auth"

	"k8s.io/apimachinery/pkg/runtime"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client/config"
	"sigs.k8s.io/controller-runtime/pkg/healthz"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	examplev1 "github.com/shardq/shardq/examples/operator/api/v1"
	"github.com/shardq/shardq/examples/operator/internal/controller"
	"github.com/shardq/shardq/kubernetes"
	// +kubebuilder:scaffold:imports
)

var scheme = runtime.NewScheme()

func init() {
	utilruntime.Must(clientgoscheme.AddToScheme(scheme))
	utilruntime.Must(examplev1.AddToScheme(scheme))
	// +kubebuilder:scaffold:scheme
}

func main() {
	s, err := parse(os.Args[1:])
	if errors.Is(err, flag.ErrHelp) {
		os.Exit(0)
	}
	if err != nil {
		os.Exit(2) // the flag set has printed the error
	}
	ctrl.SetLogger(zap.New(zap.UseFlagOptions(&s.log)))
	if err := run(s); err != nil {
		ctrl.Log.WithName("setup").Error(err, "the manager has failed")
		os.Exit(1)
	}
}

func run(s settings) error {
	cluster, err := ctrl.GetConfig()
	if err != nil {
		return fmt.Errorf("find the cluster: %w", err)
	}
	manager, err := newManager(cluster, s.options())
	if err != nil {
		return err
	}
	metrics.Registry.MustRegister(kubernetes.GroupMetrics(20)) // added for shardq: series of the largest namespaces
	return manager.Start(ctrl.SetupSignalHandler())
}

type settings struct {
	metricsAddress, probeAddress, metricsCertificates string
	secureMetrics, http2, leaderElection              bool
	log                                               zap.Options
}

func parse(arguments []string) (settings, error) {
	s := settings{log: zap.Options{Development: true}}
	flags := flag.NewFlagSet("manager", flag.ContinueOnError)
	flags.StringVar(&s.metricsAddress, "metrics-bind-address", "0",
		"address of the metrics and the live page, such as :8443; 0 for none")
	flags.BoolVar(&s.secureMetrics, "metrics-secure", true,
		"serve the metrics with HTTPS, and only to clients that the cluster authorizes")
	flags.StringVar(&s.metricsCertificates, "metrics-cert-path", "",
		"directory of tls.crt and tls.key for the metrics; without them the certificate is self-signed")
	flags.BoolVar(&s.http2, "enable-http2", false, "let clients of the metrics use HTTP/2")
	flags.StringVar(&s.probeAddress, "health-probe-bind-address", ":8081", "address of the health probes")
	flags.BoolVar(&s.leaderElection, "leader-elect", false, "let only one of several managers work at once")
	config.RegisterFlags(flags)
	s.log.BindFlags(flags)
	return s, flags.Parse(arguments)
}

func (s settings) options() ctrl.Options {
	server := metricsserver.Options{
		BindAddress: s.metricsAddress, SecureServing: s.secureMetrics, CertDir: s.metricsCertificates,
	}
	if s.secureMetrics {
		server.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	// Added for shardq: the live page. It names objects, so only readers whom the
	// cluster authorizes may see it, or those on this machine.
	if s.secureMetrics || isLoopback(s.metricsAddress) {
		server.ExtraHandlers = map[string]http.Handler{kubernetes.Path: kubernetes.Handler()}
	}
	if !s.http2 { // so that its known attacks do not concern this server
		server.TLSOpts = append(server.TLSOpts, func(c *tls.Config) { c.NextProtos = []string{"http/1.1"} })
	}
	return ctrl.Options{
		Scheme: scheme, Metrics: server, HealthProbeBindAddress: s.probeAddress,
		LeaderElection: s.leaderElection, LeaderElectionID: "operator.example.com",
		LeaderElectionReleaseOnCancel: true, // the process ends with its manager, so the next leader need not wait
	}
}

func isLoopback(address string) bool {
	host, _, err := net.SplitHostPort(address)
	ip := net.ParseIP(host)
	return err == nil && ip != nil && ip.IsLoopback()
}

// newManager does not call the cluster.
func newManager(cluster *rest.Config, options ctrl.Options) (ctrl.Manager, error) {
	manager, err := ctrl.NewManager(cluster, options)
	if err != nil {
		return nil, fmt.Errorf("make the manager: %w", err)
	}
	invoices := &controller.InvoiceReconciler{Client: manager.GetClient(), Now: time.Now}
	if err := invoices.SetupWithManager(manager); err != nil {
		return nil, fmt.Errorf("add the controller of invoices: %w", err)
	}
	// +kubebuilder:scaffold:builder
	return manager, errors.Join(
		manager.AddHealthzCheck("healthz", healthz.Ping), manager.AddReadyzCheck("readyz", healthz.Ping))
}
