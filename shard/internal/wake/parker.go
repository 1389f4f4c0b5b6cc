package wake

import "sync/atomic"

// A Parker blocks and wakes consumers. It is an eventcount with a throttle like
// that of the Go scheduler's worker threads (runtime/proc.go, "Worker thread
// parking/unparking"). There is one wake token, and the consumer that holds it
// is the one that is searching.
//
//	consumer                              producer
//	  Announce: parked++                    publish: set the shard's ready bit
//	  check: anything ready? → Withdraw     Wake: parked > 0?
//	  Block: receive the token                and none searching? → send the token
//	  search for an item
//	  StopSearching
//	  check: still anything ready? → Wake
//
// No wake-up is lost, because Go's atomics are sequentially consistent. Of
// "announce; check" and "publish; check", one side's check comes last and sees
// what the other did. If it is the producer's, and the token is out, there are
// two cases. A consumer holds the token, and will check again after clearing
// searching. Or the token is in the channel, and the next consumer to block
// receives it at once. Without the consumer's check, or the searcher's last
// check, an item could stay ready beside a parked consumer forever.
//
// The throttle matters: when each Add woke a consumer, producers spent their
// time in the scheduler, and the woken consumers found the item gone.
type Parker struct {
	parked    atomic.Int32 // the consumers between announcing and waking
	searching atomic.Bool  // the token is in the channel, or held by a consumer about to search
	// token has room for the one token, so that sending it never blocks. Its
	// receivers are the parked consumers, in order. The channel belongs to this
	// queue alone, so that a testing/synctest bubble can own it.
	token chan struct{}
}

func (p *Parker) Init() { p.token = make(chan struct{}, 1) }

// Wake wakes a parked consumer, unless one is searching already. It must be
// called after something was published, with no lock held.
func (p *Parker) Wake() {
	if p.parked.Load() > 0 {
		p.sendToken()
	}
}

func (p *Parker) sendToken() {
	if !p.searching.Load() && p.searching.CompareAndSwap(false, true) {
		p.token <- struct{}{}
	}
}

// WokenPending reports whether a consumer was sent the token, but is not
// searching.
func (p *Parker) WokenPending() bool { return p.searching.Load() && p.parked.Load() > 0 }

func (p *Parker) Parked() int { return int(p.parked.Load()) }

func (p *Parker) Announce() { p.parked.Add(1) }

// Withdraw ends an Announce, and is also called after a Block.
func (p *Parker) Withdraw() { p.parked.Add(-1) }

// Block blocks until the caller has the token, and has to search, or cancel is
// closed. In the latter case it owes nothing: a token that comes later stays in the
// channel. A nil cancel is never closed.
func (p *Parker) Block(cancel <-chan struct{}) (searcher bool) {
	if cancel == nil { // a plain receive is cheaper than a select
		<-p.token
		return true
	}
	select {
	case <-p.token:
		return true
	case <-cancel:
		return false
	}
}

// StopSearching must be followed by a check: what was published meanwhile was left
// to the caller.
func (p *Parker) StopSearching() { p.searching.Store(false) }
