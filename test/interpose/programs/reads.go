// Writes files to standard output: `reads PATH...`.
package main

import (
	"log"
	"os"
)

func main() {
	for _, path := range os.Args[1:] {
		bytes, err := os.ReadFile(path)
		if err == nil {
			_, err = os.Stdout.Write(bytes)
		}
		if err != nil {
			log.Fatal(err)
		}
	}
}
