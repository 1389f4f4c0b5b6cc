package main

import (
	"io"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/examples/internal/monitor/monitortest"
)

// TestListenShowsWhatIsStuck checks that the page names the object whose call
// ignores its timeout, and its worker, and that the metrics have the time.
func TestListenShowsWhatIsStuck(t *testing.T) {
	command, lines := program(t, io.Discard, "-objects", "10", "-tenants", "1", "-flood", "100", "-fail", "0",
		"-duration", "1h", "-stuck", "1h", "-listen", "127.0.0.1:0")
	url := ""
	for url == "" && lines.Scan() {
		_, url, _ = strings.Cut(lines.Text(), "live page at ")
	}
	await(t, lines, stuckObject.String()) // the hook has logged it
	page := monitortest.Get(t, url+"?format=text")
	require.Regexp(t, `stuck: `+stuckObject.String()+` +[\d.]+ m?s +1 +[1-9]`, page)
	require.Regexp(t, `shardq_oldest_processing_seconds\{name="controller"\} 0?[.1-9]`, monitortest.Get(t, url+"metrics"))
	require.Contains(t, monitortest.Get(t, url+"debug/pprof/goroutine?debug=1"), "getStuck")
	require.Contains(t, monitortest.Get(t, url+"debug/vars"), `"controller":`)
	require.NoError(t, command.Process.Signal(syscall.SIGTERM))
	await(t, lines, "no more changes")
	require.NoError(t, command.Process.Signal(syscall.SIGTERM))
	await(t, lines, "stopped at once")
	require.Error(t, command.Wait())
}

func TestListenRefusesAnAddressThatIsTaken(t *testing.T) {
	code := run([]string{"-listen", "127.0.0.1:-1"}, make(chan os.Signal), io.Discard, io.Discard)
	require.Equal(t, exitUnusable, code)
}
