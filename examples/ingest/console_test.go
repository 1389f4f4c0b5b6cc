package main

import (
	"bytes"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func newTestProgress(size int64) *progress {
	start := time.Now().Add(-time.Second)
	return &progress{start: start, size: size, pending: func() int { return 0 }}
}

// keys returns a function that returns a number of pending keys.
func keys(n int) func() int { return func() int { return n } }

func TestConsolePrintsLinesWhenPiped(t *testing.T) {
	var out bytes.Buffer
	p := newTestProgress(100)
	p.events.Store(1_234_567)
	p.retries.Store(3)
	p.pending = keys(1)
	newConsole(&out).update(p)
	require.Regexp(t, `^ingest: 1\.2M events, \S+/s, 0 writes, 1 keys pending, 3 retries\n$`, out.String())
}

func TestConsoleShowsABarOnATerminal(t *testing.T) {
	var out bytes.Buffer
	c := &console{writer: &out, terminal: true}
	p := newTestProgress(200)
	p.bytes.Store(100)
	c.update(p)
	require.Contains(t, out.String(), "50%")
	require.Contains(t, out.String(), "reading, 0 events")
	p.pending = keys(4)
	p.startDrain()
	p.pending = keys(3)
	out.Reset()
	c.update(p)
	require.Contains(t, out.String(), "25%", "the drain has a bar of its own")
	require.Contains(t, out.String(), "draining, 3 keys to go")
	p.pending = keys(0)
	c.update(p)
	require.NotContains(t, out.String(), "100%", "a full bar would be shown no more")
}

func TestConsoleShowsABarWithoutAnEnd(t *testing.T) {
	var out bytes.Buffer
	c := &console{writer: &out, terminal: true}
	p := newTestProgress(0)
	p.bytes.Store(100)
	c.update(p)
	require.EqualValues(t, 100, c.bar.State().CurrentBytes)
	c.notice("hello")
	require.Contains(t, out.String(), "0 events")
	require.Contains(t, out.String(), "hello\n")
}

func TestConsoleKeepsNoticesApartFromTheBar(t *testing.T) {
	var out bytes.Buffer
	c := &console{writer: &out, terminal: true}
	c.update(newTestProgress(200))
	out.Reset()
	c.notice("hello")
	require.Regexp(t, `^\r +\ringest: hello\n$`, out.String())
}
