package pawl

import (
	"encoding/json"
	"math"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// What an answer means for the key it was sent under; docs/clients.md has the same tables.
type meaning struct {
	kind    Kind // empty: it is the answer
	again   bool
	perhaps bool // it may have been executed
	code    string
}

func setOf[T comparable](all ...T) map[T]bool {
	set := map[T]bool{}
	for _, each := range all {
		set[each] = true
	}
	return set
}

var (
	misuse = setOf("key-missing", "key-invalid", "key-reused")
	// Pawl's own answers after which nothing was sent on by this try.
	unavailable = setOf("rate-limited", "too-many-keys", "store-unavailable", "upstream-unreachable", "draining", "overloaded", "auth-unavailable")
	refused     = setOf("body-invalid", "unauthenticated", "forbidden", "body-too-large", "abandoned", "stale-request", "bad-request", "uri-too-long",
		"expectation-failed", "headers-too-large", "not-implemented", "version-not-supported", "near-duplicate")
	retried     = setOf(408, 409, 425, 429)
	notBegun    = setOf(408, 425, 429)
	fromInFront = setOf(400, 401, 403, 404, 405, 406, 407, 411, 413, 414, 415, 417, 421, 426, 431, 451)
)

type problem struct {
	code             string
	pawl             bool
	idempotencyError bool
}

func problemOf(answer *wireAnswer) problem {
	found := problem{pawl: len(answer.header.Values("Pawl-Should-Retry")) > 0}
	var body map[string]any
	if answer.status < 400 || json.Unmarshal(answer.body, &body) != nil {
		return found
	}
	inner, _ := body["error"].(map[string]any)
	found.code, _ = body["code"].(string)
	if found.code == "" {
		found.code, _ = inner["code"].(string)
	}
	kind, _ := body["type"].(string)
	found.pawl = found.pawl || strings.HasPrefix(kind, "urn:pawl:problem:")
	found.idempotencyError = inner["type"] == "idempotency_error"
	return found
}

func ofPawl(code string, again bool) meaning {
	switch {
	case again && unavailable[code]:
		return meaning{kind: Unavailable, again: true, code: code}
	case again:
		return meaning{kind: Unknown, again: true, perhaps: true, code: code}
	case misuse[code]:
		return meaning{kind: Misuse, code: code}
	case refused[code]:
		return meaning{kind: Refused, code: code}
	case unavailable[code]:
		return meaning{kind: Unavailable, code: code}
	}
	// outcome-unknown, key-expired, store-restored, caller-unproven, and every code that is not known here.
	return meaning{kind: Unknown, code: code}
}

func ofOthers(answer *wireAnswer, found problem) meaning {
	status := answer.status
	if answer.header.Get("Idempotent-Replayed") == "true" {
		return meaning{}
	}
	if found.idempotencyError && (status == 400 || status == 422) {
		return meaning{kind: Misuse, code: found.code}
	}
	said := answer.header.Get("Stripe-Should-Retry")
	again := said == "true" || (said != "false" && (retried[status] || status >= 500))
	refusal := notBegun[status] || (status == 503 && len(answer.header.Values("Retry-After")) > 0)
	kind := Unknown
	if refusal {
		kind = Unavailable
	}
	if again {
		return meaning{kind: kind, again: true, perhaps: !refusal, code: found.code}
	}
	if status < 500 {
		return meaning{}
	}
	return meaning{kind: kind, code: found.code}
}

// judge; doubt: an earlier try of the same call may have been executed.
func judge(answer *wireAnswer, doubt bool) meaning {
	found := problemOf(answer)
	if found.pawl {
		return ofPawl(found.code, answer.header.Get("Pawl-Should-Retry") == "true")
	}
	means := ofOthers(answer, found)
	if means.kind != "" || !doubt {
		return means
	}
	// A login page or a proxy in front knows nothing of the try before.
	inFront := fromInFront[answer.status] || (answer.status >= 300 && answer.status < 400)
	ofTheKey := answer.header.Get("Idempotent-Replayed") == "true" || answer.header.Get("Pawl-Request-Id") != ""
	if inFront && !ofTheKey {
		return meaning{kind: Unknown, code: found.code}
	}
	return means
}

var seconds = regexp.MustCompile(`^[0-9]+$`)

// retryAfter is what the header says, never more than a minute; 0: nothing usable.
func retryAfter(header http.Header, wallClock time.Time) time.Duration {
	value := strings.TrimSpace(header.Get("Retry-After"))
	var wait time.Duration
	if seconds.MatchString(value) {
		wait = time.Minute
		if whole, err := strconv.ParseInt(value, 10, 64); err == nil && whole < 60 {
			wait = time.Duration(whole) * time.Second
		}
	} else if date, err := http.ParseTime(value); err == nil {
		wait = date.Sub(wallClock)
	}
	if wait <= 0 {
		return 0
	}
	if wait > time.Minute {
		return time.Minute
	}
	return wait
}

// waitFor is how long to wait after the n-th try: what the server asked for and some more, or twice as long each time.
func waitFor(tries int, after time.Duration, random float64) time.Duration {
	if after > 0 {
		return time.Duration(float64(after) * (1 + random/4))
	}
	backoff := math.Min(500*math.Pow(2, float64(tries-1)), 8000)
	return time.Duration(backoff * (0.5 + random/2) * float64(time.Millisecond))
}
