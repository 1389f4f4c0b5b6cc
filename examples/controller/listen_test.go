package main

import (
	"io"
	"net/http"
	"os"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestListenShowsWhatIsStuck: the page names the object whose call heeds no timeout, with the
// worker that has it, and the metrics say how long that has been.
func TestListenShowsWhatIsStuck(t *testing.T) {
	command, lines := program(t, io.Discard, "-objects", "10", "-tenants", "1", "-flood", "100", "-fail", "0",
		"-duration", "1h", "-stuck", "1h", "-listen", "127.0.0.1:0")
	url := ""
	for url == "" && lines.Scan() {
		_, url, _ = strings.Cut(lines.Text(), "to be seen at ")
	}
	await(t, lines, stuckObject.String()) // the hook has told of it
	page := get(t, url+"?format=text")
	require.Regexp(t, `stuck: `+stuckObject.String()+` +[\d.]+ m?s +0 +[1-9]`, page)
	require.Regexp(t, `shardq_oldest_processing_seconds\{name="controller"\} 0?[.1-9]`, get(t, url+"metrics"))
	require.Contains(t, get(t, url+"debug/pprof/goroutine?debug=1"), "getStuck")
	require.Contains(t, get(t, url+"debug/vars"), `"controller":`)
	require.NoError(t, command.Process.Signal(syscall.SIGTERM))
	await(t, lines, "no more changes")
	require.NoError(t, command.Process.Signal(syscall.SIGTERM))
	await(t, lines, "stopped at once")
	require.Error(t, command.Wait())
}

func get(t *testing.T, url string) string {
	t.Helper()
	response, err := http.Get(url)
	require.NoError(t, err)
	defer http.DefaultClient.CloseIdleConnections()
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	require.Equal(t, http.StatusOK, response.StatusCode, string(text))
	return string(text)
}

func TestListenRefusesAnAddressThatIsTaken(t *testing.T) {
	code := run([]string{"-listen", "127.0.0.1:-1"}, make(chan os.Signal), io.Discard, io.Discard)
	require.Equal(t, exitUnusable, code)
}
