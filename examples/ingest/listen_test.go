package main

import (
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/examples/internal/monitor/monitortest"
)

// TestListenShowsTheQueueWhileItWorks checks that events from an open pipe are
// written, and that the page and the metrics show it.
func TestListenShowsTheQueueWhileItWorks(t *testing.T) {
	input, output := io.Pipe()
	shown := make(chan string, 1)
	stderr := &watcher{text: "/metrics\n"}
	stderr.call = func() { shown <- stderr.all.String() }
	over := make(chan int)
	go func() {
		over <- run([]string{"-input", "-", "-listen", "127.0.0.1:0"}, process{input, io.Discard, stderr, nil})
	}()
	_, url, _ := strings.Cut(<-shown, "live page at ")
	url, _, _ = strings.Cut(url, " ")
	_, err := io.WriteString(output, "a\nb\na\n")
	require.NoError(t, err)
	require.Eventually(t, func() bool {
		return strings.Contains(monitortest.Get(t, url+"metrics"), `workqueue_work_duration_seconds_count{name="ingest"} 2`) ||
			strings.Contains(monitortest.Get(t, url+"metrics"), `workqueue_work_duration_seconds_count{name="ingest"} 3`)
	}, time.Minute, time.Millisecond)
	require.Contains(t, monitortest.Get(t, url+"?format=text"), "ingest: running")
	require.NoError(t, output.Close())
	require.Equal(t, exitProven, <-over)
	_, err = http.Get(url)
	require.Error(t, err, "the server ends with the program")
}

func TestListenRefusesAnInvalidAddress(t *testing.T) {
	o := ingest("a\n", "-input", "-", "-listen", "127.0.0.1:-1")
	require.Equal(t, exitUnusable, o.code)
	require.Contains(t, o.stderr, "-listen")
}
