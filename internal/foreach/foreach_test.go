package foreach

import (
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A result is how a Do ended.
type result struct {
	calls    []int
	panicked any
	// returned and exited say that Do has returned, or ended its goroutine.
	returned, exited bool
}

// run calls Do for n calls in a goroutine of its own. Each call may end as do
// says.
func run(n int, do func(i int)) (r result) {
	over := make(chan struct{})
	go func() {
		defer close(over)
		defer func() {
			r.panicked = recover()
			r.exited = r.panicked == nil && !r.returned
		}()
		Do(n, func(i int) {
			r.calls = append(r.calls, i)
			do(i)
		})
		r.returned = true
	}()
	<-over
	return r
}

// upTo returns the numbers below n.
func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// Of four calls, each may return, panic or end the goroutine.
func TestEveryCallIsMade(t *testing.T) {
	for ways := range 3 * 3 * 3 * 3 {
		way := func(i int) int { return ways / []int{1, 3, 9, 27}[i] % 3 }
		r := run(4, func(i int) {
			switch way(i) {
			case 1:
				panic(i)
			case 2:
				runtime.Goexit()
			}
		})
		require.Equal(t, upTo(4), r.calls)
		first := slices.IndexFunc(upTo(4), func(i int) bool { return way(i) == 1 })
		exits := slices.ContainsFunc(upTo(4), func(i int) bool { return way(i) == 2 })
		if first >= 0 {
			require.Equal(t, first, valueOf(t, r.panicked))
		}
		require.Equal(t, first < 0 && exits, r.exited)
		require.Equal(t, first < 0 && !exits, r.returned)
	}
}

// valueOf returns the value of a panic. The panic of the last call alone is no
// Panic.
func valueOf(t *testing.T, panicked any) any {
	t.Helper()
	if p, is := panicked.(Panic); is {
		require.NotEmpty(t, p.Stack)
		return p.Value
	}
	return panicked
}

func panicFirst()  { panic("first") }
func panicSecond() { panic("second") }

// The first panic is passed on with its stack, through another Do as well.
func TestFirstPanicKeepsItsStack(t *testing.T) {
	r := run(2, func(i int) {
		if i == 0 {
			Do(4, func(j int) {
				switch j {
				case 0:
					runtime.Goexit()
				case 1:
					panicFirst()
				case 3:
					panicSecond()
				}
			})
		}
	})
	p, is := r.panicked.(Panic)
	require.True(t, is, "%v", r.panicked)
	require.Equal(t, "first", p.Value)
	require.Contains(t, string(p.Stack), "foreach.panicFirst")
	require.NotContains(t, string(p.Stack), "foreach.panicSecond")
}

// Neither the stack nor the number of goroutines grows with the calls that do
// not return.
func TestManyPanicsAndGoexits(t *testing.T) {
	const calls = 20_000
	depth := func() int { return len(slices.Collect(strings.Lines(stack()))) }
	before, deepest, most := runtime.NumGoroutine(), 0, 0
	r := run(calls, func(i int) {
		if i%1000 < 3 {
			deepest, most = max(deepest, depth()), max(most, runtime.NumGoroutine())
		}
		if i%3 == 0 {
			runtime.Goexit()
		}
		panic(i)
	})
	require.Equal(t, upTo(calls), r.calls)
	require.Equal(t, 1, valueOf(t, r.panicked))
	require.Less(t, deepest, 60, "lines of a stack")
	require.Less(t, most, before+50, "some goroutines may not have ended yet")
}

func stack() string {
	buffer := make([]byte, 1<<20)
	return string(buffer[:runtime.Stack(buffer, false)])
}
