package pawl

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"regexp"
	"sort"
	"strconv"
	"strings"
	"time"
)

// Reply is what a handler returns. Below 500 it is stored and committed with the handler's rows, a 4xx too.
type Reply struct {
	Status int
	Header http.Header
	Body   []byte
}

// JSON is a reply with a JSON body.
func JSON(status int, value any) (Reply, error) {
	body, err := json.Marshal(value)
	return Reply{Status: status, Header: http.Header{"Content-Type": {"application/json"}}, Body: body}, err
}

// Transaction is the request as the handler sees it.
type Transaction struct {
	Guarded
	external bool
}

// ActsOutside is to be said before anything that a rollback cannot undo. (Better: enqueue it.)
func (t *Transaction) ActsOutside() { t.external = true }

// Transactional makes a handler one transaction: http.Handle("/v1/payments", &pawl.Transactional{DB: db, Handle: pay}).
type Transactional struct {
	DB     *sql.DB
	Handle func(ctx context.Context, tx *sql.Tx, request *http.Request, guarded *Transaction) (Reply, error)
	// IdleTimeout: a transaction that hangs holds its key's row; 10 seconds unless given, negative: the server's setting.
	IdleTimeout time.Duration
	// OnStep is called at received, worked, completed, committed: for traces and crash tests.
	OnStep  func(step string)
	OnError func(err error)
}

func (t *Transactional) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	reply := t.Run(request)
	for name, values := range reply.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(reply.Status)
	_, _ = w.Write(reply.Body) // a client that hung up changes nothing: it is committed
}

// Run carries the request out, and says in Pawl-Outcome what became of it.
func (t *Transactional) Run(request *http.Request) (reply Reply) {
	// A client that hangs up must not end a transaction at an unknown place.
	ctx := context.Background()
	progress := &progress{}
	reply, err := t.run(ctx, request, progress)
	if err == nil {
		return reply
	}
	t.report(err)
	return progress.failed(err)
}

// report: an error handler that fails does not change what became of the request.
func (t *Transactional) report(err error) {
	defer func() { _ = recover() }()
	if t.OnError != nil {
		t.OnError(err)
	}
}

type progress struct {
	transaction Transaction
	committing  bool
	marker      string // a setting that is local to the transaction: what ends it unseen ends the setting too
}

func (t *Transactional) step(name string) {
	if t.OnStep != nil {
		t.OnStep(name)
	}
}

func (t *Transactional) run(ctx context.Context, request *http.Request, progress *progress) (Reply, error) {
	guarded, err := GuardedRequest(request.Header)
	if err != nil {
		return Reply{}, err
	}
	progress.transaction.Guarded = guarded
	t.step("received")
	tx, err := t.DB.BeginTx(ctx, nil)
	if err != nil {
		return Reply{}, err
	}
	reply, err := t.inTransaction(ctx, tx, request, progress)
	if err != nil && !progress.committing {
		err = progress.rollBack(ctx, tx, err)
	}
	return reply, err
}

func (t *Transactional) inTransaction(ctx context.Context, tx *sql.Tx, request *http.Request, progress *progress) (Reply, error) {
	returned := false
	defer func() {
		if !returned {
			_ = tx.Rollback() // the handler panics
		}
	}()
	reply, err := t.work(ctx, tx, request, progress)
	returned = true
	if err != nil {
		return Reply{}, err
	}
	if reply.Status >= 500 {
		if err := progress.rollBack(ctx, tx, nil); err != nil {
			return Reply{}, err
		}
		reply.Header = reply.Header.Clone()
		if reply.Header == nil {
			reply.Header = http.Header{}
		}
		reply.Header.Set("Pawl-Outcome", progress.outcome())
		return reply, nil
	}
	if err := progress.complete(ctx, tx, reply); err != nil {
		return Reply{}, err
	}
	t.step("completed")
	progress.committing = true
	if err := tx.Commit(); err != nil {
		return Reply{}, err
	}
	t.step("committed")
	return reply, nil
}

func (t *Transactional) work(ctx context.Context, tx *sql.Tx, request *http.Request, progress *progress) (Reply, error) {
	marker, err := newOwner()
	if err != nil {
		return Reply{}, err
	}
	progress.marker = marker
	statement, values := "SELECT set_config('pawl.transaction', $1, true)", []any{marker}
	if idle := orIdle(t.IdleTimeout); idle > 0 {
		statement = "SELECT set_config('idle_in_transaction_session_timeout', $1, true), set_config('pawl.transaction', $2, true)"
		values = []any{strconv.FormatInt(idle.Milliseconds(), 10), marker}
	}
	if _, err := tx.ExecContext(ctx, statement, values...); err != nil {
		return Reply{}, err
	}
	reply, err := t.Handle(ctx, tx, request, &progress.transaction)
	if err == nil && (reply.Status < 200 || reply.Status > 599) {
		err = fmt.Errorf("%d is no status", reply.Status)
	}
	t.step("worked")
	return reply, err
}

// complete, in the transaction that the handler was given and in no other.
func (p *progress) complete(ctx context.Context, tx *sql.Tx, reply Reply) error {
	headers, err := headersJSON(reply.Header)
	if err != nil {
		return err
	}
	_, err = run(ctx, In(tx), p.transaction.Guarded, completeSQL+" WHERE current_setting('pawl.transaction', true) = $7",
		reply.Status, headers, notNil(reply.Body), p.marker)
	if errors.Is(err, sql.ErrNoRows) || errors.Is(err, sql.ErrTxDone) {
		return p.ended(err)
	}
	return err
}

func (p *progress) ended(cause error) error {
	const why = "the handler ended the transaction itself: what it did need not be with the completion"
	return &Error{Kind: TransactionEnded, Message: why, Key: p.transaction.Key, Cause: cause}
}

// rollBack returns the error, or that the handler had ended the transaction. One that failed, or whose connection is
// lost, is rolled back.
func (p *progress) rollBack(ctx context.Context, tx *sql.Tx, err error) error {
	var one string
	open := tx.QueryRowContext(ctx, "SELECT '1' WHERE current_setting('pawl.transaction', true) = $1", p.marker).Scan(&one)
	_ = tx.Rollback()
	if p.marker != "" && (errors.Is(open, sql.ErrNoRows) || errors.Is(open, sql.ErrTxDone)) && !errors.Is(err, StaleFence) {
		return p.ended(err)
	}
	return err
}

func orIdle(given time.Duration) time.Duration {
	if given == 0 {
		return 10 * time.Second
	}
	return given
}

// SQLSTATE classes that a server reports of a transaction it has rolled back, also at COMMIT.
var rolledBack = regexp.MustCompile(`^(22|23|25|40|42|44|P0|PW)`)

func isRolledBack(err error) bool {
	state := SQLState(err)
	// 25P03, 25P04: the session was ended for its transaction's time; 40003: the server itself does not know.
	return rolledBack.MatchString(state) && state != "40003" && state != "25P03" && state != "25P04"
}

func (p *progress) outcome() string {
	if p.transaction.external {
		return "unknown"
	}
	return "not-executed"
}

func (p *progress) failed(err error) Reply {
	var own *Error
	errors.As(err, &own)
	switch {
	case own != nil && own.Kind == NotGuarded:
		return problemReply(500, own.Message, "not-executed")
	case own != nil && own.Kind == StaleFence:
		return problemReply(503, "another owner has this request; nothing of this try was kept", "unknown")
	case own != nil && own.Kind == TransactionEnded:
		return problemReply(500, own.Message, "unknown")
	case p.committing && !isRolledBack(err):
		return problemReply(500, "the commit was not confirmed; retry with the same key", "unknown")
	case p.transaction.external:
		return problemReply(500, "the transaction was rolled back after an effect outside it", "unknown")
	}
	return problemReply(500, "nothing was committed; retry with the same key", "not-executed")
}

func problemReply(status int, detail, outcome string) Reply {
	body, _ := json.Marshal(map[string]any{"type": "about:blank", "status": status, "detail": detail})
	return Reply{Status: status, Header: http.Header{"Content-Type": {"application/problem+json"}, "Pawl-Outcome": {outcome}}, Body: body}
}

func sortedNames(header http.Header) []string {
	names := make([]string, 0, len(header))
	for name := range header {
		names = append(names, name)
	}
	sort.Slice(names, func(i, j int) bool { return strings.ToLower(names[i]) < strings.ToLower(names[j]) })
	return names
}
