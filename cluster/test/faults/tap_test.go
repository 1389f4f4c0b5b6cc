package faults

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"regexp"
	"strconv"
	"sync"
)

// A ProtocolStep is a message that a node sends to a server.
type ProtocolStep string

// A node acquires a lease, renews it, and gives it back, and it acknowledges a
// message that a run has served.
const (
	Acquires     ProtocolStep = "acquires"
	Renews       ProtocolStep = "renews"
	Releases     ProtocolStep = "releases"
	Acknowledges ProtocolStep = "acknowledges"
)

// stepPatterns match the messages of the steps, in the text protocol of NATS.
var stepPatterns = map[ProtocolStep]*regexp.Regexp{
	Acquires:     regexp.MustCompile(`(?s)^HPUB \S+\.lease\.\d+ .*\{"node":"[^"]*"\}\r\n$`),
	Renews:       regexp.MustCompile(`(?s)^HPUB \S+\.lease\.\d+ .*"epoch":\d+\}\r\n$`),
	Releases:     regexp.MustCompile(`(?s)^HPUB \S+\.lease\.\d+ .*"released":true\}\r\n$`),
	Acknowledges: regexp.MustCompile(`^PUB \$JS\.ACK\.`),
}

// A Tap is what a worker connects to in place of a server. It passes everything
// on, and stops once, at the first message of a step.
type Tap struct {
	// Reached is closed at the step.
	Reached chan struct{}

	listener net.Listener
	server   string
	step     *regexp.Regexp
	sends    bool // the message before it stops
	once     sync.Once
	goOn     chan struct{}
}

// NewTap returns a tap of a server. It stops before the server has the message
// of the step, or with sends afterwards.
func NewTap(server string, step ProtocolStep, sends bool) (*Tap, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	t := &Tap{Reached: make(chan struct{}), goOn: make(chan struct{}), listener: l, server: server, step: stepPatterns[step], sends: sends}
	go t.accept()
	return t, nil
}

func (t *Tap) Address() string { return t.listener.Addr().String() }
func (t *Tap) Close()          { _ = t.listener.Close() }

// GoOn ends the stop, or prevents it. It must be called once.
func (t *Tap) GoOn() { close(t.goOn) }

func (t *Tap) accept() {
	for {
		worker, err := t.listener.Accept()
		if err != nil {
			return
		}
		go t.connect(worker)
	}
}

// connect passes on a connection's traffic until one side closes it.
func (t *Tap) connect(worker net.Conn) {
	defer worker.Close()
	server, err := net.Dial("tcp", t.server)
	if err != nil {
		return
	}
	defer server.Close()
	go func() {
		defer worker.Close()
		_, _ = io.Copy(worker, server)
	}()
	messages := bufio.NewReader(worker)
	for {
		m, err := readMessage(messages)
		if err != nil {
			return
		}
		if !t.step.Match(m) {
			_, err = server.Write(m)
		} else if t.sends {
			_, err = server.Write(m)
			t.stop()
		} else {
			t.stop()
			_, err = server.Write(m)
		}
		if err != nil {
			return
		}
	}
}

func (t *Tap) stop() {
	t.once.Do(func() {
		close(t.Reached)
		<-t.goOn
	})
}

// readMessage reads a line of the protocol, with the payload that it announces.
func readMessage(r *bufio.Reader) ([]byte, error) {
	line, err := r.ReadBytes('\n')
	if err != nil {
		return nil, err
	}
	fields := bytes.Fields(line)
	if len(fields) == 0 || string(fields[0]) != "PUB" && string(fields[0]) != "HPUB" {
		return line, nil
	}
	size, err := strconv.Atoi(string(fields[len(fields)-1]))
	if err != nil || size < 0 {
		return nil, fmt.Errorf("the size of a message: %q", line)
	}
	message := append(line, make([]byte, size+len("\r\n"))...)
	_, err = io.ReadFull(r, message[len(line):])
	return message, err
}
