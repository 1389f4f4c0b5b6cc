package contract

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain checks, after all tests, that no goroutine is left.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
