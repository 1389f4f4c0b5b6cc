// Package names has the names of a queue's streams and subjects. The subject of a
// key is shardq.<queue>.<kind>.<partition>.<token>.
package names

import (
	"encoding/base64"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"

	"github.com/cespare/xxhash/v2"
)

type (
	Queue string // the name of a queue
	Kind  string // what the messages of a subject are
)

const (
	Work     Kind = "work"     // the key is pending
	Delay    Kind = "delay"    // the key is delayed
	Due      Kind = "due"      // its delay has expired
	Failures Kind = "failures" // it has failed
	Dead     Kind = "dead"     // it was discarded
)

const MaxKey = 2048 // bytes of an encoding: a line of NATS's protocol has 4 KiB by default

var ErrKey = errors.New("cluster: the key cannot be stored")

var legal = regexp.MustCompile(`^[a-zA-Z0-9_-]{1,64}$`) // in a subject, and in the name of a stream

func (q Queue) Validate() error {
	if !legal.MatchString(string(q)) {
		return fmt.Errorf("the name %q: want 1 to 64 letters, digits, - or _", string(q))
	}
	return nil
}

func (q Queue) WorkStream(partition int) string { return q.stream(strconv.Itoa(partition)) }
func (q Queue) DelayedStream() string           { return q.stream("delayed") }
func (q Queue) StateStream() string             { return q.stream("state") }
func (q Queue) DeadStream() string              { return q.stream("dead") }
func (q Queue) stream(name string) string       { return "shardq-" + string(q) + "-" + name }

// Key returns the subject of one key for messages of a kind. Of returns a pattern
// for the subjects of all keys of a partition, and All one for all partitions.
func (q Queue) Key(kind Kind, partition int, token string) string {
	return q.join(string(kind), strconv.Itoa(partition), token)
}
func (q Queue) Of(kind Kind, partition int) string { return q.Key(kind, partition, "*") }
func (q Queue) All(kind Kind) string               { return q.join(string(kind), ">") }

// Lease and Member return a subject, and Leases and Members a pattern of all.
func (q Queue) Lease(partition int) string { return q.join("lease", strconv.Itoa(partition)) }
func (q Queue) Leases() string             { return q.join("lease", "*") }
func (q Queue) Member(id string) string    { return q.join("member", id) }
func (q Queue) Members() string            { return q.join("member", "*") }

// Settings and Cancel return subjects that the pattern of Leases includes:
// whoever hears of leases hears of the queue's settings, and of keys that were
// canceled.
func (q Queue) Settings() string        { return q.join("lease", "settings") }
func (q Queue) Cancel(id string) string { return q.join("lease", "cancel-"+id) }

func (q Queue) IsCancel(subject string) bool { return strings.HasPrefix(subject, q.Cancel("")) }

func (q Queue) MemberOf(subject string) (id string, ok bool) {
	return strings.CutPrefix(subject, q.join("member", ""))
}

func (q Queue) join(parts ...string) string {
	return "shardq." + string(q) + "." + strings.Join(parts, ".")
}

func Token(key []byte) (string, error) {
	if len(key) == 0 || len(key) > MaxKey {
		return "", fmt.Errorf("%w: its encoding has %d bytes: want 1 to %d", ErrKey, len(key), MaxKey)
	}
	return base64.RawURLEncoding.EncodeToString(key), nil
}

func Parse(subject string) (partition int, token string, key []byte, err error) {
	parts := strings.Split(subject, ".")
	if len(parts) != 5 {
		return 0, "", nil, fmt.Errorf("%w: %q is no subject of a key", ErrKey, subject)
	}
	token = parts[4]
	if partition, err = strconv.Atoi(parts[3]); err != nil {
		return 0, "", nil, fmt.Errorf("%w: the subject %q has no partition", ErrKey, subject)
	}
	if key, err = base64.RawURLEncoding.DecodeString(token); err != nil {
		return 0, "", nil, fmt.Errorf("%w: the subject %q has no key: %w", ErrKey, subject, err)
	}
	return partition, token, key, nil
}

func WithID(token, id string) string { return token + "." + id }

// SplitID separates a subject and the id of its message, if any.
func SplitID(subject string) (key, id string) {
	if strings.Count(subject, ".") < 5 {
		return subject, ""
	}
	last := strings.LastIndexByte(subject, '.')
	return subject[:last], subject[last+1:]
}

func Partition(key []byte, partitions int) int { return int(xxhash.Sum64(key) % uint64(partitions)) }
