package shardqprom

// theirs describes a series of client-go.
type theirs struct {
	help   [styles]string
	labels [styles][]string
}

// workqueue has the seven series of a workqueue with their exact help texts,
// because a registry accepts only one text for a name. component-base prefixes
// each with its stability.
var workqueue = map[string]theirs{
	"workqueue_depth": {
		help: [styles]string{
			Kubernetes:        "[BETA] Current depth of workqueue",
			ControllerRuntime: "Current depth of workqueue by workqueue and priority",
		},
		labels: [styles][]string{ControllerRuntime: {"priority"}},
	},
	"workqueue_adds_total": {help: [styles]string{
		Kubernetes:        "[BETA] Total number of adds handled by workqueue",
		ControllerRuntime: "Total number of adds handled by workqueue",
	}},
	"workqueue_queue_duration_seconds": {help: [styles]string{
		Kubernetes:        "[BETA] How long in seconds an item stays in workqueue before being requested.",
		ControllerRuntime: "How long in seconds an item stays in workqueue before being requested",
	}},
	"workqueue_work_duration_seconds": {help: [styles]string{
		Kubernetes:        "[BETA] How long in seconds processing an item from workqueue takes.",
		ControllerRuntime: "How long in seconds processing an item from workqueue takes.",
	}},
	"workqueue_unfinished_work_seconds": {help: [styles]string{
		Kubernetes:        "[BETA] How many seconds of work has done that " + stuckThreads,
		ControllerRuntime: "How many seconds of work has been done that " + stuckThreads,
	}},
	"workqueue_longest_running_processor_seconds": {help: [styles]string{
		Kubernetes:        "[BETA] How many seconds has the longest running processor for workqueue been running.",
		ControllerRuntime: "How many seconds has the longest running processor for workqueue been running.",
	}},
	"workqueue_retries_total": {help: [styles]string{
		Kubernetes:        "[BETA] Total number of retries handled by workqueue",
		ControllerRuntime: "Total number of items added to the workqueue with a non-zero delay (rate-limited requeues, explicit RequeueAfter or AddAfter calls)",
	}},
}

const stuckThreads = "is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. " +
	"One can deduce the number of stuck threads by observing the rate at which this increases."
