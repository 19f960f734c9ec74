// Package pawltest is a Pawl for unit tests, on loopback and in memory: guarded routes in front of a handler, and the
// key API.
package pawltest

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
)

type object = map[string]any

type kept struct {
	fingerprint, status, owner, point string
	fence                             int64
	attempt                           int
	response                          object
	recorded                          *httptest.ResponseRecorder
}

// Fake follows the contract of pawl serve.
type Fake struct {
	URL          string
	LeaseSeconds float64

	upstream   http.Handler
	server     *httptest.Server
	mutex      sync.Mutex
	executions int
	fence      int64
	routes     map[string]*kept
	keys       map[string]*kept
	faults     []string
}

// New starts a fake in front of a handler; Close ends it.
func New(upstream http.Handler) *Fake {
	fake := &Fake{LeaseSeconds: 30, upstream: upstream, fence: 1_700_000_000_000_000, routes: map[string]*kept{}, keys: map[string]*kept{}}
	fake.server = httptest.NewServer(http.HandlerFunc(fake.serve))
	fake.URL = fake.server.URL
	return fake
}

// Close stops it.
func (f *Fake) Close() { f.server.Close() }

// Executions is how often the handler was really called.
func (f *Fake) Executions() int { f.mutex.Lock(); defer f.mutex.Unlock(); return f.executions }

// LoseNextAnswer: the next request is carried out, and its answer is lost on the way.
func (f *Fake) LoseNextAnswer() { f.fault("lost") }

// FailNext: the next request gets 503 store-unavailable, and nothing is carried out.
func (f *Fake) FailNext() { f.fault("unavailable") }

func (f *Fake) fault(kind string) {
	f.mutex.Lock()
	f.faults = append(f.faults, kind)
	f.mutex.Unlock()
}

// MakeUnknown: from now on it is not known what became of this key.
func (f *Fake) MakeUnknown(key string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if f.routes[key] == nil {
		f.routes[key] = &kept{status: "unknown", attempt: 1}
	}
	for _, each := range []*kept{f.routes[key], f.keys[key]} {
		if each != nil && each.status != "completed" {
			each.status = "unknown"
		}
	}
}

// EndLease: the lease of this key of the key API ends now; as by default, its outcome is unknown.
func (f *Fake) EndLease(key string) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	if each := f.keys[key]; each != nil && each.status == "in_progress" {
		each.status = "unknown"
	}
}

func (f *Fake) serve(w http.ResponseWriter, request *http.Request) {
	f.mutex.Lock()
	defer f.mutex.Unlock()
	body, _ := io.ReadAll(request.Body)
	fault := ""
	if len(f.faults) > 0 {
		fault, f.faults = f.faults[0], f.faults[1:]
	}
	said := httptest.NewRecorder()
	if fault == "unavailable" {
		problem(said, 503, "store-unavailable", true, nil)
	} else if parts := strings.Split(request.URL.EscapedPath(), "/"); len(parts) == 6 && strings.HasPrefix(request.URL.Path, "/_pawl/v1/keys/") {
		key, _ := url.PathUnescape(parts[4])
		f.keyAPI(said, key, parts[5], body)
	} else {
		f.guarded(said, request, body)
	}
	if fault == "lost" {
		panic(http.ErrAbortHandler)
	}
	for name, values := range said.Header() {
		w.Header()[name] = values
	}
	w.WriteHeader(said.Code)
	_, _ = w.Write(said.Body.Bytes())
}

func problem(w http.ResponseWriter, status int, code string, retry bool, more object) {
	w.Header().Set("Content-Type", "application/problem+json")
	w.Header().Set("Pawl-Should-Retry", fmt.Sprint(retry))
	if retry {
		w.Header().Set("Retry-After", "1")
	}
	document := object{"type": "urn:pawl:problem:" + code, "title": code, "status": status, "detail": code, "code": code}
	for name, value := range more {
		document[name] = value
	}
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(document)
}

func hash(parts ...string) string {
	return fmt.Sprintf("%x", sha256.Sum256([]byte(strings.Join(parts, "\n"))))
}

func (f *Fake) pass(w http.ResponseWriter, request *http.Request, body []byte) {
	f.executions++
	request.Body = io.NopCloser(strings.NewReader(string(body)))
	f.upstream.ServeHTTP(w, request)
}

func (f *Fake) guarded(w http.ResponseWriter, request *http.Request, body []byte) {
	if request.Method != http.MethodPost && request.Method != http.MethodPatch {
		f.pass(w, request, body)
		return
	}
	key := request.Header.Get("Idempotency-Key")
	fingerprint := hash(request.Method, request.URL.String(), string(body))
	each := f.routes[key]
	switch {
	case len(request.Header.Values("Idempotency-Key")) == 0:
		problem(w, 400, "key-missing", false, nil)
	case len(key) < 16 || len(key) > 255:
		problem(w, 400, "key-invalid", false, nil)
	case each != nil && each.status == "unknown":
		problem(w, 409, "outcome-unknown", false, nil)
	case each != nil && each.fingerprint != fingerprint:
		problem(w, 422, "key-reused", false, nil)
	case each != nil:
		replay(w, each.recorded, key, true)
	default:
		recorded := httptest.NewRecorder()
		f.pass(recorded, request, body)
		f.routes[key] = &kept{fingerprint: fingerprint, status: "completed", recorded: recorded}
		replay(w, recorded, key, false)
	}
}

func replay(w http.ResponseWriter, recorded *httptest.ResponseRecorder, key string, again bool) {
	for name, values := range recorded.Header() {
		w.Header()[name] = values
	}
	w.Header().Set("Idempotency-Key", key)
	if again {
		w.Header().Set("Idempotent-Replayed", "true")
	}
	w.WriteHeader(recorded.Code)
	_, _ = w.Write(recorded.Body.Bytes())
}

type keyCall struct {
	Owner, After, Fingerprint string
	Fence                     int64
	RecoveryPoint             string `json:"recovery_point"`
	Request                   any
	Response                  object
}

func (f *Fake) keyAPI(w http.ResponseWriter, key, verb string, body []byte) {
	var call keyCall
	if json.Unmarshal(body, &call) != nil {
		problem(w, 400, "body-invalid", false, nil)
		return
	}
	if verb == "reserve" {
		f.reserve(w, key, call)
		return
	}
	each := f.keys[key]
	if each == nil {
		problem(w, 404, "not-found", false, nil)
		return
	}
	done := map[string]string{"complete": "completed", "release": "failed_retryable"}[verb]
	mine := each.owner == call.Owner && each.fence == call.Fence
	if mine && done != "" && each.status == done {
		f.grant(w, 200, key, each, object{})
		return
	}
	holds := mine && (each.status == "in_progress" || (done != "" && each.status == "unknown"))
	if !holds || (verb == "advance" && each.point != call.After && each.point != call.RecoveryPoint) {
		problem(w, 409, "stale-fence", false, object{"key_status": each.status})
		return
	}
	if verb == "advance" {
		each.point = call.RecoveryPoint
	}
	if verb == "complete" {
		each.response = stored(call.Response)
	}
	if done != "" {
		each.status = done
	}
	f.grant(w, 200, key, each, object{})
}

func (f *Fake) reserve(w http.ResponseWriter, key string, call keyCall) {
	fingerprint := call.Fingerprint
	if fingerprint == "" {
		text, _ := json.Marshal(call.Request) // names sorted
		fingerprint = hash(string(text))
	}
	each := f.keys[key]
	switch {
	case each == nil:
		f.keys[key] = f.granted(fingerprint, call.Owner, 1, "")
	case each.fingerprint != fingerprint:
		problem(w, 422, "key-reused", false, object{"decision": "misuse"})
		return
	case each.status == "completed":
		f.grant(w, 200, key, each, object{"decision": "replay", "response": each.response})
		return
	case each.status == "unknown":
		problem(w, 409, "outcome-unknown", false, object{"decision": "undetermined"})
		return
	case each.status == "failed_retryable" && each.owner == call.Owner:
		problem(w, 409, "stale-fence", false, object{"decision": "spent"})
		return
	case each.status == "failed_retryable":
		f.keys[key] = f.granted(fingerprint, call.Owner, each.attempt+1, each.point)
	case each.owner != call.Owner:
		problem(w, 409, "in-flight", true, object{"decision": "in_flight"})
		return
	}
	f.grant(w, 201, key, f.keys[key], object{"decision": "execute"})
}

func (f *Fake) granted(fingerprint, owner string, attempt int, point string) *kept {
	f.fence++
	return &kept{fingerprint: fingerprint, status: "in_progress", owner: owner, fence: f.fence, attempt: attempt, point: point}
}

func (f *Fake) grant(w http.ResponseWriter, status int, key string, each *kept, body object) {
	body["key"], body["status"], body["fence"], body["attempt"], body["recovery_point"] = key, each.status, each.fence, each.attempt, each.point
	body["lease_expires_at"], body["lease_seconds"] = nil, nil
	if each.status == "in_progress" {
		body["lease_seconds"] = f.LeaseSeconds
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body)
}

func stored(response object) object {
	headers, _ := response["headers"].([]any)
	body, _ := response["body"].(string)
	if value, ok := response["body_json"]; ok {
		text, _ := json.Marshal(value)
		body = string(text)
		headers = append(headers, []any{"Content-Type", "application/json"})
	}
	if value, ok := response["body_base64"].(string); ok {
		bytes, _ := base64.StdEncoding.DecodeString(value)
		body = string(bytes)
	}
	status, given := response["status"]
	if !given {
		status = 200
	}
	if headers == nil {
		headers = []any{}
	}
	return object{"status": status, "headers": headers, "body": body}
}
