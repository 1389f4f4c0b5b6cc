package main

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// A Task is the custom resource. Its controller has to write Spec.Value into
// Status.Seen.
type Task struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   TaskSpec   `json:"spec"`
	Status TaskStatus `json:"status,omitempty"`
}

// A TaskSpec has the value, when it was set, in nanoseconds since 1970, and in
// which part of the trial.
type TaskSpec struct {
	Value   int64  `json:"value"`
	Changed int64  `json:"changed"`
	Part    string `json:"part"`
}

// A TaskStatus has the value that was reconciled, and by which round of
// managers.
type TaskStatus struct {
	Seen  int64 `json:"seen"`
	Round int64 `json:"round"`
}

// DeepCopyObject implements runtime.Object.
func (t *Task) DeepCopyObject() runtime.Object {
	out := *t
	t.ObjectMeta.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// A TaskList is a list of Tasks.
type TaskList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Task `json:"items"`
}

// DeepCopyObject implements runtime.Object.
func (l *TaskList) DeepCopyObject() runtime.Object {
	out := *l
	l.ListMeta.DeepCopyInto(&out.ListMeta)
	out.Items = make([]Task, len(l.Items))
	for i := range l.Items {
		out.Items[i] = *l.Items[i].DeepCopyObject().(*Task)
	}
	return &out
}

var taskVersion = schema.GroupVersion{Group: "trial.shardq.example", Version: "v1"}

// definitions are the custom resources. The server has no leases of its own, so
// that the election of a leader needs one as well.
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
					"value": {"type": "integer", "format": "int64"},
					"changed": {"type": "integer", "format": "int64"},
					"part": {"type": "string"}}},
				"status": {"type": "object", "properties": {
					"seen": {"type": "integer", "format": "int64"},
					"round": {"type": "integer", "format": "int64"}}}}}}
		}]
	}
}`, `{
	"apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
	"metadata": {
		"name": "leases.coordination.k8s.io",
		"annotations": {"api-approved.kubernetes.io": "unapproved, for a trial"}
	},
	"spec": {
		"group": "coordination.k8s.io", "scope": "Namespaced",
		"names": {"plural": "leases", "singular": "lease", "kind": "Lease", "listKind": "LeaseList"},
		"versions": [{
			"name": "v1", "served": true, "storage": true,
			"schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}}
		}]
	}
}`}
