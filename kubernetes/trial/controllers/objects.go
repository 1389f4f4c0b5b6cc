package main

import "fmt"

// A resource is a kind of object that the API server has.
type resource struct {
	version, name string
}

var (
	deployments     = resource{"/apis/apps/v1", "deployments"}
	replicaSets     = resource{"/apis/apps/v1", "replicasets"}
	pods            = resource{"/api/v1", "pods"}
	jobs            = resource{"/apis/batch/v1", "jobs"}
	namespaces      = resource{"/api/v1", "namespaces"}
	serviceAccounts = resource{"/api/v1", "serviceaccounts"}
	configMaps      = resource{"/api/v1", "configmaps"}
)

// counted are the resources of all objects of a trial, but for events.
var counted = []resource{deployments, replicaSets, pods, jobs, namespaces, serviceAccounts, configMaps}

// path returns the path of the objects in a namespace.
//
// If namespace is empty, it is that of the objects in all namespaces.
func (r resource) path(namespace string) string {
	if namespace == "" {
		return r.version + "/" + r.name
	}
	return r.version + "/namespaces/" + namespace + "/" + r.name
}

// homes is how many namespaces the Deployments and the Jobs share. The trial
// does not delete them.
const homes = 20

func home(i int) string { return fmt.Sprintf("home-%d", i%homes) }

func namespaceObject(name string) string {
	return fmt.Sprintf(`{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": %q}}`, name)
}

func deploymentObject(name string) string {
	return fmt.Sprintf(`{
	"apiVersion": "apps/v1", "kind": "Deployment", "metadata": {"name": %[1]q},
	"spec": {
		"replicas": 1, "selector": {"matchLabels": {"app": %[1]q}},
		"template": {"metadata": {"labels": {"app": %[1]q}}, "spec": {"containers": [{"name": "main", "image": "none"}]}}
	}
}`, name)
}

func jobObject(name string) string {
	return fmt.Sprintf(`{
	"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": %q},
	"spec": {"template": {"spec": {"restartPolicy": "Never", "containers": [{"name": "main", "image": "none"}]}}}
}`, name)
}
