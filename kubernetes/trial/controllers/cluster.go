package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"os"
	"path/filepath"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	"k8s.io/client-go/util/cert"
	"k8s.io/client-go/util/keyutil"
)

// A cluster is an etcd, in this process, and a kube-apiserver.
type cluster struct {
	directory string
	etcd      *embed.Etcd
	apiServer *process
	api       *api
}

// The tokens of this program and of kube-controller-manager.
const (
	adminToken   = "admin"
	managerToken = "manager"
)

// startCluster starts a cluster without objects.
func startCluster(ctx context.Context, dir, logs string) (c *cluster, err error) {
	c = &cluster{}
	defer func() {
		if err != nil {
			c.stop()
		}
	}()
	if c.directory, err = os.MkdirTemp("", "shardq-controllers-"); err != nil {
		return c, err
	}
	if err := c.writeKeys(); err != nil {
		return c, err
	}
	if err := c.startEtcd(); err != nil {
		return c, fmt.Errorf("starting etcd: %w", err)
	}
	return c, c.startAPIServer(ctx, filepath.Join(binaries(dir, "client-go"), apiServer), logs)
}

// path returns the path of a file of the cluster.
func (c *cluster) path(name string) string { return filepath.Join(c.directory, name) }

// writeKeys writes the certificate of kube-apiserver, the key of service
// accounts, and the tokens.
func (c *cluster) writeKeys() error {
	certificate, key, err := cert.GenerateSelfSignedCertKey("127.0.0.1", []net.IP{net.IPv4(127, 0, 0, 1)}, nil)
	if err != nil {
		return err
	}
	accounts, err := keyutil.MakeEllipticPrivateKeyPEM()
	if err != nil {
		return err
	}
	tokens := adminToken + ",admin,admin,system:masters\n" +
		managerToken + ",system:kube-controller-manager,manager\n"
	return errors.Join(
		os.WriteFile(c.path("server.crt"), certificate, 0o600), os.WriteFile(c.path("server.key"), key, 0o600),
		os.WriteFile(c.path("accounts.key"), accounts, 0o600), os.WriteFile(c.path("tokens"), []byte(tokens), 0o600))
}

func (c *cluster) startEtcd() (err error) {
	config := embed.NewConfig()
	config.Dir = c.path("etcd")
	config.LogLevel = "fatal"
	config.WarningUnaryRequestDuration = time.Minute
	config.QuotaBackendBytes = 8 << 30
	config.UnsafeNoFsync = true // nothing has to survive the trial
	any := []url.URL{{Scheme: "http", Host: "127.0.0.1:0"}}
	config.ListenClientUrls, config.ListenPeerUrls = any, any
	if c.etcd, err = embed.StartEtcd(config); err != nil {
		return err
	}
	<-c.etcd.Server.ReadyNotify()
	return nil
}

func (c *cluster) startAPIServer(ctx context.Context, program, logs string) error {
	port, err := freePort()
	if err != nil {
		return err
	}
	if c.api, err = newAPI("https://127.0.0.1:"+port, c.path("server.crt"), adminToken); err != nil {
		return err
	}
	c.apiServer, err = startProcess(ctx, program, filepath.Join(logs, apiServer+".log"),
		"--bind-address=127.0.0.1", "--secure-port="+port, "--cert-dir="+c.directory,
		"--tls-cert-file="+c.path("server.crt"), "--tls-private-key-file="+c.path("server.key"),
		"--etcd-servers=http://"+c.etcd.Clients[0].Addr().String(),
		"--token-auth-file="+c.path("tokens"), "--authorization-mode=AlwaysAllow",
		"--service-account-issuer=https://kubernetes.default.svc",
		"--service-account-key-file="+c.path("accounts.key"),
		"--service-account-signing-key-file="+c.path("accounts.key"),
		"--service-cluster-ip-range=10.0.0.0/24")
	if err != nil {
		return err
	}
	return c.apiServer.ready(ctx, func(ctx context.Context) error {
		_, err := c.api.exchange(ctx, "GET", "/readyz", "")
		return err
	})
}

// A manager is a kube-controller-manager.
type manager struct {
	*process
	api *api // its own server, which has its metrics
}

// startManager starts the kube-controller-manager with a queue, and waits until
// its controllers run.
func (c *cluster) startManager(ctx context.Context, o options, queue, logs string) (*manager, error) {
	kubeconfig := fmt.Sprintf(`apiVersion: v1
kind: Config
clusters: [{name: trial, cluster: {server: %q, certificate-authority: %q}}]
contexts: [{name: trial, context: {cluster: trial, user: manager}}]
current-context: trial
users: [{name: manager, user: {token: %q}}]
`, c.api.address, c.path("server.crt"), managerToken)
	if err := os.WriteFile(c.path("kubeconfig"), []byte(kubeconfig), 0o600); err != nil {
		return nil, err
	}
	port, err := freePort()
	if err != nil {
		return nil, err
	}
	m := &manager{}
	if m.api, err = newAPI("https://127.0.0.1:"+port, c.path("server.crt"), ""); err != nil {
		return nil, err
	}
	m.process, err = startProcess(ctx, filepath.Join(binaries(o.dir, queue), controllerManager),
		filepath.Join(logs, controllerManager+".log"),
		"--kubeconfig="+c.path("kubeconfig"), "--leader-elect=false",
		"--bind-address=127.0.0.1", "--secure-port="+port,
		"--tls-cert-file="+c.path("server.crt"), "--tls-private-key-file="+c.path("server.key"),
		"--authorization-always-allow-paths=/healthz,/metrics",
		"--root-ca-file="+c.path("server.crt"),
		"--service-account-private-key-file="+c.path("accounts.key"),
		fmt.Sprintf("--kube-api-qps=%d", o.qps), fmt.Sprintf("--kube-api-burst=%d", 2*o.qps))
	if err != nil {
		return nil, err
	}
	err = m.ready(ctx, func(ctx context.Context) error {
		_, err := m.api.exchange(ctx, "GET", "/healthz", "")
		return err
	})
	if err != nil {
		m.stop()
	}
	return m, err
}

func (c *cluster) stop() {
	if c.apiServer != nil {
		c.apiServer.stop()
	}
	if c.etcd != nil {
		c.etcd.Close()
	}
	if c.directory != "" {
		_ = os.RemoveAll(c.directory)
	}
}
