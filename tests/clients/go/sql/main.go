// The calls of service.py on database/sql with lib/pq.
package main

import (
	"context"
	"database/sql"
	"os"

	_ "github.com/lib/pq"
	pawl "pawl.dev/client"
	"pawl.dev/client/tests/sqlcalls"
)

func main() {
	db, err := sql.Open("postgres", os.Getenv("DATABASE_URL")+"?sslmode=disable")
	if err != nil {
		panic(err)
	}
	sqlcalls.Serve(sqlcalls.Driver{DB: db, Begin: func(ctx context.Context) (sqlcalls.Transaction, error) {
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return sqlcalls.Transaction{}, err
		}
		return sqlcalls.Transaction{Query: pawl.In(tx), End: func(_ context.Context, commit bool) error {
			if commit {
				return tx.Commit()
			}
			return tx.Rollback()
		}}, nil
	}})
}
