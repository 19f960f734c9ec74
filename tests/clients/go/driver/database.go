package main

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strconv"
	"strings"

	pawl "pawl.dev/client"
)

// As much of a PostgreSQL driver as the client uses; it fails where it is told to.
type fakeDB struct {
	fails, state string
	log          []string
	marker       any // as PostgreSQL keeps a setting that is local to a transaction
	query        string
	args         []driver.NamedValue
}

type dbError struct{ state string }

func (e dbError) Error() string    { return "db " + e.state }
func (e dbError) SQLState() string { return e.state }

func (f *fakeDB) fail(kind string) error {
	if f.fails != kind && f.fails != "any" {
		return nil
	}
	if f.state == "" {
		return errors.New("connection reset by peer")
	}
	return dbError{f.state}
}

func (f *fakeDB) Connect(context.Context) (driver.Conn, error) {
	if f.fails == "connect" {
		return nil, f.fail("connect")
	}
	return &fakeConn{f}, nil
}
func (f *fakeDB) Driver() driver.Driver { return nil }

type fakeConn struct{ db *fakeDB }

func (c *fakeConn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not used") }
func (c *fakeConn) Close() error                        { return nil }
func (c *fakeConn) Begin() (driver.Tx, error)           { return c, nil }
func (c *fakeConn) Commit() error {
	if err := c.db.fail("commit"); err != nil {
		return err
	}
	c.db.marker = nil
	c.db.log = append(c.db.log, "COMMIT")
	return nil
}
func (c *fakeConn) Rollback() error {
	c.db.marker = nil
	c.db.log = append(c.db.log, "ROLLBACK")
	return nil
}
func (c *fakeConn) ExecContext(_ context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	if strings.Contains(query, "set_config") {
		c.db.marker = args[len(args)-1].Value
	}
	if strings.HasPrefix(query, "INSERT") {
		return driver.ResultNoRows, c.db.fail("work")
	}
	return driver.ResultNoRows, nil
}
func (c *fakeConn) QueryContext(_ context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	c.db.query, c.db.args = query, args
	ended := strings.Contains(query, "current_setting") && args[len(args)-1].Value != c.db.marker
	return &oneRow{done: ended}, c.db.fail("complete")
}

type oneRow struct{ done bool }

func (r *oneRow) Columns() []string { return []string{"id"} }
func (r *oneRow) Close() error      { return nil }
func (r *oneRow) Next(dest []driver.Value) error {
	if r.done {
		return io.EOF
	}
	r.done, dest[0] = true, "x"
	return nil
}

func guardedHeader(without string) http.Header {
	header := http.Header{"Pawl-Scope": {"tenant-a"}, "Pawl-Key": {"order-4711-payment"}, "Pawl-Fence": {"1767225600000000"}}
	header.Del(without)
	return header
}

func sqlCase(wanted caseLine) object {
	fake := &fakeDB{state: wanted.Sqlstate}
	if wanted.Sqlstate != "" {
		fake.fails = "any"
	}
	db := sql.OpenDB(fake)
	defer db.Close()
	ctx := context.Background()
	request, err := pawl.GuardedRequest(guardedHeader(wanted.Without))
	if err == nil {
		tx, _ := db.BeginTx(ctx, nil)
		in := pawl.In(tx)
		switch wanted.Op {
		case "complete":
			err = pawl.Complete(ctx, in, request, 201, http.Header{"Content-Type": {"application/json"}}, []byte(`{"id":1}`))
		case "advance":
			err = pawl.Advance(ctx, in, request, "charged")
		case "release":
			err = pawl.Release(ctx, in, request, "closed")
		case "enqueue":
			_, err = pawl.Enqueue(ctx, in, request, pawl.Message{Destination: "bank", Body: []byte("{}"), Path: "/payouts", Step: "first"})
		}
		_ = tx.Rollback()
	}
	if err != nil {
		return object{"error": failure(err)["outcome"]}
	}
	return object{"sql": regexp.MustCompile(`pawl\.\w+`).FindString(fake.query), "values": shown(fake.args)}
}

// Values as the other languages show them: pairs of headers as an object, bytes as text, the fence as text.
func shown(args []driver.NamedValue) []any {
	values := []any{}
	for at, arg := range args {
		value := any(arg.Value)
		if bytes, ok := value.([]byte); ok {
			value = string(bytes)
		}
		if text, ok := value.(string); ok && strings.HasPrefix(text, "[") {
			var pairs [][2]string
			_ = json.Unmarshal([]byte(text), &pairs)
			all := object{}
			for _, pair := range pairs {
				all[pair[0]] = pair[1]
			}
			value = all
		}
		if at == 2 {
			value = strconv.FormatInt(arg.Value.(int64), 10)
		}
		values = append(values, value)
	}
	return values
}

func transaction(wanted caseLine) object {
	fake := &fakeDB{fails: wanted.Fails, state: wanted.Sqlstate}
	db := sql.OpenDB(fake)
	defer db.Close()
	handler := &pawl.Transactional{DB: db, Handle: func(ctx context.Context, tx *sql.Tx, _ *http.Request, guarded *pawl.Transaction) (pawl.Reply, error) {
		if wanted.External {
			guarded.ActsOutside()
		}
		if _, err := tx.ExecContext(ctx, "INSERT"); err != nil {
			return pawl.Reply{}, err
		}
		if strings.HasPrefix(wanted.Fails, "ended") {
			_ = tx.Commit()
		}
		if wanted.Fails == "handler" || wanted.Fails == "ended_then_raised" {
			return pawl.Reply{}, errors.New("handler")
		}
		return pawl.JSON(wanted.Reply, object{})
	}}
	if wanted.OnError != "" {
		handler.OnError = func(error) { panic("the log is full") }
	}
	request := httptest.NewRequest(http.MethodPost, "/v1/payments", nil)
	if wanted.Fails != "unguarded" {
		request.Header = guardedHeader("")
	}
	recorder := httptest.NewRecorder()
	handler.ServeHTTP(recorder, request)
	return object{"status": recorder.Code, "outcome": recorder.Header().Get("Pawl-Outcome"), "ends": strings.Join(fake.log, ",")}
}
