// Command shardq-dead lists the dead letters of a cluster's queue of strings,
// adds their keys again, or removes them.
//
//	shardq-dead -servers nats://a.example.com -name invoices list
//	shardq-dead -servers nats://a.example.com -name invoices revive invoice/17
//	shardq-dead -servers nats://a.example.com -name invoices forget all
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/nats-io/nats.go"

	"github.com/shardq/shardq/cluster"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	if err := run(ctx, os.Args[1:], os.Stdout); err != nil {
		if !errors.Is(err, flag.ErrHelp) {
			fmt.Fprintln(os.Stderr, "shardq-dead:", err)
		}
		os.Exit(1)
	}
}

func run(ctx context.Context, arguments []string, out io.Writer) error {
	var o cluster.Options[string]
	var credentials, authority, certificate, key string
	flags := flag.NewFlagSet("shardq-dead", flag.ContinueOnError)
	flags.StringVar(&o.Servers, "servers", "", "the URLs of NATS servers, with commas between them")
	flags.StringVar(&o.Dir, "dir", "", "without servers, the directory of the queue's own server, whose process has ended")
	flags.StringVar(&o.Name, "name", "", "the name of the queue")
	flags.StringVar(&o.Domain, "domain", "", "the JetStream domain of the queue")
	flags.StringVar(&credentials, "creds", "", "a file with NATS credentials")
	flags.StringVar(&authority, "tlsca", "", "a file with certificates of authorities, if the servers have TLS")
	flags.StringVar(&certificate, "tlscert", "", "a file with a certificate of the client")
	flags.StringVar(&key, "tlskey", "", "a file with its key")
	if err := flags.Parse(arguments); err != nil {
		return err
	}
	command, keys := flags.Arg(0), flags.Args()[min(1, flags.NArg()):]
	switch {
	case o.Name == "" || o.Servers == "" && o.Dir == "":
		return errors.New("want -name, and -servers or -dir")
	case command != "list" && command != "revive" && command != "forget",
		command == "list" && len(keys) > 0, command != "list" && len(keys) == 0:
		return errors.New("want list, or revive or forget with keys or the word all")
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
	o, err := cluster.Existing(ctx, o)
	if err != nil {
		return err
	}
	node, err := cluster.Join(ctx, o)
	if err != nil {
		return err
	}
	defer node.Close()
	if command == "list" {
		return list(ctx, node, out)
	}
	end := node.Revive
	if command == "forget" {
		end = node.Forget
	}
	return each(ctx, node, keys, func(letter cluster.DeadLetter[string], unreadable error) error {
		what, does := fmt.Sprintf("%q", letter.Key), command
		if unreadable != nil {
			what = unreadable.Error()
		}
		if unreadable != nil && command == "revive" {
			does = "left:"
		} else if err := end(ctx, letter); err != nil {
			return err
		}
		_, err := fmt.Fprintln(out, does, what)
		return err
	})
}

func list(ctx context.Context, node *cluster.Node[string], out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "key\tattempts\tdiscarded\treason")
	for letter, err := range node.Dead(ctx) {
		if errors.Is(err, cluster.ErrLetter) {
			fmt.Fprintf(table, "?\t\t\t%q\n", err)
			continue
		}
		if err != nil {
			return err
		}
		fmt.Fprintf(table, "%q\t%d\t%s\t%q\n", letter.Key, letter.Attempts, letter.Time.Format(time.RFC3339), letter.Reason)
	}
	return table.Flush()
}

// each calls do for the letters of keys, or of all, also unreadable ones.
func each(ctx context.Context, node *cluster.Node[string], keys []string, do func(letter cluster.DeadLetter[string], unreadable error) error) error {
	all := slices.Equal(keys, []string{"all"})
	left := slices.Clone(keys)
	for letter, err := range node.Dead(ctx) {
		if err != nil && !errors.Is(err, cluster.ErrLetter) {
			return err
		}
		if !all && (err != nil || !slices.Contains(keys, letter.Key)) {
			continue
		}
		if err := do(letter, err); err != nil {
			return err
		}
		left = slices.DeleteFunc(left, func(key string) bool { return key == letter.Key })
	}
	if !all && len(left) > 0 {
		return fmt.Errorf("no dead letter has the key %q", left)
	}
	return nil
}
