// Prints what a URL has, by net/http as it comes.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
	"time"
)

func main() {
	client := http.Client{Timeout: 20 * time.Second}
	answer, err := client.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer answer.Body.Close()
	io.Copy(os.Stdout, answer.Body)
	if answer.StatusCode != 200 {
		os.Exit(1)
	}
}
