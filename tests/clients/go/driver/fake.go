package main

import (
	"context"
	"net/http"

	pawl "pawl.dev/client"
	"pawl.dev/client/pawltest"
)

func upstream(body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		w.WriteHeader(201)
		_, _ = w.Write([]byte(body))
	})
}

func fake(caseLine) object { return object{"url": pawltest.New(upstream(`{"id":"pay_1"}`)).URL} }

// What the fake does on demand, and what the client makes of it.
func fakeTrouble(caseLine) object {
	fake := pawltest.New(upstream("{}"))
	defer fake.Close()
	fake.LeaseSeconds = 1
	ctx := context.Background()
	caller := &pawl.Caller{Clock: (&fakeClock{}).clock()}
	pay := func(key string) any {
		answer, err := caller.PostJSON(ctx, key, fake.URL+"/v1/payments", object{})
		if err != nil {
			return failure(err)["outcome"]
		}
		return []int{answer.Status, answer.Tries, fake.Executions()}
	}
	fake.LoseNextAnswer()
	lost := pay("order-4711-payment")
	fake.FailNext()
	failed := pay("order-4712-payment")
	fake.MakeUnknown("order-4713-payment")
	unknown := pay("order-4713-payment")
	_, err := (&pawl.Consumer{URL: fake.URL}).Run(ctx, "payout-2024-06-0001", object{}, func(ctx context.Context, job *pawl.Job) (pawl.Reply, error) {
		fake.EndLease(job.Key)
		<-ctx.Done()
		return pawl.Reply{}, ctx.Err()
	})
	return object{"lost": lost, "failed": failed, "unknown": unknown, "lease": failure(err)["outcome"]}
}
