// Command main is a manager as a project of kubebuilder or operator-sdk begins
// with.
package main

import (
	"flag"
	"os"

	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/metrics/filters"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	"example.com/scaffold/internal/controller"
)

func main() {
	var metricsAddr string
	var secureMetrics bool
	flag.StringVar(&metricsAddr, "metrics-bind-address", "0", "address of the metrics")
	flag.BoolVar(&secureMetrics, "metrics-secure", true, "serve the metrics with HTTPS")
	flag.Parse()

	metricsServerOptions := metricsserver.Options{
		BindAddress:   metricsAddr,
		SecureServing: secureMetrics,
	}
	if secureMetrics {
		metricsServerOptions.FilterProvider = filters.WithAuthenticationAndAuthorization
	}
	mgr, err := ctrl.NewManager(ctrl.GetConfigOrDie(), ctrl.Options{Metrics: metricsServerOptions})
	if err != nil {
		os.Exit(1)
	}
	if err := (&controller.MemoReconciler{Client: mgr.GetClient()}).SetupWithManager(mgr); err != nil {
		os.Exit(1)
	}
	if err := mgr.Start(ctrl.SetupSignalHandler()); err != nil {
		os.Exit(1)
	}
}
