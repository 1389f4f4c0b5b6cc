package shardqtest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/clock"
)

// A failure is what the Fatalf of a stub panics with.
type failure string

// A stub is a TB that notes a failure.
type stub struct{}

func (stub) Helper() {}

func (stub) Fatalf(format string, arguments ...any) {
	panic(failure(fmt.Sprintf(format, arguments...)))
}

// requireFailure checks that f fails its test with that message.
func requireFailure(t *testing.T, want string, f func(stub)) { require.Equal(t, want, failureOf(f)) }

// failureOf returns the message with which f fails its test.
func failureOf(f func(stub)) (message string) {
	defer func() {
		if r := recover(); r != nil {
			message = string(r.(failure))
		}
	}()
	f(stub{})
	return "no failure"
}

func newFake() *clock.Fake { return clock.NewFake(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)) }

// texts writes values, one by one.
func texts[T fmt.Stringer](all []T) (lines []string) {
	for _, one := range all {
		lines = append(lines, one.String())
	}
	return lines
}
