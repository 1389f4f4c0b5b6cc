package main

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"sync"
	"sync/atomic"
)

// An api sends requests to a server.
type api struct {
	address, token string
	client         *http.Client
}

// newAPI returns an api that trusts the certificates of a file.
func newAPI(address, certificates, token string) (*api, error) {
	pem, err := os.ReadFile(certificates)
	if err != nil {
		return nil, err
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	transport := &http.Transport{
		TLSClientConfig: &tls.Config{RootCAs: pool}, ForceAttemptHTTP2: true, MaxIdleConnsPerHost: goroutines,
	}
	return &api{address, token, &http.Client{Transport: transport}}, nil
}

// exchange sends a request, and returns the body of the answer.
func (a *api) exchange(ctx context.Context, method, path, body string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, method, a.address+path, bytes.NewReader([]byte(body)))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Content-Type", "application/json")
	if method == http.MethodGet {
		r.Header.Set("Accept", "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1,*/*")
	}
	if a.token != "" {
		r.Header.Set("Authorization", "Bearer "+a.token)
	}
	answer, err := a.client.Do(r)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode >= 300 {
		err = fmt.Errorf("%s %s: %s: %.300s", method, path, answer.Status, text)
	}
	return text, err
}

// A list has the metadata of objects.
type list struct {
	Metadata struct {
		RemainingItemCount int
	}
	Items []struct {
		Metadata struct {
			UID, Name       string
			OwnerReferences []struct {
				UID        string
				Controller bool
			}
		}
	}
}

// list returns the objects of a resource, of all namespaces. If limit is not 0,
// there are no more than that.
func (a *api) list(ctx context.Context, r resource, limit int) (l list, err error) {
	path := r.path("")
	if limit > 0 {
		path += fmt.Sprintf("?limit=%d", limit)
	}
	text, err := a.exchange(ctx, http.MethodGet, path, "")
	if err != nil {
		return l, err
	}
	return l, json.Unmarshal(text, &l)
}

// count returns the number of objects of a resource.
func (a *api) count(ctx context.Context, r resource) (int, error) {
	l, err := a.list(ctx, r, 1)
	return len(l.Items) + l.Metadata.RemainingItemCount, err
}

const goroutines = 32

// inParallel calls f for the numbers from 0 to n-1, in a few goroutines.
func inParallel(n int, f func(i int) error) error {
	var next atomic.Int64
	errs := make([]error, goroutines)
	var group sync.WaitGroup
	for g := range goroutines {
		group.Go(func() {
			for errs[g] == nil {
				i := int(next.Add(1)) - 1
				if i >= n {
					return
				}
				errs[g] = f(i)
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}
