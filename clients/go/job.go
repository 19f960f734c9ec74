package pawl

import (
	"context"
	"math"
	"sync"
	"time"
)

// Job is a granted key in the hands of the work.
type Job struct {
	Key     string
	Owner   string
	Fence   int64
	Attempt int

	consumer *Consumer
	clock    Clock
	lease    time.Duration
	cancel   context.CancelFunc

	mutex    sync.Mutex
	end      time.Time
	point    string
	renewals int
	lost     bool
}

func newJob(c *Consumer, key, owner string, granted *said) *Job {
	lease := leaseOf(*granted.body.LeaseSeconds)
	return &Job{Key: key, Owner: owner, Fence: granted.body.Fence, Attempt: granted.body.Attempt, consumer: c, clock: clockOr(c.Clock),
		lease: lease, cancel: func() {}, end: granted.sentAt.Add(lease), point: granted.body.RecoveryPoint}
}

// A lease of more than a day is counted as one: it is renewed long before.
func leaseOf(seconds float64) time.Duration {
	return time.Duration(math.Min(seconds, 86400) * float64(time.Second))
}

// RecoveryPoint is how far this or an earlier owner came; empty: not begun.
func (j *Job) RecoveryPoint() string { j.mutex.Lock(); defer j.mutex.Unlock(); return j.point }

// Renewals is how often the lease was renewed in the background.
func (j *Job) Renewals() int { j.mutex.Lock(); defer j.mutex.Unlock(); return j.renewals }

// Lost says that the lease is lost.
func (j *Job) Lost() bool { j.mutex.Lock(); defer j.mutex.Unlock(); return j.lost }

// LeaseLeft is counted from when the last renewal was sent.
func (j *Job) LeaseLeft() time.Duration {
	j.mutex.Lock()
	defer j.mutex.Unlock()
	return j.end.Sub(j.clock.Now())
}

// Check returns LeaseLost once the lease is over: ask before each effect.
func (j *Job) Check() error {
	if j.LeaseLeft() <= 0 {
		j.lose()
	}
	if j.Lost() {
		return &Error{Kind: LeaseLost, Message: "the lease is over", Key: j.Key, Code: "stale-fence"}
	}
	return nil
}

// Advance keeps the next recovery point. A step has a name of its own.
func (j *Job) Advance(ctx context.Context, recoveryPoint string) error {
	if err := j.Check(); err != nil {
		return err
	}
	body := j.call(map[string]any{"after": j.RecoveryPoint(), "recovery_point": recoveryPoint})
	answer, err := j.consumer.ask(ctx, j.Key, "advance", body, j.LeaseLeft())
	if err != nil {
		return err
	}
	if answer != nil && answer.status == 200 {
		j.extend(answer)
		j.mutex.Lock()
		j.point = recoveryPoint
		j.mutex.Unlock()
		return nil
	}
	if answer != nil && answer.status == 409 {
		j.lose()
	}
	if err := j.Check(); err != nil {
		return err
	}
	return &Error{Kind: Unavailable, Message: "advance was not answered", Key: j.Key}
}

func (j *Job) call(more map[string]any) map[string]any {
	body := map[string]any{"owner": j.Owner, "fence": j.Fence}
	for name, value := range more {
		body[name] = value
	}
	return body
}

func (j *Job) lose() {
	j.mutex.Lock()
	j.lost = true
	j.mutex.Unlock()
	j.cancel()
}

func (j *Job) extend(answer *said) {
	seconds := answer.body.LeaseSeconds
	if seconds == nil || *seconds <= 0 { // 0: the store's clock is not to be trusted, and nothing is gained
		return
	}
	end := answer.sentAt.Add(leaseOf(*seconds))
	j.mutex.Lock()
	defer j.mutex.Unlock()
	if end.After(j.end) {
		j.end = end
	}
}

// renew every third of the lease until halted; the lease's end without an answer is its loss.
func (j *Job) renew(halted context.Context) {
	pause := j.lease / 3
	for !j.Lost() {
		if left := j.LeaseLeft(); left < pause {
			pause = left
		}
		if sleep(halted, pause) != nil {
			return
		}
		left := j.LeaseLeft()
		if left <= 0 {
			j.lose()
			return
		}
		if third := j.lease / 3; left > third { // one that hangs leaves time for another
			left = third
		}
		answer, _ := j.consumer.once(halted, j.Key, "renew", j.call(nil), left)
		pause = j.lease / 10
		if answer != nil && answer.status == 200 {
			pause = j.lease / 3
			j.extend(answer)
			j.mutex.Lock()
			j.renewals++
			j.mutex.Unlock()
		} else if answer.settled() {
			j.lose()
			return
		}
	}
}
