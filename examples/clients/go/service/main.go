// A payments service: the row and the answer commit together, or neither does.
package main

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"log"
	"net"
	"net/http"
	"os"

	_ "github.com/lib/pq"
	pawl "pawl.dev/client"
)

func pay(ctx context.Context, tx *sql.Tx, request *http.Request, _ *pawl.Transaction) (pawl.Reply, error) {
	var payment struct {
		Order  string
		Amount int64
	}
	if err := json.NewDecoder(request.Body).Decode(&payment); err != nil || payment.Amount <= 0 {
		return pawl.JSON(422, map[string]string{"detail": "amount must be a positive integer"})
	}
	var id int64
	row := tx.QueryRowContext(ctx, "INSERT INTO payments (order_id, amount) VALUES ($1, $2) RETURNING id", payment.Order, payment.Amount)
	if err := row.Scan(&id); err != nil {
		return pawl.Reply{}, err // rolled back
	}
	return pawl.JSON(201, map[string]int64{"id": id})
}

func main() {
	db, err := sql.Open("postgres", os.Getenv("DATABASE_URL")+"?sslmode=disable")
	if err != nil {
		log.Fatal(err)
	}
	http.Handle("/v1/payments", &pawl.Transactional{DB: db, Handle: pay, OnError: func(err error) { log.Print(err) }})
	port := os.Getenv("PORT")
	if port == "" {
		port = "3000"
	}
	listener, err := net.Listen("tcp", "127.0.0.1:"+port)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("listening")
	log.Fatal(http.Serve(listener, nil))
}
