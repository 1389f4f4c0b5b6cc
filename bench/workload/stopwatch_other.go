//go:build !unix

package workload

import "time"

func processorTime() time.Duration { return 0 }
