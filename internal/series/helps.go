package series

// Helps are the exact help texts of Kubernetes and of controller-runtime, because
// a registry accepts only one text for a name.
var Helps = map[string][2]string{
	"workqueue_depth": {
		"[BETA] Current depth of workqueue",
		"Current depth of workqueue by workqueue and priority",
	},
	"workqueue_adds_total": {
		"[BETA] Total number of adds handled by workqueue",
		"Total number of adds handled by workqueue",
	},
	"workqueue_queue_duration_seconds": {
		"[BETA] How long in seconds an item stays in workqueue before being requested.",
		"How long in seconds an item stays in workqueue before being requested",
	},
	"workqueue_work_duration_seconds": {
		"[BETA] How long in seconds processing an item from workqueue takes.",
		"How long in seconds processing an item from workqueue takes.",
	},
	"workqueue_unfinished_work_seconds": {
		"[BETA] How many seconds of work has done that " + stuckThreads,
		"How many seconds of work has been done that " + stuckThreads,
	},
	"workqueue_longest_running_processor_seconds": {
		"[BETA] How many seconds has the longest running processor for workqueue been running.",
		"How many seconds has the longest running processor for workqueue been running.",
	},
	"workqueue_retries_total": {
		"[BETA] Total number of retries handled by workqueue",
		"Total number of items added to the workqueue with a non-zero delay (rate-limited requeues, explicit RequeueAfter or AddAfter calls)",
	},
}

const stuckThreads = "is in progress and hasn't been observed by work_duration. Large values indicate stuck threads. " +
	"One can deduce the number of stuck threads by observing the rate at which this increases."
