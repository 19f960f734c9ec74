// The calls of service.py on pgx: its own transactions by a QueryFunc, handlers by its database/sql driver. Built in GOPATH
// mode on Debian's golang-github-jackc-pgx-v4-dev, whose dependencies have no go.mod that could be replaced one by one.
package main

import (
	"context"
	"database/sql"
	"os"

	"github.com/jackc/pgx/v4/pgxpool"
	_ "github.com/jackc/pgx/v4/stdlib"
	pawl "pawl.dev/client"
	"pawl.dev/client/tests/sqlcalls"
)

func main() {
	url := os.Getenv("DATABASE_URL") + "?sslmode=disable"
	pool, err := pgxpool.Connect(context.Background(), url)
	if err != nil {
		panic(err)
	}
	db, err := sql.Open("pgx", url)
	if err != nil {
		panic(err)
	}
	sqlcalls.Serve(sqlcalls.Driver{DB: db, Begin: func(ctx context.Context) (sqlcalls.Transaction, error) {
		tx, err := pool.Begin(ctx)
		if err != nil {
			return sqlcalls.Transaction{}, err
		}
		query := func(ctx context.Context, statement string, values ...any) pawl.Scanner {
			return tx.QueryRow(ctx, statement, values...)
		}
		return sqlcalls.Transaction{Query: query, End: func(ctx context.Context, commit bool) error {
			if commit {
				return tx.Commit(ctx)
			}
			return tx.Rollback(ctx)
		}}, nil
	}})
}
