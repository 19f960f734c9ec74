// Pays an order: pay ORDER AMOUNT. Kill it wherever you like, and run it again.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"strconv"
	"time"

	pawl "pawl.dev/client"
)

// keyOf is the order's key, stored before the first try: a program that is run again must not make another one.
func keyOf(order string) (string, error) {
	file := order + ".key"
	if key, err := os.ReadFile(file); !errors.Is(err, os.ErrNotExist) {
		return string(key), err
	}
	out, err := os.Create(file + ".new")
	if err != nil {
		return "", err
	}
	key := pawl.NewKey()
	if _, err = out.WriteString(key); err == nil {
		err = out.Sync()
	}
	if closed := out.Close(); err == nil {
		err = closed
	}
	if err == nil {
		err = os.Rename(file+".new", file)
	}
	return key, err
}

func or(given, otherwise string) string {
	if given != "" {
		return given
	}
	return otherwise
}

func main() {
	order := os.Args[1]
	amount, err := strconv.Atoi(os.Args[2])
	if err != nil {
		log.Fatal(err)
	}
	deadline, err := strconv.Atoi(or(os.Getenv("DEADLINE_MS"), "120000"))
	if err != nil {
		log.Fatal(err)
	}
	key, err := keyOf(order)
	if err != nil {
		log.Fatal(err)
	}
	caller := &pawl.Caller{Deadline: time.Duration(deadline) * time.Millisecond}
	url := or(os.Getenv("PAWL_URL"), "http://127.0.0.1:8080") + "/v1/payments"
	answer, err := caller.PostJSON(context.Background(), key, url, map[string]any{"order": order, "amount": amount})
	var failed *pawl.Error
	if errors.As(err, &failed) {
		fmt.Printf("%s: run it again, with the same key\n", failed.Kind) // Unknown: it may have been paid
		os.Exit(75)
	} else if err != nil {
		log.Fatal(err)
	}
	said := "new"
	if answer.Replayed() {
		said = "replayed"
	}
	fmt.Println(answer.Status, string(answer.Body), said)
}
