package shardq_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/shardq/shardq"
)

// An inbox is a Source of messages that come over a channel. One that fails goes to the end
// of the channel.
type inbox struct {
	messages chan string
	last     atomic.Uint64
	open     sync.Map // the claims that have not ended, by their IDs
}

// ClaimBatch hands out a message.
func (b *inbox) ClaimBatch(ctx context.Context, dst []shardq.Claim[string]) (int, error) {
	select {
	case message, ok := <-b.messages:
		if !ok {
			return 0, shardq.ErrShutDown
		}
		token := shardq.ClaimToken{ID: b.last.Add(1)}
		b.open.Store(token.ID, true)
		dst[0] = shardq.NewClaim(message, 0, b, token)
		return 1, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// DoneClaim is called for a message that is through, or given up.
func (b *inbox) DoneClaim(message string, token shardq.ClaimToken) error {
	if _, open := b.open.LoadAndDelete(token.ID); !open {
		return shardq.ErrClaimEnded
	}
	return nil
}

// ReturnClaim is called for a message that is to come again.
func (b *inbox) ReturnClaim(message string, token shardq.ClaimToken, how shardq.ClaimReturn) error {
	if err := b.DoneClaim(message, token); err != nil {
		return err
	}
	b.messages <- message
	return nil
}

func (b *inbox) ClaimValid(token shardq.ClaimToken) bool {
	_, open := b.open.Load(token.ID)
	return open
}

// ClaimFailures counts nothing: every attempt is the first.
func (b *inbox) ClaimFailures(string) int { return 0 }

// Workers process what comes from elsewhere, with all that they do for a queue: here
// messages of a channel.
func ExampleSource() {
	b := &inbox{messages: make(chan string, 10)}
	for _, message := range []string{"a", "b", "c"} {
		b.messages <- message
	}
	ctx, stop := context.WithCancel(context.Background())
	calls := 0
	workers, err := shardq.NewSourceWorkers(b, shardq.WorkerOptions[string]{
		Workers: 1,
		Handle: func(ctx context.Context, message string) error {
			if calls++; calls == 4 {
				stop()
			}
			if calls == 2 {
				return errors.New("no answer")
			}
			fmt.Println("sent", message)
			return nil
		},
		OnError: func(f shardq.Failure[string]) { fmt.Println("failed", f.Item+":", f.Err) },
	})
	if err != nil {
		panic(err)
	}
	if err := workers.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// sent a
	// failed b: no answer
	// sent c
	// sent b
}
