// Package shardqotel exports queues of shardq to OpenTelemetry: metrics, as
// observable instruments and a producer of exponential histograms, and traces.
//
//	queue := shardq.MustNew(shardq.Options[string]{Name: "invoices", Metrics: true})
//	observer, err := shardqotel.NewObserver(shardqotel.Options{}, queue)
//	if err != nil {
//		log.Fatal(err) // a queue without metrics, or two of one name
//	}
//	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(observer))
//	provider := metric.NewMeterProvider(metric.WithReader(reader))
//	registration, err := observer.Register(provider)
//
// # Metrics
//
// The namespace workqueue has the seven metrics of client-go's workqueue, and
// the namespace shardq all others: see docs/reference/metrics.md in the
// repository. The attribute workqueue.name is the name under which a queue was
// added: its own, or that of [Observer.AddAs]. For a [coalesce.Coalescer], add
// its Coalescer.Queue.
//
// A queue counts its durations itself, so that histograms cannot be
// instruments. The Observer produces them: pass it to the reader as a producer,
// or there are no histograms. They are exponential histograms of scale 3 and of
// cumulative temporality, which start when the queue was created.
//
// A queue that is shut down and empty disappears by itself, and its name is
// free. A new queue that reuses a name continues the series of the old one: its
// counters begin at 0, and a receiver must treat the decrease as a restart, as
// Prometheus does. A reader of delta temporality gets one negative delta.
//
// Only the largest groups have points. The others are added up as the group
// "other". A group that is among the largest again is exported with its whole
// count, so use cumulative temporality for groups.
//
// # Traces
//
// A [Tracer] makes a span for each attempt of a handler. The span is linked to
// the spans in whose contexts the item was added:
//
//	tracer, err := shardqotel.NewTracer(queue, shardqotel.TracerOptions[string]{})
//	adder := tracer.Adder(queue)
//	adder.Add(ctx, "invoice/17")                  // in place of queue.Add
//	err = queue.Run(ctx, 8, tracer.Handle(handle)) // in place of handle
//
// An attempt serves the adds that began before its handler was called and that
// no earlier attempt has served. A retry serves those of the attempt that has
// failed, too. What a [worker.RequeueAfter] asks for serves the attempt that
// has returned it. An add between the claim and the call of the handler, or one
// that has not returned then, may be linked by this attempt and by the next. An
// add without a span, or by another call than those of the Tracer, is not
// linked, and neither is one that was canceled, refused or dropped.
//
// The Tracer keeps the last [TracerOptions].MaxLinks span contexts of an item
// until its attempt begins. Of items that leave the queue in another way, it
// keeps at most as many as the queue holds, and 1024.
//
// The span has the kind consumer, and attributes of the semantic conventions
// for messaging. In addition it has shardq.attempt, the number of the attempt,
// and shardq.result: success, error, permanent, panic, requeue or interrupted.
// If the Tracer is in [worker.Options].Use, it has shardq.priority, and
// shardq.waited in seconds. The item and its group are attributes only if
// [TracerOptions] say so.
//
// [NewLogHandler] writes the IDs of trace and span into the lines of a log.
package shardqotel
