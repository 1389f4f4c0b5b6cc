// Package monitortest helps tests that read the pages of a program as operators
// do.
package monitortest

import (
	"io"
	"net/http"
	"testing"

	"github.com/stretchr/testify/require"
)

// Get returns the body of a page. It leaves no connection open.
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
