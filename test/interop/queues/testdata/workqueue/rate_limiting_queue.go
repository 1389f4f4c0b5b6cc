package workqueue

type RateLimitingInterface interface {
	DelayingInterface
	AddRateLimited(item any)
	Forget(item any)
	NumRequeues(item any) int
}

type rateLimitingType[T comparable] struct {
	TypedDelayingInterface[T]
	rateLimiter TypedRateLimiter[T]
}

func NewRateLimitingQueue(limiter RateLimiter) RateLimitingInterface {
	return &rateLimitingType[any]{NewDelayingQueueWithConfig(DelayingQueueConfig{}), limiter}
}

func (q *rateLimitingType[T]) AddRateLimited(item T)  { q.AddAfter(item, q.rateLimiter.When(item)) }
func (q *rateLimitingType[T]) Forget(item T)          { q.rateLimiter.Forget(item) }
func (q *rateLimitingType[T]) NumRequeues(item T) int { return q.rateLimiter.NumRequeues(item) }
