package cluster

import (
	"context"
	"fmt"
	"strings"

	"github.com/nats-io/nats.go"
)

// Headers returns the headers of the messages that the run serves, oldest
// first: what [Options].Inject wrote into them, beside those of the servers. A
// run that is repeated gets them again. Do not change them.
//
// Without [Options].Values there is one message, that of the last add before
// the run. The adds that it replaced have left no headers.
func (c Claim[K]) Headers() []nats.Header {
	headers := make([]nats.Header, len(c.run.messages))
	for i, m := range c.run.messages {
		headers[i] = m.Message.Headers()
	}
	return headers
}

// fill writes the user's headers and a value into the message of an add. It
// returns an error if the servers could not store what the message may become:
// one with a delay, or a dead letter.
func (n *Node[K]) fill(ctx context.Context, m *nats.Msg, value []byte) error {
	if n.options.Inject != nil {
		written := nats.Header{}
		n.options.Inject(ctx, written)
		carry(m.Header, written)
	}
	m.Data = value
	// A delay names the subject twice.
	size, limit := m.Size()+2*len(m.Subject)+maxLetter, n.connection.MaxPayload()
	if int64(size) > limit {
		return fmt.Errorf("cluster: add: %w: up to %d bytes with headers, and the servers take %d", nats.ErrMaxPayload, size, limit)
	}
	return nil
}

// carry copies the headers that are the user's.
func carry(to, from nats.Header) {
	for name, values := range from {
		if !isReserved(name) {
			to[name] = values
		}
	}
}

// isReserved reports whether a header is one of the servers, or of the cluster.
func isReserved(name string) bool {
	name = strings.ToLower(name)
	return strings.HasPrefix(name, "nats-") || strings.HasPrefix(name, "shardq-")
}
