package conformance

// What the peers' tests import, so that this module requires it.
import (
	_ "github.com/go-logr/logr/funcr"
	_ "github.com/google/go-cmp/cmp"
	_ "github.com/google/gofuzz"
	_ "github.com/onsi/ginkgo/v2"
	_ "github.com/onsi/gomega"
	_ "k8s.io/apimachinery/pkg/util/wait"
	_ "k8s.io/client-go/util/workqueue"
	_ "k8s.io/utils/clock/testing"
	_ "sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	_ "sigs.k8s.io/randfill"

	_ "github.com/shardq/shardq/kubernetes/queue"
)
