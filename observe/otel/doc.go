// Package shardqotel shows queues of shardq to OpenTelemetry: observable instruments, and a
// producer of exponential histograms.
//
//	queue := shardq.Must(shardq.Options[string]{Name: "invoices", Metrics: true})
//	observer, err := shardqotel.NewObserver(shardqotel.Options{}, queue)
//	if err != nil {
//		log.Fatal(err) // a queue without metrics, or two of one name
//	}
//	reader := metric.NewPeriodicReader(exporter, metric.WithProducer(observer))
//	provider := metric.NewMeterProvider(metric.WithReader(reader))
//	registration, err := observer.Register(provider)
//
// # What there is
//
// The seven metrics of client-go's workqueue, in the namespace workqueue, and what client-go does
// not count, in the namespace shardq; of a [shardq.Coalescer], whose Coalescer.Queue is to be added,
// also what it has pending. Names and units follow the semantic conventions: units are not part of
// names, durations are in s, and counts have their annotation, such as {item}. The attribute
// workqueue.name is the name under which a queue was added. docs/reference/metrics.md of the repository says
// what each means, under the names that they have for Prometheus; a test keeps the two alike.
//
// Counters and gauges come by one callback, which reads each queue once. A queue counts its
// durations itself, so the histograms cannot be instruments: they come from the Observer as a
// producer, which the reader asks beside its own instruments. A reader that is not given the
// Observer has no histograms. They are exponential histograms of scale 3, and hold exactly what was
// measured, as exact as [shardq.Options].Metrics says, but that what took no time at all may count
// as a nanosecond, and that all that took longer than 2²⁰ s, twelve days, is in the bucket that begins there.
//
// Their temporality is cumulative, whatever the reader's selector says, for a producer is not
// asked. They begin when the queue was added, as far as is told; what it measured before is among
// them.
//
// # Names
//
// A queue is shown under its name, so two of an Observer cannot have the same, nor none at all:
// that is an error at [Observer.Add]. [Observer.AddAs] shows a queue under another name. A queue
// that is shut down and empty disappears by itself, and its name is free.
//
// A name that is used again, for a new queue, continues the series of the one before with counters
// that begin at 0 once more: they go back. Instruments have no way to tell when a count began, so
// their data points keep the start time that the SDK gave them, and what reads them has to take the
// fall for a restart, as Prometheus does. A reader of delta temporality gets one delta below zero, unless
// it has collected between the two. Histograms do tell: they begin when the new queue was added. Where a
// receiver bears no such fall, show the new queue under another name.
//
// # Groups
//
// A group whose own name is "other" is added up with those that have no points of their own. Names
// are cut after 128 bytes, at a whole character, and what is not valid UTF-8 is replaced with
// U+FFFD; groups whose names are then alike are added up.
package shardqotel
