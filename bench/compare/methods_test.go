package compare_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
)

// TestMethodsOfTheOthers compares the table of features in README.md with the
// interfaces of the others. Where the table says no, the method must be
// missing. If one of the interfaces grows, the table must be checked again.
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
