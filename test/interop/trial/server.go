//go:build trial

package main

import (
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/go-logr/logr"
	"go.etcd.io/etcd/server/v3/embed"
	servertesting "k8s.io/apiextensions-apiserver/pkg/cmd/server/testing"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	"k8s.io/klog/v2"
)

type server struct {
	directory, kubeconfig string

	etcd   *embed.Etcd
	api    servertesting.TestServer
	client *rest.RESTClient
}

func startServer() (*server, error) {
	klog.SetLogger(logr.Discard())
	directory, err := os.MkdirTemp("", "shardq-trial-")
	if err != nil {
		return nil, err
	}
	s := &server{directory: directory, kubeconfig: filepath.Join(directory, "kubeconfig")}
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
	// The server never asks another for its users: the loopback token may do all.
	if err := os.WriteFile(s.kubeconfig, []byte(noKubeconfig), 0o600); err != nil {
		return nil, err
	}
	return s, s.startAPI()
}

const noKubeconfig = `apiVersion: v1
kind: Config
clusters: [{name: none, cluster: {server: "http://127.0.0.1:1"}}]
contexts: [{name: none, context: {cluster: none, user: none}}]
current-context: none
users: [{name: none, user: {username: none, password: none}}]
`

func (s *server) startAPI() (err error) {
	s.api, err = servertesting.StartTestServer(silent{}, nil, []string{
		"--etcd-servers", "http://" + s.etcd.Clients[0].Addr().String(),
		"--etcd-prefix", "/trial",
		"--authentication-skip-lookup",
		"--authentication-kubeconfig", s.kubeconfig,
		"--authorization-kubeconfig", s.kubeconfig,
		"--kubeconfig", s.kubeconfig,
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
	config.NegotiatedSerializer = scheme.Codecs
	s.client, err = rest.UnversionedRESTClientFor(config)
	return err
}

func (s *server) address() *url.URL {
	return &url.URL{Scheme: "https", Host: strings.TrimPrefix(s.api.ClientConfig.Host, "https://")}
}

func (s *server) stop() {
	s.api.TearDownFn()
	s.etcd.Close()
	_ = os.RemoveAll(s.directory)
}

type silent struct{}

func (silent) Errorf(string, ...any)             {}
func (silent) Logf(string, ...any)               {}
func (silent) Fatalf(format string, args ...any) { panic(fmt.Sprintf(format, args...)) }
