// A payments service, a caller and a consumer on clients/go, which stop where the crash test wants them.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	_ "github.com/lib/pq"
	pawl "pawl.dev/client"
)

func step(name string) {
	fmt.Println("at " + name)
	for os.Getenv("STOP_AT") == name {
		if _, err := os.Stat(os.Getenv("GO_FILE")); err == nil {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func open() *sql.DB {
	db, err := sql.Open("postgres", os.Getenv("DATABASE_URL")+"?sslmode=disable")
	if err != nil {
		panic(err)
	}
	return db
}

func pay(ctx context.Context, tx *sql.Tx, request *http.Request, guarded *pawl.Transaction) (pawl.Reply, error) {
	var payment struct{ Amount int64 }
	if err := json.NewDecoder(request.Body).Decode(&payment); err != nil {
		return pawl.JSON(400, map[string]string{"detail": "the body must be JSON"})
	}
	var id int64
	row := tx.QueryRowContext(ctx, "INSERT INTO payments (key, amount) VALUES ($1, $2) RETURNING id", guarded.Key, payment.Amount)
	if err := row.Scan(&id); err != nil {
		return pawl.Reply{}, err
	}
	return pawl.JSON(201, map[string]int64{"id": id, "amount": payment.Amount})
}

func service(port string) error {
	http.Handle("/v1/payments", &pawl.Transactional{DB: open(), Handle: pay, OnStep: step,
		OnError: func(err error) { fmt.Println("error", err) }})
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		return err
	}
	fmt.Println("listening")
	return http.Serve(listener, nil)
}

func call(url, key string) error {
	caller := &pawl.Caller{Deadline: 90 * time.Second, TryTimeout: 20 * time.Second}
	answer, err := caller.PostJSON(context.Background(), key, url+"/v1/payments", map[string]int{"amount": 1000})
	if err == nil {
		show(map[string]any{"status": answer.Status, "body": string(answer.Body), "replayed": answer.Replayed()})
	}
	return err
}

func consume(url, key string) error {
	bank := open()
	consumer := &pawl.Consumer{URL: url}
	done, err := consumer.Run(context.Background(), key, map[string]int{"amount": 1000}, func(ctx context.Context, job *pawl.Job) (pawl.Reply, error) {
		step("reserved")
		if _, err := bank.ExecContext(ctx, "INSERT INTO payouts (key) VALUES ($1)", key); err != nil {
			return pawl.Reply{}, err
		}
		step("acted")
		return pawl.JSON(201, map[string]string{"id": key})
	})
	if err != nil {
		return err
	}
	step("finished")
	outcome := "done"
	if done.Replayed {
		outcome = "replayed"
	}
	show(map[string]any{"outcome": outcome, "status": done.Status, "body": string(done.Body)})
	return nil
}

func show(value map[string]any) {
	line, _ := json.Marshal(value)
	fmt.Println(string(line))
}

func main() {
	var err error
	switch os.Args[1] {
	case "service":
		err = service(os.Args[2])
	case "call":
		err = call(os.Args[2], os.Args[3])
	case "consume":
		err = consume(os.Args[2], os.Args[3])
	}
	var own *pawl.Error
	if errors.As(err, &own) {
		show(map[string]any{"outcome": string(own.Kind), "detail": own.Error()})
	} else if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}
