package worker_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/worker"
)

// An inbox is a Source of the messages in a channel. A message that fails goes
// to the end of the channel.
type inbox struct {
	messages chan string
	last     atomic.Uint64
	open     sync.Map // the claims that have not ended, by their IDs
}

// ClaimBatch claims a message.
func (b *inbox) ClaimBatch(ctx context.Context, dst []worker.Claim[string]) (int, error) {
	select {
	case message, ok := <-b.messages:
		if !ok {
			return 0, shardq.ErrShutDown
		}
		token := worker.Token{ID: b.last.Add(1)}
		b.open.Store(token.ID, true)
		dst[0] = worker.NewClaim(message, 0, b, token)
		return 1, nil
	case <-ctx.Done():
		return 0, ctx.Err()
	}
}

// DoneClaim ends the claim of a message that was sent or discarded.
func (b *inbox) DoneClaim(message string, token worker.Token) error {
	if _, open := b.open.LoadAndDelete(token.ID); !open {
		return worker.ErrClaimEnded
	}
	return nil
}

// ReturnClaim ends the claim of a message that failed.
func (b *inbox) ReturnClaim(message string, token worker.Token, how worker.Return) error {
	if err := b.DoneClaim(message, token); err != nil {
		return err
	}
	b.messages <- message
	return nil
}

func (b *inbox) ClaimValid(token worker.Token) bool {
	_, open := b.open.Load(token.ID)
	return open
}

// ClaimFailures counts nothing, so every attempt is the first.
func (b *inbox) ClaimFailures(string) int { return 0 }

// A Pool processes the items of any Source: here, messages of a channel.
func ExampleSource() {
	b := &inbox{messages: make(chan string, 10)}
	for _, message := range []string{"a", "b", "c"} {
		b.messages <- message
	}
	ctx, stop := context.WithCancel(context.Background())
	calls := 0
	pool, err := worker.New(b, worker.Options[string]{
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
		OnError: func(_ context.Context, f worker.Failure[string]) { fmt.Println("failed", f.Item+":", f.Err) },
	})
	if err != nil {
		panic(err)
	}
	if err := pool.Run(ctx); err != nil {
		panic(err)
	}
	// Output:
	// sent a
	// failed b: no answer
	// sent c
	// sent b
}
