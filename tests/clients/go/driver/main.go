// Carries out the cases of cases.json with clients/go, one JSON line each.
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"sync"
	"time"

	pawl "pawl.dev/client"
)

type object = map[string]any

type fakeClock struct {
	sync.Mutex
	start time.Time // zero: real time goes on too
	moved time.Duration
	waits []float64
}

func (f *fakeClock) clock() *pawl.Clock {
	return &pawl.Clock{
		Now: func() time.Time {
			f.Lock()
			defer f.Unlock()
			if f.start.IsZero() {
				return time.Now().Add(f.moved)
			}
			return f.start.Add(f.moved)
		},
		Random: func() float64 { return 0.5 },
		Sleep: func(_ context.Context, wait time.Duration) error {
			f.Lock()
			defer f.Unlock()
			f.waits = append(f.waits, float64(wait)/float64(time.Millisecond))
			f.moved += wait
			return nil
		},
	}
}

func failure(err error) object {
	var own *pawl.Error
	if !errors.As(err, &own) {
		return object{"outcome": fmt.Sprintf("%T %v", err, err)}
	}
	result := object{"outcome": string(own.Kind), "key": own.Key}
	if own.Code != "" {
		result["code"] = own.Code
	}
	if own.Status != 0 {
		result["status"] = own.Status
	}
	return result
}

type caseLine struct {
	Part string
	URL  string
	Call struct {
		Method, Path string
		URL          *string
		Headers      map[string]string
		Warm, Cancel bool
		JSON         json.RawMessage
		Key          *string
		Keyless      bool
		DeadlineMs   float64 `json:"deadline_ms"`
		TryTimeoutMs float64 `json:"try_timeout_ms"`
		MaxTries     int     `json:"max_tries"`
	}
	Run struct {
		Key       string
		Request   json.RawMessage
		Work      string
		ReserveMs float64 `json:"reserve_ms"`
		SettleMs  float64 `json:"settle_ms"`
	}
	Op, Sqlstate, Without, Fails string
	OnError                      string `json:"on_error"`
	Reply                        int
	External                     bool
}

func ms(value float64) time.Duration { return time.Duration(value * float64(time.Millisecond)) }

func caller(wanted caseLine) object {
	fake := &fakeClock{start: time.Now(), waits: []float64{}}
	client := &pawl.Caller{Clock: fake.clock(), Deadline: ms(wanted.Call.DeadlineMs), TryTimeout: ms(wanted.Call.TryTimeoutMs), MaxTries: wanted.Call.MaxTries}
	call := pawl.Call{Method: wanted.Call.Method, URL: wanted.URL + wanted.Call.Path, Keyless: wanted.Call.Keyless}
	if string(wanted.Call.JSON) != "null" {
		call.Body, call.Header = wanted.Call.JSON, http.Header{"Content-Type": {"application/json"}}
	}
	if wanted.Call.Key != nil {
		call.Key = *wanted.Call.Key
	} else if !wanted.Call.Keyless {
		call.Key = pawl.NewKey()
	}
	if wanted.Call.URL != nil {
		call.URL = *wanted.Call.URL
	}
	for name, value := range wanted.Call.Headers {
		if call.Header == nil {
			call.Header = http.Header{}
		}
		call.Header[name] = []string{value}
	}
	if wanted.Call.Warm {
		_, _ = client.Do(context.Background(), pawl.Call{Method: http.MethodGet, URL: wanted.URL + "/warm"})
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	if sleep := client.Clock.Sleep; wanted.Call.Cancel {
		client.Clock.Sleep = func(ctx context.Context, wait time.Duration) error { cancel(); return sleep(ctx, wait) }
	}
	answer, err := client.Do(ctx, call)
	if err != nil {
		result := failure(err)
		result["waits_ms"] = fake.waits
		return result
	}
	return object{"outcome": "answer", "status": answer.Status, "body": string(answer.Body), "replayed": answer.Replayed(), "key": answer.Key, "waits_ms": fake.waits}
}

func work(ctx context.Context, kind string, job *pawl.Job) (pawl.Reply, error) {
	switch kind {
	case "not_executed":
		return pawl.Reply{}, closed{}
	case "throw":
		return pawl.Reply{}, errors.New("connection reset")
	case "advance":
		for _, point := range []string{"limits-checked", "sent"} {
			if err := job.Advance(ctx, point); err != nil {
				return pawl.Reply{}, err
			}
		}
	case "wait_renewed":
		for job.Renewals() < 2 {
			if err := job.Check(); err != nil {
				return pawl.Reply{}, err
			}
			time.Sleep(5 * time.Millisecond)
		}
	case "wait_lost":
		<-ctx.Done()
		return pawl.Reply{}, ctx.Err()
	case "wait_lost_then_answer":
		<-ctx.Done()
	}
	return pawl.JSON(201, object{"id": "po_1"})
}

// A service's own error that says so.
type closed struct{}

func (closed) Error() string           { return "the bank is closed" }
func (closed) Is(target error) bool    { return target == pawl.NotExecuted }
func (closed) As(target any) (is bool) { return false }

func consumer(wanted caseLine) object {
	fake := &fakeClock{}
	client := &pawl.Consumer{URL: wanted.URL, Clock: fake.clock(), ReserveFor: ms(wanted.Run.ReserveMs), SettleFor: ms(wanted.Run.SettleMs)}
	var seen *pawl.Job
	done, err := client.Run(context.Background(), wanted.Run.Key, wanted.Run.Request, func(ctx context.Context, job *pawl.Job) (pawl.Reply, error) {
		seen = job
		return work(ctx, wanted.Run.Work, job)
	})
	if err != nil {
		result := failure(err)
		result["worked"], result["cancelled"] = seen != nil, seen != nil && seen.Lost()
		return result
	}
	outcome := "done"
	if done.Replayed {
		outcome = "replayed"
	}
	return object{"outcome": outcome, "body": string(done.Body), "worked": seen != nil, "renewed": seen != nil && seen.Renewals() >= 2}
}

func keys(caseLine) object {
	all := make([]string, 5000)
	for i := range all {
		all[i] = pawl.NewKey()
	}
	return object{"keys": all}
}

func main() {
	parts := map[string]func(caseLine) object{"caller": caller, "consumer": consumer, "keys": keys, "sql": sqlCase, "transaction": transaction, "fake": fake, "fake_trouble": fakeTrouble}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var wanted caseLine
		if err := json.Unmarshal(lines.Bytes(), &wanted); err != nil {
			panic(err)
		}
		line, _ := json.Marshal(parts[wanted.Part](wanted))
		fmt.Println(string(line))
	}
}
