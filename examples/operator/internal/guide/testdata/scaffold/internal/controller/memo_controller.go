// Package controller has the controller of memos, which are ConfigMaps here.
package controller

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// A MemoReconciler reconciles memos.
type MemoReconciler struct {
	client.Client
}

// Reconcile reads a memo.
func (r *MemoReconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	var memo corev1.ConfigMap
	return ctrl.Result{}, client.IgnoreNotFound(r.Get(ctx, req.NamespacedName, &memo))
}

// SetupWithManager adds the controller to a manager.
func (r *MemoReconciler) SetupWithManager(mgr ctrl.Manager) error {
	return ctrl.NewControllerManagedBy(mgr).
		For(&corev1.ConfigMap{}).
		Named("memo").
		Complete(r)
}
