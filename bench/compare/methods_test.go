package compare_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// TestMethodsOfTheOthers holds the table of features in README.md to the interfaces that
// it tells of: what is not a method here is what the table says no to. If one of them grows,
// the table is to be looked at again.
func TestMethodsOfTheOthers(t *testing.T) {
	common := []string{
		"Add", "AddAfter", "AddRateLimited", "Done", "Forget", "Get", "Len", "NumRequeues",
		"ShutDown", "ShutDownWithDrain", "ShuttingDown",
	}
	require.Equal(t, common, methods(reflect.TypeFor[workqueue.TypedRateLimitingInterface[string]]()))

	common = append(common, "AddWithOpts", "GetWithPriority")
	slices.Sort(common)
	require.Equal(t, common, methods(reflect.TypeFor[priorityqueue.PriorityQueue[string]]()))
	require.Equal(t, []string{"After", "Priority", "RateLimited"}, fields(reflect.TypeFor[priorityqueue.AddOpts]()))
}

func methods(t reflect.Type) (names []string) {
	for i := range t.NumMethod() {
		names = append(names, t.Method(i).Name)
	}
	return names
}

func fields(t reflect.Type) (names []string) {
	for i := range t.NumField() {
		names = append(names, t.Field(i).Name)
	}
	slices.Sort(names)
	return names
}
