// Package foreach calls a function for each of some numbers, even if calls
// panic or end their goroutine.
package foreach

import "runtime/debug"

// A Panic is the first panic of a call, and its stack. [Do] panics with it.
type Panic struct {
	Value any
	Stack []byte
}

// panicOf must be called in the deferred function that recovered the value,
// where the stack still has the frames of the panic.
func panicOf(value any) *Panic {
	if p, is := value.(Panic); is {
		return &p
	}
	return &Panic{Value: value, Stack: debug.Stack()}
}

// Do calls do with 0 to n-1, in order, even if calls panic or end the goroutine.
// Then it panics with a [Panic] if a call has panicked, or ends the goroutine if
// a call has. A panic of the last call alone passes unchanged. The stack does not
// grow, and at most one goroutine is added at a time.
func Do(n int, do func(i int)) {
	next := 0
	defer func() {
		if next < n {
			l := &loop{next: next, n: n, do: do}
			if r := recover(); r != nil {
				l.fault = panicOf(r)
			}
			defer l.finish()
			for l.next < l.n {
				l.run()
			}
		}
	}()
	for next < n {
		i := next
		next++
		do(i)
	}
}

type loop struct {
	next, n int
	do      func(i int)
	fault   *Panic // the first
}

func (l *loop) run() {
	returned := false
	defer func() {
		if returned {
			return
		}
		if r := recover(); r != nil && l.fault == nil {
			l.fault = panicOf(r)
		}
	}()
	for l.next < l.n {
		l.next++
		l.do(l.next - 1)
	}
	returned = true
}

// finish is deferred. Nothing stops a call that ends its goroutine, so each
// later call that does the same gets a goroutine of its own to end.
func (l *loop) finish() {
	for l.next < l.n {
		over := make(chan struct{})
		go func() {
			defer close(over)
			for l.next < l.n {
				l.run()
			}
		}()
		<-over
	}
	if l.fault != nil {
		panic(*l.fault)
	}
}
