// Package monitortest has what the tests need that look at a program as its operators do.
package monitortest

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Get returns what a page says. It leaves no connection open.
func Get(t testing.TB, url string) string {
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
