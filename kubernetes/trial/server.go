package main

import (
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/server/v3/embed"
	servertesting "k8s.io/apiextensions-apiserver/pkg/cmd/server/testing"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

// A server is an API server for custom resources, over an etcd, both in this
// process. There are no built-in resources.
type server struct {
	directory string
	etcd      *embed.Etcd
	api       servertesting.TestServer
	client    *http.Client
}

// startServer starts etcd and the API server.
func startServer() (*server, error) {
	klog.SetLogger(logr.Discard())
	directory, err := os.MkdirTemp("", "shardq-trial-")
	if err != nil {
		return nil, err
	}
	s := &server{directory: directory}
	config := embed.NewConfig()
	config.Dir = filepath.Join(directory, "etcd")
	config.LogLevel = "fatal"
	config.WarningUnaryRequestDuration = time.Minute
	config.QuotaBackendBytes = 8 << 30
	config.UnsafeNoFsync = true // nothing has to survive the trial
	any := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.ListenPeerUrls = any, any
	if s.etcd, err = embed.StartEtcd(config); err != nil {
		return nil, fmt.Errorf("starting etcd: %w", err)
	}
	<-s.etcd.Server.ReadyNotify()
	// The server wants the address of another that knows its users. It never
	// asks: a client with the loopback token may do all.
	if err := os.WriteFile(s.kubeconfig(), []byte(noKubeconfig), 0o600); err != nil {
		return nil, err
	}
	return s, s.startAPI()
}

func (s *server) kubeconfig() string { return filepath.Join(s.directory, "kubeconfig") }

const noKubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
current-context: none
users: [{name: none, user: {username: none, password: none}}]
`

// startAPI starts the API server over the etcd that runs.
func (s *server) startAPI() (err error) {
	s.api, err = servertesting.StartTestServer(silent{}, nil, []string{
		"--etcd-servers", "http://" + s.etcd.Clients[0].Addr().String(),
		"--etcd-prefix", "/trial",
		"--authentication-skip-lookup",
		"--authentication-kubeconfig", s.kubeconfig(),
		"--authorization-kubeconfig", s.kubeconfig(),
		"--kubeconfig", s.kubeconfig(),
		"--enable-priority-and-fairness=false",
		"--max-requests-inflight=2000", "--max-mutating-requests-inflight=2000",
		"--disable-admission-plugins",
		"NamespaceLifecycle,MutatingAdmissionWebhook,ValidatingAdmissionWebhook,ValidatingAdmissionPolicy,MutatingAdmissionPolicy",
	}, nil)
	if err != nil {
		return fmt.Errorf("starting the API server: %w", err)
	}
	config := rest.CopyConfig(s.api.ClientConfig)
	config.QPS = -1
	s.client, err = rest.HTTPClientFor(config)
	return err
}

// address returns the URL of the API server.
func (s *server) address() *url.URL {
	u, err := url.Parse(s.api.ClientConfig.Host)
	if err != nil || u.Host == "" {
		u = &url.URL{Scheme: "https", Host: s.api.ClientConfig.Host}
	}
	return u
}

// stopAPI stops the API server. Its etcd runs on.
func (s *server) stopAPI() { s.api.TearDownFn() }

func (s *server) stop() {
	s.stopAPI()
	s.etcd.Close()
	_ = os.RemoveAll(s.directory)
}

// silent drops the log of the API server's start.
type silent struct{}

func (silent) Errorf(string, ...any)             {}
func (silent) Logf(string, ...any)               {}
func (silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
