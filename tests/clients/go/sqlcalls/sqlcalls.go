// Package sqlcalls carries out the calls of service.py with clients/go, on whatever driver it is given.
package sqlcalls

import (
	"bufio"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"

	pawl "pawl.dev/client"
)

// Transaction is one of the driver under test.
type Transaction struct {
	Query pawl.QueryFunc
	End   func(ctx context.Context, commit bool) error
}

// Driver begins transactions of its own kind, and has a database/sql for handlers.
type Driver struct {
	Begin func(ctx context.Context) (Transaction, error)
	DB    *sql.DB
}

type call struct {
	Op, Body, Point, Reason, Destination, Path, Step string
	Status                                           int
	Headers                                          map[string]string
}

type line struct {
	Headers map[string]string
	End     string
	Calls   []call
	Handler string
}

const insert = "INSERT INTO payments (key, amount) VALUES ($1, 1000) RETURNING id::text"

func headerOf(all map[string]string) http.Header {
	header := http.Header{}
	for name, value := range all {
		header.Set(name, value)
	}
	return header
}

func carryOut(ctx context.Context, in pawl.QueryFunc, request pawl.Guarded, c call) (string, error) {
	switch c.Op {
	case "complete":
		return "ok", pawl.Complete(ctx, in, request, c.Status, headerOf(c.Headers), []byte(c.Body))
	case "advance":
		return "ok", pawl.Advance(ctx, in, request, c.Point)
	case "release":
		return "ok", pawl.Release(ctx, in, request, c.Reason)
	case "enqueue":
		id, err := pawl.Enqueue(ctx, in, request, pawl.Message{Destination: c.Destination, Body: []byte(c.Body), Path: c.Path,
			Header: headerOf(c.Headers), Step: c.Step})
		return "id " + id, err
	}
	var id string
	return "ok", in(ctx, insert, request.Key).Scan(&id)
}

func transaction(driver Driver, wanted line) []string {
	ctx := context.Background()
	request, err := pawl.GuardedRequest(headerOf(wanted.Headers))
	if err != nil {
		return []string{err.Error()}
	}
	tx, err := driver.Begin(ctx)
	if err != nil {
		return []string{err.Error()}
	}
	results := []string{}
	for _, each := range wanted.Calls {
		result, err := carryOut(ctx, tx.Query, request, each)
		var own *pawl.Error
		if errors.As(err, &own) {
			result = string(own.Kind)
		} else if err != nil {
			result = err.Error()
		}
		results = append(results, result)
	}
	if err := tx.End(ctx, wanted.End == "commit"); err != nil {
		results = append(results, err.Error())
	}
	return results
}

func handle(ends string) func(context.Context, *sql.Tx, *http.Request, *pawl.Transaction) (pawl.Reply, error) {
	return func(ctx context.Context, tx *sql.Tx, _ *http.Request, guarded *pawl.Transaction) (pawl.Reply, error) {
		if _, err := tx.ExecContext(ctx, "INSERT INTO payments (key, amount) VALUES ($1, 1000)", guarded.Key); err != nil {
			return pawl.Reply{}, err
		}
		switch ends {
		case "commit", "commit_then_5xx", "commit_then_raise":
			_ = tx.Commit()
		case "rollback":
			_ = tx.Rollback()
		case "give_back":
			_, _ = tx.ExecContext(ctx, "COMMIT")
		case "failed_statement":
			if _, err := tx.ExecContext(ctx, "SELECT 1 / 0"); err != nil {
				return pawl.Reply{}, err
			}
		}
		switch ends {
		case "raise", "commit_then_raise":
			return pawl.Reply{}, errors.New("the handler failed")
		case "5xx", "commit_then_5xx":
			return pawl.JSON(503, map[string]string{})
		}
		return pawl.JSON(201, map[string]string{})
	}
}

// Serve answers each line of standard input with one.
func Serve(driver Driver) {
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var wanted line
		if err := json.Unmarshal(lines.Bytes(), &wanted); err != nil {
			panic(err)
		}
		said := map[string]any{}
		if wanted.Handler == "" {
			said["results"] = transaction(driver, wanted)
		} else {
			request := httptest.NewRequest(http.MethodPost, "/v1/payments", nil)
			request.Header = headerOf(wanted.Headers)
			recorder := httptest.NewRecorder()
			(&pawl.Transactional{DB: driver.DB, Handle: handle(wanted.Handler)}).ServeHTTP(recorder, request)
			said["status"], said["outcome"] = recorder.Code, recorder.Header().Get("Pawl-Outcome")
		}
		text, _ := json.Marshal(said)
		fmt.Println(string(text))
	}
}
