// Package controller has the controller of invoices.
package controller

import (
	"context"
	"log/slog"
	"time"

	"github.com/go-logr/logr"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	logf "sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/shardq/shardq"
	examplev1 "github.com/shardq/shardq/examples/operator/api/v1"
	"github.com/shardq/shardq/kubernetes"
)

const (
	paymentTerm  = 30 * 24 * time.Hour // the age at which an unpaid invoice is overdue
	workers      = 8                   // the invoices that are reconciled at once
	perNamespace = 4                   // how many of them may be of one namespace
	stuckAfter   = time.Minute         // the log names an invoice whose Reconcile takes longer
)

// An InvoiceReconciler sets the status of invoices.
type InvoiceReconciler struct {
	client.Client
	Now func() time.Time
}

// +kubebuilder:rbac:groups=example.com,resources=invoices,verbs=get;list;watch
// +kubebuilder:rbac:groups=example.com,resources=invoices/status,verbs=update

// Reconcile sets the status of an invoice, and again when it is due.
func (r *InvoiceReconciler) Reconcile(ctx context.Context, request ctrl.Request) (ctrl.Result, error) {
	var invoice examplev1.Invoice
	if err := r.Get(ctx, request.NamespacedName, &invoice); err != nil {
		return ctrl.Result{}, client.IgnoreNotFound(err)
	}
	status, due := statusOf(&invoice, r.Now())
	if status != invoice.Status {
		invoice.Status = status
		if err := r.Status().Update(ctx, &invoice); err != nil {
			return ctrl.Result{}, err
		}
		logf.FromContext(ctx).Info("status set", "phase", status.Phase)
	}
	return ctrl.Result{RequeueAfter: due}, nil
}

// due is after how long the status changes by itself, or 0.
func statusOf(invoice *examplev1.Invoice, now time.Time) (status examplev1.InvoiceStatus, due time.Duration) {
	status.ObservedGeneration = invoice.Generation
	left := invoice.CreationTimestamp.Add(paymentTerm).Sub(now)
	switch {
	case invoice.Spec.Paid:
		status.Phase = examplev1.Paid
	case left > 0:
		status.Phase, due = examplev1.Open, left
	default:
		status.Phase = examplev1.Overdue
	}
	return status, due
}

func (r *InvoiceReconciler) SetupWithManager(manager ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(manager).
		For(&examplev1.Invoice{}).
		WithOptions(controller.Options{
			MaxConcurrentReconciles: workers,
			NewQueue:                kubernetes.NewQueue(queueOptions(manager.GetLogger())), // added for shardq
		}).
		Complete(r)
}

// queueOptions returns the options of the queue. All of it was added for
// shardq, and kubernetes.Options without fields would do as well.
func queueOptions(log logr.Logger) kubernetes.Options[reconcile.Request] {
	return kubernetes.Options[reconcile.Request]{Queue: shardq.Options[reconcile.Request]{
		// Namespaces take turns, and none occupies all workers.
		Group:       kubernetes.ByNamespace,
		GroupPolicy: func(string) shardq.GroupPolicy { return shardq.GroupPolicy{Limit: perNamespace} },
		StuckAfter:  stuckAfter,
		Logger:      slog.New(logr.ToSlogHandler(log)),
		LogItems:    true,
		Metrics:     true, // the live page shows how long invoices wait, and take
	}}
}
