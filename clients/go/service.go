package pawl

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"net/http"
	"regexp"
	"strconv"
)

// Queryer is what *sql.Tx and *sql.Conn have. For pgx see QueryFunc.
type Queryer interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}

// Scanner is one row of a result.
type Scanner interface{ Scan(dest ...any) error }

// QueryFunc runs a statement that returns one row. For pgx:
// func(ctx context.Context, q string, a ...any) pawl.Scanner { return tx.QueryRow(ctx, q, a...) }
type QueryFunc func(ctx context.Context, query string, args ...any) Scanner

// In is the QueryFunc of a transaction of database/sql.
func In(tx Queryer) QueryFunc {
	return func(ctx context.Context, query string, args ...any) Scanner {
		return tx.QueryRowContext(ctx, query, args...)
	}
}

// Guarded is whose request it is, as the gateway forwarded it.
type Guarded struct {
	Scope string
	Key   string
	Fence int64
}

var fenceSyntax = regexp.MustCompile(`^[1-9][0-9]{0,18}$`)

// GuardedRequest takes scope, key and fence of a request that came through a transactional route; else NotGuarded.
func GuardedRequest(header http.Header) (Guarded, error) {
	for _, name := range []string{"Pawl-Scope", "Pawl-Key", "Pawl-Fence"} {
		if values := header.Values(name); len(values) != 1 || values[0] == "" {
			return Guarded{}, &Error{Kind: NotGuarded, Message: name + " is missing: this route must be transactional, and reached through pawl serve"}
		}
	}
	fence, err := strconv.ParseInt(header.Get("Pawl-Fence"), 10, 64)
	if err != nil || !fenceSyntax.MatchString(header.Get("Pawl-Fence")) {
		return Guarded{}, &Error{Kind: NotGuarded, Message: "Pawl-Fence is not a number"}
	}
	return Guarded{header.Get("Pawl-Scope"), header.Get("Pawl-Key"), fence}, nil
}

// SQLState is the SQLSTATE of a driver's error (lib/pq and pgx have it), or empty.
func SQLState(err error) string {
	var state interface{ SQLState() string }
	if errors.As(err, &state) {
		return state.SQLState()
	}
	return ""
}

func run(ctx context.Context, query QueryFunc, request Guarded, statement string, args ...any) (string, error) {
	var result sql.NullString
	err := query(ctx, statement, append([]any{request.Scope, request.Key, request.Fence}, args...)...).Scan(&result)
	switch SQLState(err) {
	case "PW001":
		err = &Error{Kind: StaleFence, Message: "another owner has this request now: roll back", Key: request.Key, Code: "PW001", Cause: err}
	case "PW002":
		err = &Error{Kind: EnqueueConflict, Message: "another message was enqueued here before", Key: request.Key, Code: "PW002", Cause: err}
	}
	return result.String, err
}

// headersJSON is the array of pairs that the SQL functions take.
func headersJSON(header http.Header) (string, error) {
	text, err := json.Marshal(pairsOf(header))
	return string(text), err
}

func pairsOf(header http.Header) [][2]string {
	pairs := [][2]string{}
	for _, name := range sortedNames(header) {
		for _, value := range header[name] {
			pairs = append(pairs, [2]string{name, value})
		}
	}
	return pairs
}

// Complete stores the answer in the service's own transaction. The last statement before COMMIT.
func Complete(ctx context.Context, query QueryFunc, request Guarded, status int, header http.Header, body []byte) error {
	headers, err := headersJSON(header)
	if err != nil {
		return err
	}
	_, err = run(ctx, query, request, completeSQL, status, headers, notNil(body))
	return err
}

const completeSQL = "SELECT pawl.complete($1, $2, $3, $4, $5::jsonb, $6)::text"

// Advance notes how far it got; the lease starts anew.
func Advance(ctx context.Context, query QueryFunc, request Guarded, recoveryPoint string) error {
	_, err := run(ctx, query, request, "SELECT pawl.advance($1, $2, $3, $4)::text", recoveryPoint)
	return err
}

// Release says that nothing happened: it may run again.
func Release(ctx context.Context, query QueryFunc, request Guarded, reason string) error {
	_, err := run(ctx, query, request, "SELECT pawl.release($1, $2, $3, $4)::text", reason)
	return err
}

// Message is an external call that a worker makes after the commit.
type Message struct {
	Destination string
	Body        []byte
	Path        string // below the destination's URL; "/" unless given
	Header      http.Header
	Step        string // tells messages of one transaction to one destination apart; the same in every try
}

// Enqueue enqueues an external call; it returns the message's id.
func Enqueue(ctx context.Context, query QueryFunc, request Guarded, message Message) (string, error) {
	headers, err := headersJSON(message.Header)
	if err != nil {
		return "", err
	}
	path := message.Path
	if path == "" {
		path = "/"
	}
	return run(ctx, query, request, "SELECT pawl.enqueue($1, $2, $3, $4, $5, $6, $7::jsonb, $8)::text",
		message.Destination, notNil(message.Body), path, headers, message.Step)
}

// A nil slice would be NULL.
func notNil(body []byte) []byte {
	if body == nil {
		return []byte{}
	}
	return body
}
