//go:build trial

package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// The controller of a task has to write Spec.Value into Status.Seen.
type task struct {
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Value int64 `json:"value"`
	} `json:"spec"`
	Status taskStatus `json:"status"`
}

type taskStatus struct {
	Seen  int64 `json:"seen"`
	Round int64 `json:"round"`
}

var taskVersion = schema.GroupVersion{Group: "trial.shardq.example", Version: "v1"}

// definitions are the custom resources. The election of a leader needs leases.
var definitions = []string{`{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": {"name": "tasks.trial.shardq.example"},
	"spec": {
		"group": "trial.shardq.example", "scope": "Namespaced",
		"names": {"plural": "tasks", "singular": "task", "kind": "Task", "listKind": "TaskList"},
		"versions": [{
			"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
			"schema": {"openAPIV3Schema": {"type": "object", "properties": {
				"spec": {"type": "object", "properties": {
					"value": {"type": "integer", "format": "int64"}}},
				"status": {"type": "object", "properties": {
					"seen": {"type": "integer", "format": "int64"},
					"round": {"type": "integer", "format": "int64"}}}}}}
		}]
	}
}`, `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": {"name": "leases.coordination.k8s.io",
		"annotations": {"api-approved.kubernetes.io": "unapproved, for a trial"}},
	"spec": {
		"group": "coordination.k8s.io", "scope": "Namespaced",
		"names": {"plural": "leases", "singular": "lease", "kind": "Lease", "listKind": "LeaseList"},
		"versions": [{"name": "v1", "served": true, "storage": true,
			"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}}]
	}
}`}
