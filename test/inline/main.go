// Command inline is the program of a user who imports only the queue.
package main

import "github.com/shardq/shardq"

func main() {
	q, err := shardq.New(shardq.Options[string]{})
	if err != nil {
		panic(err)
	}
	q.Add("item")
	item, _ := q.Get()
	q.Done(item)
	q.AddAfter(item, 1)
	q.ShutDown()
}
