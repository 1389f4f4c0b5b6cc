package debugpage

import (
	"testing"

	"go.uber.org/goleak"
)

// TestMain fails if a goroutine is left after all tests.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
