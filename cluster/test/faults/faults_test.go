//go:build unix

package faults

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/shardq/shardq/cluster"
	"github.com/shardq/shardq/cluster/clustertest"
)

var (
	keys   = flag.Int("keys", 40, "the number of keys of each test")
	rounds = flag.Int("rounds", 3, "how often each key is added")
)

// workerVariable makes the test's binary a worker.
const workerVariable = "SHARDQ_FAULTS_WORKER"

func TestMain(m *testing.M) {
	text := os.Getenv(workerVariable)
	if text == "" {
		os.Exit(m.Run())
	}
	var s Setting
	err := json.Unmarshal([]byte(text), &s)
	if err == nil {
		ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
		defer stop()
		err = Work(ctx, s)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// A cell is servers, worker processes, a sink, and a node that only adds.
type cell struct {
	t       *testing.T
	servers *clustertest.Servers
	sink    *Sink
	history *History
	node    *cluster.Node[string]
	setting Setting
	workers []*exec.Cmd
}

func newCell(t *testing.T, servers int, lease time.Duration) *cell {
	c := &cell{t: t, servers: clustertest.Start(t, servers), history: &History{}}
	var err error
	c.sink, err = Listen(c.history)
	require.NoError(t, err)
	t.Cleanup(c.sink.Close)
	c.setting = Setting{Servers: c.servers.URLs(), Sink: c.sink.Address(), Replicas: servers, Workers: 4, Lease: lease, Verbose: *verbose}
	c.node, err = cluster.Join(t.Context(), c.setting.Options())
	require.NoError(t, err)
	t.Cleanup(func() { _ = c.node.Close() })
	return c
}

// spawn starts a worker process. It is killed at the end of the test.
func (c *cell) spawn(s Setting) *exec.Cmd {
	text, err := json.Marshal(s)
	require.NoError(c.t, err)
	self, err := os.Executable()
	require.NoError(c.t, err)
	w := exec.Command(self)
	w.Env = append(os.Environ(), workerVariable+"="+string(text))
	w.Stdout, w.Stderr = os.Stderr, os.Stderr
	require.NoError(c.t, w.Start())
	c.t.Cleanup(func() { _ = w.Process.Kill(); _ = w.Wait() })
	c.workers = append(c.workers, w)
	return w
}

func (c *cell) spawnMany(n int) {
	for range n {
		c.spawn(c.setting)
	}
}

// spawnBehind starts a worker process that reaches the servers at another
// address.
func (c *cell) spawnBehind(servers string) *exec.Cmd {
	behind := c.setting
	behind.Servers = servers
	return c.spawn(behind)
}

// add adds all keys, several times, until each add has succeeded. It returns
// when it has begun, and wait waits for its end.
func (c *cell) add() (wait func()) {
	var adding sync.WaitGroup
	for lane := range 4 {
		adding.Go(func() {
			for range *rounds {
				for i := lane; i < *keys; i += 4 {
					c.addOne(fmt.Sprintf("key %d", i))
				}
			}
		})
	}
	return adding.Wait
}

// attemptTime is how long package cluster waits for the answer of an add before
// it sends the add again.
const attemptTime = 2 * time.Second

func (c *cell) addOne(key string) {
	for deadline := time.Now().Add(*patience); time.Now().Before(deadline); {
		call, began := c.history.Now(), time.Now()
		err := c.node.Add(c.t.Context(), key)
		// An add whose answer is lost is repeated within Add, and so stored
		// more than once, perhaps.
		for range time.Since(began) / attemptTime {
			c.history.Added(key, call, forever)
		}
		if err == nil {
			c.history.Added(key, call, c.history.Now())
			return
		}
		c.history.Added(key, call, forever)
	}
	c.t.Errorf("%s was not added within %v", key, *patience)
}

// check waits until nothing is pending, and checks the history.
func (c *cell) check() {
	require.NoError(c.t, c.verdict())
}

func (c *cell) verdict() error {
	var last error
	for deadline := time.Now().Add(*patience); time.Now().Before(deadline); time.Sleep(5 * tick) { // no one tells
		s, err := c.node.Status(c.t.Context())
		if last = err; err == nil && s.Pending == 0 {
			return c.history.Check()
		}
		if err == nil {
			last = fmt.Errorf("%d keys are pending: %+v", s.Pending, s)
		}
	}
	return fmt.Errorf("after %v: %w", *patience, last)
}

func (c *cell) send(process int, s syscall.Signal) {
	require.NoError(c.t, syscall.Kill(process, s))
}

// addAndHold begins to add all keys. It returns the next run that comes to a
// step, which is held there, and wait of add.
func (c *cell) addAndHold(step Step) (r Run, h *Hold, wait func()) {
	h = c.sink.HoldNext(step)
	wait = c.add()
	return receive(c.t, h.Held), h, wait
}

// waitForAnother waits until a later owner has written the key of a run.
func (c *cell) waitForAnother(r Run) {
	c.waitForRun(func(w *Run) bool { return w.Key == r.Key && w.Epoch > r.Epoch && w.wrote != 0 })
}

func (c *cell) waitForRun(is func(*Run) bool) {
	eventually(c.t, func() bool { return c.history.Find(is) != nil })
}

// TestAKeyIsAddedInFlight checks an add whose message the owner has taken
// before the run ends that does not serve it.
func TestAKeyIsAddedInFlight(t *testing.T) {
	c := newCell(t, 1, shortLease)
	c.spawn(c.setting)
	c.add()()
	c.check() // nothing else is on its way
	h := c.sink.HoldNext(Writes)
	c.addOne("a")
	victim := receive(c.t, h.Held)
	neighbor := c.history.Find(func(r *Run) bool { return r.Partition == victim.Partition }).Key
	next := c.sink.HoldNext(Begins)
	c.addOne("a")
	c.addOne(neighbor)
	require.Equal(t, neighbor, receive(c.t, next.Held).Key, "it came after the message of a")
	again := c.sink.HoldNext(Begins)
	next.Release()
	h.Release()
	require.Equal(t, "a", receive(c.t, again.Held).Key)
	_, err := c.node.Status(t.Context()) // by now the servers have what the run has acknowledged
	require.NoError(t, err)
	c.send(victim.Process, syscall.SIGKILL)
	again.Release()
	c.spawn(c.setting)
	c.waitForAnother(victim)
	c.check()
}

// TestNoLeaseIsLost checks that nobody loses a lease because the requests of a node
// take a third of a second, or the clock of one jumps.
func TestNoLeaseIsLost(t *testing.T) {
	for name, spawn := range map[string]func(c *cell){
		"slow": func(c *cell) {
			l := c.newLink()
			l.spoil("latency", `{"latency": 100, "jitter": 50}`)
			c.spawnBehind(l.url())
		},
		"jumps": func(c *cell) {
			jumping := c.setting
			jumping.Jumps = true
			c.spawn(jumping)
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCell(t, 1, longLease)
			spawn(c)
			c.spawn(c.setting)
			c.add()()
			c.check()
			require.Zero(t, c.sink.Refused.Load())
			require.Empty(t, c.sink.Canceled)
		})
	}
}

func TestAWorkerIsLostAtEachStep(t *testing.T) {
	for _, step := range []Step{Begins, Writes, Wrote} {
		for _, freezes := range []bool{true, false} {
			t.Run(fmt.Sprintf("%s/freezes=%t", step, freezes), func(t *testing.T) {
				t.Parallel()
				c := newCell(t, 1, shortLease)
				c.spawnMany(3)
				victim, h, wait := c.addAndHold(step)
				if !freezes {
					c.send(victim.Process, syscall.SIGKILL)
					h.Release()
				} else {
					c.send(victim.Process, syscall.SIGSTOP)
				}
				wait()
				c.waitForAnother(victim)
				if freezes {
					c.send(victim.Process, syscall.SIGCONT)
					h.Release()
					if step != Wrote {
						eventually(t, func() bool { return c.sink.Refused.Load() > 0 })
					}
					c.add()() // it does not come back as an owner of an old epoch
				}
				c.check()
			})
		}
	}
}

func TestWorkersComeAndGo(t *testing.T) {
	c := newCell(t, 1, longLease)
	c.spawn(c.setting)
	for range 3 {
		c.spawn(c.setting)
		_, h, wait := c.addAndHold(Begins)
		c.send(c.workers[0].Process.Pid, syscall.SIGTERM) // a clean leave
		h.Release()
		require.NoError(t, c.workers[0].Wait())
		c.workers = c.workers[1:]
		wait()
	}
	c.check()
	require.Zero(t, c.sink.Refused.Load(), "no one was late")
	require.Empty(t, c.sink.Canceled, "each handler could finish")
}

func TestServersAreLost(t *testing.T) {
	for name, fault := range map[string]func(t *testing.T, s *clustertest.Servers){
		"leader": func(t *testing.T, s *clustertest.Servers) {
			leader, ok := s.Leader("shardq-faults-0")
			require.True(t, ok)
			s.Stop(leader)
			require.NoError(t, s.Restart(leader))
		},
		"majority": func(t *testing.T, s *clustertest.Servers) {
			s.Stop(0)
			s.Stop(1)
			require.NoError(t, s.RestartAll())
		},
		"all": func(t *testing.T, s *clustertest.Servers) {
			s.Close()
			require.NoError(t, s.RestartAll())
		},
	} {
		t.Run(name, func(t *testing.T) {
			c := newCell(t, 3, shortLease)
			c.spawnMany(2)
			_, h, wait := c.addAndHold(Writes)
			fault(t, c.servers)
			h.Release()
			wait()
			c.check()
		})
	}
}

// TestPlantedSinkWithoutFences plants a fault into the sink: it does not check the
// epoch, and accepts the writes of all. The history reveals it.
func TestPlantedSinkWithoutFences(t *testing.T) {
	c := newCell(t, 1, shortLease)
	c.sink.Unfenced = true
	c.spawnMany(2)
	victim, h, wait := c.addAndHold(Writes)
	c.send(victim.Process, syscall.SIGSTOP)
	wait()
	c.waitForAnother(victim)
	h.Release() // the server's side of the write, which the process has sent
	c.waitForRun(func(r *Run) bool { return r.Key == victim.Key && r.Epoch == victim.Epoch && r.wrote != 0 })
	c.send(victim.Process, syscall.SIGCONT)
	require.ErrorContains(t, c.verdict(), "was accepted after one of epoch")
}
