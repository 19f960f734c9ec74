package pawl

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"
)

type wireAnswer struct {
	status int
	header http.Header
	body   []byte
}

// noAnswer: sent says that a byte of the request may have left, so that it may have been executed.
type noAnswer struct {
	sent  bool
	cause error
}

func (e *noAnswer) Error() string { return e.cause.Error() }

// withoutRedirects returns the client as one that follows none: the server has had the request.
func withoutRedirects(client *http.Client) *http.Client {
	if client == nil {
		client = http.DefaultClient
	}
	own := *client
	own.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	return &own
}

func send(ctx context.Context, client *http.Client, method, url string, header http.Header, body []byte, timeout time.Duration) (*wireAnswer, *noAnswer) {
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var sent atomic.Bool
	// From the moment there is a connection a byte may leave.
	ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { sent.Store(true) }})
	request, err := http.NewRequestWithContext(ctx, method, url, bytes.NewReader(body))
	if err != nil {
		return nil, &noAnswer{false, err}
	}
	request.Header = header.Clone()
	if len(body) > 0 {
		request.GetBody = nil // else the transport sends it again by itself, unseen
	} else {
		request.Body = http.NoBody
		// The transport repeats a request without a body by itself if it finds this name, spelled so, in its header.
		if key, given := request.Header["Idempotency-Key"]; given {
			delete(request.Header, "Idempotency-Key")
			request.Header["idempotency-key"] = key
		}
	}
	response, err := client.Do(request)
	if err != nil {
		return nil, &noAnswer{sent.Load(), err}
	}
	defer response.Body.Close()
	if response.StatusCode < 200 { // there is more to come, or another protocol begins
		return nil, &noAnswer{true, fmt.Errorf("%d is no answer", response.StatusCode)}
	}
	all, err := io.ReadAll(response.Body)
	if err != nil {
		return nil, &noAnswer{true, err}
	}
	return &wireAnswer{response.StatusCode, response.Header, all}, nil
}
