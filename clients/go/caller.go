package pawl

import (
	"context"
	"crypto/rand"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"time"
)

// Clock is for tests: time, chance and waiting.
type Clock struct {
	Now    func() time.Time
	Random func() float64
	Sleep  func(ctx context.Context, wait time.Duration) error
}

var systemClock = Clock{Now: time.Now, Random: jitter, Sleep: sleep}

func sleep(ctx context.Context, wait time.Duration) error {
	timer := time.NewTimer(wait)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Caller calls an API with one key per intent, and tries again where that is right. Its zero value is ready.
type Caller struct {
	HTTP       *http.Client
	Header     http.Header   // sent with every call, such as Authorization
	Deadline   time.Duration // all tries and waits together; 2 minutes unless given
	TryTimeout time.Duration // one try; 30 seconds unless given
	MaxTries   int           // only the deadline counts unless given
	Clock      *Clock
}

// Call is one intent. Key is required (NewKey makes one) unless the call is keyless or safe: store it with the order
// before you call, so that a restart repeats it.
type Call struct {
	Method  string
	URL     string
	Header  http.Header
	Body    []byte // the same bytes in every try
	Key     string
	Keyless bool // the server knows no keys: an unsafe call is never tried again
}

// Answer is what the API said, whatever its status.
type Answer struct {
	Status int
	Header http.Header
	Body   []byte
	Key    string
	Tries  int
}

// Replayed: it is the answer of an earlier try.
func (a *Answer) Replayed() bool { return a.Header.Get("Idempotent-Replayed") == "true" }

var (
	keySyntax = regexp.MustCompile(`^[\x21-\x7e]([\x20-\x7e]{0,253}[\x21-\x7e])?$`)
	token     = regexp.MustCompile("^[!#$%&'*+.^_`|~0-9A-Za-z-]+$")
	safe      = setOf("GET", "HEAD", "OPTIONS")
)

// Control characters but the tab.
const unsendable = "\x00\x01\x02\x03\x04\x05\x06\x07\x08\x0a\x0b\x0c\x0d\x0e\x0f" +
	"\x10\x11\x12\x13\x14\x15\x16\x17\x18\x19\x1a\x1b\x1c\x1d\x1e\x1f\x7f"

type callState struct {
	call     Call
	header   http.Header
	safe     bool
	mayRetry bool
	doubt    bool
	tries    int
	end      time.Time
}

type failed struct {
	again bool
	after time.Duration
	err   *Error
}

// PostJSON posts a value as JSON under a key.
func (c *Caller) PostJSON(ctx context.Context, key, target string, value any) (*Answer, error) {
	body, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	header := http.Header{"Content-Type": {"application/json"}}
	return c.Do(ctx, Call{Method: http.MethodPost, URL: target, Header: header, Body: body, Key: key})
}

// Do returns the API's answer, or an *Error: Unknown, Misuse, Refused or Unavailable.
func (c *Caller) Do(ctx context.Context, call Call) (*Answer, error) {
	clock := clockOr(c.Clock)
	state, err := c.begin(call, clock)
	if err != nil {
		return nil, err
	}
	for {
		answer, last := c.once(ctx, state, clock)
		if last == nil {
			return answer, nil
		}
		wait := waitFor(state.tries, last.after, clock.Random())
		late := !clock.Now().Add(wait).Before(state.end) || (c.MaxTries > 0 && state.tries >= c.MaxTries)
		if !last.again || !state.mayRetry || late || ctx.Err() != nil || clock.Sleep(ctx, wait) != nil {
			return nil, last.err
		}
	}
}

func (c *Caller) begin(call Call, clock Clock) (*callState, error) {
	call.Method = strings.ToUpper(call.Method)
	state := &callState{call: call, header: http.Header{}, safe: safe[call.Method]}
	for _, all := range []http.Header{c.Header, call.Header} {
		for name, values := range all {
			state.header[http.CanonicalHeaderKey(name)] = append([]string(nil), values...)
		}
	}
	if err := checkRequest(call, state.header); err != nil {
		return nil, err
	}
	// A copy: what a caller does with its slice must not change what the next try sends.
	state.call.Body = append([]byte(nil), call.Body...)
	if call.Keyless && call.Key != "" {
		return nil, &Error{Kind: Misuse, Message: "Keyless and Key exclude each other"}
	}
	if (call.Key != "" || !state.safe) && !call.Keyless {
		if !keySyntax.MatchString(call.Key) {
			return nil, &Error{Kind: Misuse, Message: "a key is 1 to 255 printable ASCII characters; NewKey makes one"}
		}
		state.header.Set("Idempotency-Key", call.Key)
	}
	state.mayRetry = state.safe || !call.Keyless
	state.end = clock.Now().Add(orDefault(c.Deadline, 2*time.Minute))
	return state, nil
}

// checkRequest: what cannot be sent as it is given is a bug in this program: no reason to try again, and not to send
// something else.
func checkRequest(call Call, header http.Header) error {
	if !token.MatchString(call.Method) {
		return &Error{Kind: Misuse, Message: "Method is no HTTP method"}
	}
	parsed, err := url.Parse(call.URL)
	if err != nil || parsed.Hostname() == "" || (parsed.Scheme != "http" && parsed.Scheme != "https") {
		return &Error{Kind: Misuse, Message: "URL is no http:// or https:// URL", Cause: err}
	}
	for name, values := range header {
		for _, value := range values {
			if !token.MatchString(name) || strings.ContainsAny(value, unsendable) {
				return &Error{Kind: Misuse, Message: fmt.Sprintf("the header %q cannot be sent", name)}
			}
		}
	}
	if len(header["Idempotency-Key"]) > 0 {
		return &Error{Kind: Misuse, Message: "give the key as Key, not as a header"}
	}
	return nil
}

func (c *Caller) once(ctx context.Context, state *callState, clock Clock) (*Answer, *failed) {
	state.tries++
	timeout := orDefault(c.TryTimeout, 30*time.Second)
	if left := state.end.Sub(clock.Now()); left < timeout {
		timeout = left
	}
	wire, lost := send(ctx, withoutRedirects(c.HTTP), state.call.Method, state.call.URL, state.header, state.call.Body, timeout)
	if lost != nil {
		state.doubt = state.doubt || lost.sent
		kind := Unavailable
		if state.doubt && !state.safe {
			kind = Unknown
		}
		return nil, &failed{again: true, err: &Error{Kind: kind, Message: "no answer", Key: state.call.Key, Cause: lost.cause}}
	}
	return state.answered(wire)
}

func (s *callState) answered(wire *wireAnswer) (*Answer, *failed) {
	answer := &Answer{Status: wire.status, Header: wire.header, Body: wire.body, Key: s.call.Key, Tries: s.tries}
	means := judge(wire, s.doubt && !s.safe)
	if means.kind == "" {
		return answer, nil
	}
	// Without a key there is no other try whose answer this could be: it is the API's own.
	byPawl := len(wire.header.Values("Pawl-Should-Retry")) > 0
	if means.again && !s.mayRetry && !byPawl && wire.status < 500 {
		return answer, nil
	}
	s.doubt = s.doubt || (means.again && means.perhaps)
	kind := means.kind
	if s.safe && kind == Unknown {
		kind = Unavailable
	} else if !s.safe && s.doubt {
		kind = Unknown // a new key would do it twice
	}
	err := &Error{Kind: kind, Message: fmt.Sprintf("%d %s", wire.status, means.code), Key: s.call.Key, Code: means.code, Status: wire.status, Answer: answer}
	return nil, &failed{again: means.again, after: retryAfter(wire.header, time.Now()), err: err}
}

func orDefault(given, otherwise time.Duration) time.Duration {
	if given > 0 {
		return given
	}
	return otherwise
}

func clockOr(given *Clock) Clock {
	if given != nil {
		return *given
	}
	return systemClock
}

// jitter is a random part between 0 and 1; it needs no seed and may be asked from everywhere at once.
func jitter() float64 {
	var b [8]byte
	if _, err := rand.Read(b[:]); err != nil {
		return 1
	}
	return float64(binary.BigEndian.Uint64(b[:])>>11) / (1 << 53)
}
