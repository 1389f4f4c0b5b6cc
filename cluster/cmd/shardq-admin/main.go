// Command shardq-admin looks after a cluster's queue of strings. Its commands are
//
//	status                what the queue has, as JSON
//	keys [KEY ...]        lists keys that are pending or delayed
//	cancel KEY ...        removes them
//	dead [KEY ...]        lists dead letters
//	revive KEY ... | all  adds their keys again
//	forget KEY ... | all  removes letters
//	pause [GROUP ...]     pauses groups, or the queue, on all nodes
//	resume [GROUP ...]    ends the pauses
//	rate N [GROUP ...]    hands out N keys a second on all nodes together, or with 0 any number
//	update                gives a running queue the -replicas, -max-pending and -max-dead
//
// For example:
//
//	shardq-admin -servers nats://a.example.com -name invoices revive invoice/17
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/shardq/shardq"
	"github.com/shardq/shardq/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "shardq-admin:", err)
		}
		os.Exit(1)
	}
}

// A call has what a command needs. Arguments come after its name.
type call struct {
	node      *cluster.Node[string]
	arguments []string
	out       io.Writer
}

// stored shows the keys of any codec as the servers have them.
type stored struct{}

func (stored) Name() string                       { return "" }
func (stored) Encode(key string) ([]byte, error)  { return []byte(key), nil }
func (stored) Decode(data []byte) (string, error) { return string(data), nil }

type command struct {
	least, most int // arguments; a most of -1 is any number
	do          func(ctx context.Context, c call) error
}

var commands = map[string]command{
	"status": {0, 0, status},
	"keys":   {0, -1, listKeys},
	"cancel": {1, -1, cancel},
	"dead":   {0, -1, listDead},
	"revive": {1, -1, func(ctx context.Context, c call) error { return each(ctx, c, "revive", c.node.Revive) }},
	"forget": {1, -1, func(ctx context.Context, c call) error { return each(ctx, c, "forget", c.node.Forget) }},
	"pause":  {0, -1, func(ctx context.Context, c call) error { return pause(ctx, c, true) }},
	"resume": {0, -1, func(ctx context.Context, c call) error { return pause(ctx, c, false) }},
	"rate":   {1, -1, rate},
	"update": {0, 0, func(_ context.Context, c call) error { _, err := fmt.Fprintln(c.out, "updated"); return err }}, // by Join
}

func run(ctx context.Context, arguments []string, out io.Writer) error {
	var o, other cluster.Options[string]
	var credentials, authority, certificate, key string
	flags := flag.NewFlagSet("shardq-admin", flag.ContinueOnError)
	flags.StringVar(&o.Servers, "servers", "", "the URLs of NATS servers, with commas between them")
	flags.StringVar(&o.Dir, "dir", "", "without servers, the directory of the queue's own server, whose process has ended")
	flags.StringVar(&o.Name, "name", "", "the name of the queue")
	flags.StringVar(&o.Domain, "domain", "", "the JetStream domain of the queue")
	flags.StringVar(&credentials, "creds", "", "a file with NATS credentials")
	flags.StringVar(&authority, "tlsca", "", "a file with certificates of authorities, if the servers have TLS")
	flags.StringVar(&certificate, "tlscert", "", "a file with a certificate of the client")
	flags.StringVar(&key, "tlskey", "", "a file with its key")
	flags.IntVar(&other.Replicas, "replicas", 0, "for update: the number of servers that store the queue")
	flags.Int64Var(&other.MaxPending, "max-pending", 0, "for update: the limit of each partition, or -1 for none")
	flags.Int64Var(&other.MaxDead, "max-dead", 0, "for update: the limit of dead letters, or -1 for none")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	name, rest := flags.Arg(0), flags.Args()[min(1, flags.NArg()):]
	command, known := commands[name]
	changes := other.Replicas != 0 || other.MaxPending != 0 || other.MaxDead != 0
	switch {
	case o.Name == "" || o.Servers == "" && o.Dir == "":
		return errors.New("want -name, and -servers or -dir")
	case !known:
		return fmt.Errorf("the command is %q: want one that go doc lists", name)
	case len(rest) < command.least || command.most >= 0 && len(rest) > command.most:
		return fmt.Errorf("%s has %d arguments: want %d or more, or none", name, len(rest), command.least)
	case changes != (name == "update"):
		return errors.New("want update with one of -replicas, -max-pending and -max-dead, or another command without")
	}
	if credentials != "" {
		o.NATS = append(o.NATS, nats.UserCredentials(credentials))
	}
	if authority != "" {
		o.NATS = append(o.NATS, nats.RootCAs(authority))
	}
	if certificate != "" || key != "" {
		o.NATS = append(o.NATS, nats.ClientCert(certificate, key))
	}
	o.Codec = stored{}
	o, err := cluster.Existing(ctx, o)
	if err != nil {
		return err
	}
	o.Replicas, o.MaxPending, o.MaxDead, o.Update = other.Replicas, other.MaxPending, other.MaxDead, changes
	node, err := cluster.Join(ctx, o)
	if err != nil {
		return err
	}
	defer node.Close()
	return command.do(ctx, call{node, rest, out})
}

func status(ctx context.Context, c call) error {
	s, err := c.node.Status(ctx)
	if err != nil {
		return err
	}
	text := json.NewEncoder(c.out)
	text.SetIndent("", "  ")
	return text.Encode(s)
}

// table prints rows below a heading.
func table(out io.Writer, heading string, rows func(row func(format string, columns ...any)) error) error {
	t := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, heading)
	err := rows(func(format string, columns ...any) { fmt.Fprintf(t, format+"\n", columns...) })
	return errors.Join(err, t.Flush())
}

func listKeys(ctx context.Context, c call) error {
	return table(c.out, "key\tadded\tdue\tbytes", func(row func(string, ...any)) error {
		for entry, err := range c.node.Keys(ctx, c.arguments...) {
			if err != nil && !errors.Is(err, cluster.ErrKey) {
				return err
			}
			due := "pending"
			if !entry.Due.IsZero() {
				due = entry.Due.Format(time.RFC3339)
			}
			row("%q\t%s\t%s\t%d", entry.Key, entry.Added.Format(time.RFC3339), due, len(entry.Value))
		}
		return nil
	})
}

func cancel(ctx context.Context, c call) error {
	for _, key := range c.arguments {
		canceled, err := c.node.Cancel(ctx, key)
		if err != nil {
			return err
		}
		what := "canceled"
		if !canceled {
			what = "was not there:"
		}
		fmt.Fprintf(c.out, "%s %q\n", what, key)
	}
	return nil
}

func listDead(ctx context.Context, c call) error {
	return table(c.out, "key\tattempts\tdiscarded\treason", func(row func(string, ...any)) error {
		for letter, err := range c.node.Dead(ctx, c.arguments...) {
			switch {
			case errors.Is(err, cluster.ErrLetter):
				row("?\t\t\t%q", err)
			case err != nil:
				return err
			default:
				row("%q\t%d\t%s\t%q", letter.Key, letter.Attempts, letter.Time.Format(time.RFC3339), letter.Reason)
			}
		}
		return nil
	})
}

// each ends the letters of the keys, or of all. It revives none that cannot be read.
func each(ctx context.Context, c call, name string, end func(context.Context, cluster.DeadLetter[string]) error) error {
	keys := c.arguments
	if slices.Equal(keys, []string{"all"}) {
		keys = nil
	}
	left := slices.Clone(keys)
	for letter, err := range c.node.Dead(ctx, keys...) {
		unreadable := errors.Is(err, cluster.ErrLetter)
		if err != nil && !unreadable {
			return err
		}
		what := fmt.Sprintf("%s %q", name, letter.Key)
		if unreadable {
			what = fmt.Sprint(name, " ", err)
		}
		if unreadable && name == "revive" {
			what = fmt.Sprint("left: ", err)
		} else if err := end(ctx, letter); err != nil {
			return err
		}
		fmt.Fprintln(c.out, what)
		left = slices.DeleteFunc(left, func(key string) bool { return key == letter.Key })
	}
	if len(left) > 0 {
		return fmt.Errorf("no dead letter has the key %q", left)
	}
	return nil
}

func pause(ctx context.Context, c call, paused bool) error {
	return change(ctx, c, c.arguments, func(s *cluster.GroupSettings) { s.Paused = paused })
}

func rate(ctx context.Context, c call) error {
	perSecond, err := strconv.ParseFloat(c.arguments[0], 64)
	if err != nil {
		return err
	}
	return change(ctx, c, c.arguments[1:], func(s *cluster.GroupSettings) { s.Rate = shardq.Rate{PerSecond: perSecond} })
}

// change changes the settings of groups, or those of the queue.
func change(ctx context.Context, c call, groups []string, change func(*cluster.GroupSettings)) error {
	err := c.node.Change(ctx, func(s *cluster.Settings) {
		if len(groups) == 0 {
			change(&s.GroupSettings)
			return
		}
		if s.Groups == nil {
			s.Groups = map[string]cluster.GroupSettings{}
		}
		for _, name := range groups {
			g := s.Groups[name]
			if change(&g); g == (cluster.GroupSettings{}) {
				delete(s.Groups, name)
			} else {
				s.Groups[name] = g
			}
		}
	})
	if err != nil {
		return err
	}
	s, err := c.node.Settings(ctx)
	if err == nil {
		err = json.NewEncoder(c.out).Encode(s)
	}
	return err
}
