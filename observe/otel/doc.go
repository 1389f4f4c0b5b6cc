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
// The namespace workqueue has the seven metrics of client-go's workqueue. The
// namespace shardq has all others. For a [coalesce.Coalescer], add its
// Coalescer.Queue: its metrics include the pending values. Names and units
// follow the semantic conventions: units are not part of names, durations are
// in s, and counts have an annotation such as {item}. The attribute
// workqueue.name is the name under which a queue was added.
// docs/reference/metrics.md in the repository describes each metric by its
// Prometheus name. A test keeps the two in agreement.
//
// One callback observes counters and gauges, and reads each queue once. A queue
// counts its durations itself, so that histograms cannot be instruments. The
// Observer produces them: pass it to the reader as a producer, or there are no
// histograms. They are exponential histograms of scale 3, as exact as
// [shardq.Options].Metrics describes, with two exceptions. A duration of zero
// may count as a nanosecond. All durations beyond 2²⁰ s, twelve days, are in
// the bucket that begins there.
//
// The temporality of histograms is cumulative, because the reader's selector
// does not apply to a producer. Their start time is the time when the queue was
// created.
//
// # Names
//
// A queue is exported under its name. Two queues of an Observer cannot have the
// same name or none: [Observer.Add] returns an error then. [Observer.AddAs]
// adds a queue under another name. A queue that is shut down and empty
// disappears by itself, and its name is free.
//
// A new queue that reuses a name continues the series of the old one. Its
// counters begin at 0, so the series goes back. Instruments cannot set a start
// time, and their data points keep the one of the SDK. A receiver must treat
// the decrease as a restart, as Prometheus does. A reader of delta temporality
// gets one negative delta, unless it has collected between the two queues.
// Histograms begin when the new queue was created. If a receiver cannot handle
// a decrease, export the new queue under another name.
//
// # Groups
//
// A group named "other" is added up with those that have no points of their
// own. Names are cut after 128 bytes, at a whole character, and invalid UTF-8
// is replaced with U+FFFD. Groups whose names are equal after that are added
// up.
//
// Only the largest groups have points. A group that is among them again is
// exported with its whole count. With delta temporality, that count is one
// delta, so that the sums become too high. Use cumulative temporality for the
// series of groups.
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
// has returned it. So:
//
//   - An add that has returned before the item was claimed is linked by that
//     attempt, and an add that begins while the handler runs by the next one.
//   - An add between the two, or one that has not returned, may be linked by
//     both. The attempt that serves it is one of them. The next attempt may
//     then also be linked to the other adds of this one.
//   - An add without a span, or by another call than those of the Tracer, is
//     not linked. Adds that were canceled, refused or dropped are not, unless
//     something else makes the item run before it leaves the queue.
//
// The Tracer keeps the last [TracerOptions].MaxLinks span contexts of an item,
// and those of MaxItems items. It keeps nothing of an item whose attempt has
// begun. What is left of items that leave the queue in another way is dropped
// at the next add of the item, or in a sweep: such items are at most as many as
// the queue holds, and 1024. A queue without a Tracer pays nothing.
//
// The span has the kind consumer and is named "process" and the queue. Its
// attributes follow the semantic conventions for messaging: messaging.system is
// shardq, messaging.operation.type and .name are process, and
// messaging.destination.name is the queue. In addition it has shardq.attempt,
// the number of the attempt, and shardq.result: success, error, permanent,
// panic, requeue or interrupted. If the Tracer is in [worker.Options].Use, it
// has shardq.priority, and shardq.waited in seconds. An error or a panic is the
// status of the span, and an exception event. The item and its group are
// attributes only if [TracerOptions] say so.
//
// [NewLogHandler] writes the IDs of trace and span into the lines of a log.
package shardqotel
