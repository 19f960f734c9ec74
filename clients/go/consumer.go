package pawl

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"strings"
	"time"
	"unicode/utf8"
)

// Consumer runs queue jobs and cron runs under the key API: each operation once.
type Consumer struct {
	URL        string // where pawl serve listens
	HTTP       *http.Client
	Header     http.Header   // sent with every call, such as Authorization
	ReserveFor time.Duration // how long a reservation is asked for; 10 seconds unless given
	SettleFor  time.Duration // how long a result is handed in; 60 seconds unless given
	Clock      *Clock
}

// Finished is what the operation came to, now or in an earlier delivery. Acknowledge the message.
type Finished struct {
	Status       int
	Header       [][2]string
	Body         []byte
	Replayed     bool // an earlier delivery did it
	BodyWithheld bool // the answer was too large to keep
}

type wireResponse struct {
	Status       int         `json:"status"`
	Header       [][2]string `json:"headers"`
	Body         *string     `json:"body,omitempty"`
	BodyBase64   *string     `json:"body_base64,omitempty"`
	BodyWithheld bool        `json:"body_withheld,omitempty"`
}

type keyBody struct {
	Decision      string        `json:"decision"`
	Status        any           `json:"status"` // of the record; in a problem document the HTTP status
	Fence         int64         `json:"fence"`
	Attempt       int           `json:"attempt"`
	RecoveryPoint string        `json:"recovery_point"`
	LeaseSeconds  *float64      `json:"lease_seconds"`
	Response      *wireResponse `json:"response"`
	Code          string        `json:"code"`
	Detail        string        `json:"detail"`
}

type said struct {
	status int
	header http.Header
	body   keyBody
	sentAt time.Time
}

// settled: it is an answer, not a reason to ask again.
func (s *said) settled() bool { return s != nil && s.status < 500 && s.status != 429 }

// Run: key comes from the message and is the same in every delivery; request is what it means. The work returns its
// answer, an error that is NotExecuted where certainly nothing happened, and any other where it is not known. Its context
// ends when the lease is lost. Run returns what the operation came to; an error says: leave the message on the queue.
func (c *Consumer) Run(ctx context.Context, key string, request any, work func(ctx context.Context, job *Job) (Reply, error)) (*Finished, error) {
	owner, err := newOwner()
	if err != nil {
		return nil, err
	}
	granted, err := c.ask(ctx, key, "reserve", map[string]any{"owner": owner, "request": request}, orDefault(c.ReserveFor, 10*time.Second))
	if err != nil {
		return nil, err
	}
	switch {
	case granted == nil:
		return nil, &Error{Kind: Unavailable, Message: "reserve was not answered", Key: key}
	case granted.status == 200:
		return finished(granted.body.Response, true)
	case granted.status != 201:
		return nil, refusal(key, granted)
	}
	job := newJob(c, key, owner, granted)
	if job.LeaseLeft() <= 0 {
		const late = "the lease was over before the work began"
		_, _ = c.settle(job, "release", map[string]any{"reason": late})
		return nil, &Error{Kind: Unavailable, Message: late, Key: key}
	}
	working, cancel := context.WithCancel(ctx)
	defer cancel()
	job.cancel = cancel
	renewing, halt := context.WithCancel(context.Background())
	ended := make(chan struct{})
	go func() { defer close(ended); job.renew(renewing) }()
	defer func() { halt(); <-ended }()
	return c.carryOut(working, job, work)
}

func (c *Consumer) carryOut(ctx context.Context, job *Job, work func(ctx context.Context, job *Job) (Reply, error)) (*Finished, error) {
	reply, err := work(ctx, job)
	if err == nil && (reply.Status < 200 || reply.Status > 599) {
		err = errors.New("the work returned no status")
	}
	if err != nil {
		return nil, c.workFailed(job, err)
	}
	response := responseOf(reply)
	answer, err := c.settle(job, "complete", map[string]any{"response": response})
	if err == nil && answer != nil && answer.status == 200 {
		return finished(&response, false)
	}
	failed := &Error{Kind: Unknown, Message: "it was done, and that could not be recorded", Key: job.Key, Cause: err}
	if answer != nil {
		failed.Status, failed.Code = answer.status, answer.body.Code
		if answer.status == 409 {
			failed.Kind, failed.Message = LeaseLost, "it was done, and another owner has the key by now"
		}
	}
	return nil, failed
}

func (c *Consumer) workFailed(job *Job, err error) error {
	if errors.Is(err, NotExecuted) {
		_, _ = c.settle(job, "release", map[string]any{"reason": printable(err.Error())})
		return &Error{Kind: NotExecuted, Message: "released", Key: job.Key, Cause: err}
	}
	kind := Unknown
	if job.Lost() {
		kind = LeaseLost
	}
	return &Error{Kind: kind, Message: "the work failed, and it may have happened", Key: job.Key, Cause: err}
}

// settle goes on although the work's context has ended: what is done must be recorded.
func (c *Consumer) settle(job *Job, verb string, more map[string]any) (*said, error) {
	return c.ask(context.Background(), job.Key, verb, job.call(more), orDefault(c.SettleFor, time.Minute))
}

// ask is one call, repeated as it is while it is not answered: what is done already is not done again.
func (c *Consumer) ask(ctx context.Context, key, verb string, body map[string]any, within time.Duration) (*said, error) {
	clock := clockOr(c.Clock)
	end := clock.Now().Add(within)
	for tries := 1; ; tries++ {
		answer, err := c.once(ctx, key, verb, body, end.Sub(clock.Now()))
		if err != nil || answer.settled() {
			return answer, err
		}
		var after time.Duration
		if answer != nil {
			after = retryAfter(answer.header, time.Now())
		}
		wait := waitFor(tries, after, clock.Random())
		if !clock.Now().Add(wait).Before(end) || clock.Sleep(ctx, wait) != nil {
			return nil, nil
		}
	}
}

// once is one try; nil: no answer, or none that can be read. An error: the call could not be made of the values given.
func (c *Consumer) once(ctx context.Context, key, verb string, body map[string]any, timeout time.Duration) (*said, error) {
	sentAt := clockOr(c.Clock).Now()
	data, err := json.Marshal(body)
	if err != nil {
		return nil, err
	}
	if timeout > 30*time.Second {
		timeout = 30 * time.Second
	}
	header := c.Header.Clone()
	if header == nil {
		header = http.Header{}
	}
	header.Set("Content-Type", "application/json")
	target := strings.TrimRight(c.URL, "/") + "/_pawl/v1/keys/" + strings.ReplaceAll(url.QueryEscape(key), "+", "%20") + "/" + verb
	wire, lost := send(ctx, withoutRedirects(c.HTTP), http.MethodPost, target, header, data, timeout)
	if lost != nil {
		return nil, nil
	}
	answer := &said{status: wire.status, header: wire.header, sentAt: sentAt}
	if json.Unmarshal(wire.body, &answer.body) != nil {
		answer.body = keyBody{} // a problem document is for people; its absence changes nothing
	}
	if wire.status < 300 && !understood(answer, verb, body) {
		return nil, nil
	}
	return answer, nil
}

// understood: a success that does not say what was asked for comes from something in between.
func understood(answer *said, verb string, call map[string]any) bool {
	body := answer.body
	if verb == "reserve" && answer.status == 201 {
		return body.Decision == "execute" && body.Fence > 0 && body.LeaseSeconds != nil
	}
	if answer.status != 200 {
		return false
	}
	switch verb {
	case "reserve":
		return body.Decision == "replay" && body.Response != nil && body.Response.Status >= 100
	case "complete":
		return body.Status == "completed"
	case "release":
		return body.Status == "failed_retryable"
	case "advance":
		return body.RecoveryPoint != "" && body.RecoveryPoint == call["recovery_point"]
	}
	return body.LeaseSeconds != nil
}

func refusal(key string, answer *said) error {
	kind := Unknown
	switch code := answer.body.Code; {
	case code == "key-reused" || code == "key-invalid":
		kind = Misuse
	case code == "in-flight":
		kind = InFlight
	case code == "stale-fence":
		kind = Unavailable
	case answer.status >= 400 && answer.status < 500 && answer.status != 409 && answer.status != 410:
		kind = Refused
	}
	return &Error{Kind: kind, Message: answer.body.Detail, Key: key, Code: answer.body.Code, Status: answer.status}
}

func responseOf(reply Reply) wireResponse {
	response := wireResponse{Status: reply.Status, Header: pairsOf(reply.Header)}
	if utf8.Valid(reply.Body) {
		text := string(reply.Body)
		response.Body = &text
	} else {
		text := base64.StdEncoding.EncodeToString(reply.Body)
		response.BodyBase64 = &text
	}
	return response
}

func finished(response *wireResponse, replayed bool) (*Finished, error) {
	done := &Finished{Status: response.Status, Header: response.Header, Replayed: replayed, BodyWithheld: response.BodyWithheld}
	if response.Body != nil {
		done.Body = []byte(*response.Body)
	} else if response.BodyBase64 != nil {
		body, err := base64.StdEncoding.DecodeString(*response.BodyBase64)
		if err != nil {
			return nil, &Error{Kind: Unknown, Message: "the stored answer cannot be read", Cause: err}
		}
		done.Body = body
	}
	return done, nil
}

func newOwner() (string, error) {
	var b [16]byte
	_, err := rand.Read(b[:])
	return hex.EncodeToString(b[:]), err
}

// printable as the key API takes a reason: ASCII, 255 at most.
func printable(text string) string {
	var out strings.Builder
	for _, each := range text {
		if out.Len() == 255 {
			break
		}
		if each < 0x20 || each > 0x7e {
			each = '?'
		}
		out.WriteRune(each)
	}
	return out.String()
}
