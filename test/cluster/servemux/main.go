// Command servemux reports which of several patterns net/http.ServeMux chooses for each path.
package main

import (
	"encoding/json"
	"log"
	"net/http"
	"net/http/httptest"
	"net/url"
	"os"
)

type set struct {
	Patterns []string `json:"patterns"`
	Paths    []string `json:"paths"`
}

// choice is the index of the pattern that a handler was registered for.
type choice int

func (choice) ServeHTTP(http.ResponseWriter, *http.Request) {}

const (
	noPattern = -1
	redirect  = -2
)

// chosenPatterns returns for each path the index of a pattern, noPattern or redirect. It returns nil if ServeMux rejects the patterns.
func chosenPatterns(s set) (choices []int) {
	defer func() {
		if recover() != nil {
			choices = nil
		}
	}()
	mux := http.NewServeMux()
	for index, pattern := range s.Patterns {
		mux.Handle(pattern, choice(index))
	}
	choices = []int{}
	for _, path := range s.Paths {
		handler, _ := mux.Handler(&http.Request{Method: "GET", URL: &url.URL{Path: path}})
		if found, ok := handler.(choice); ok {
			choices = append(choices, int(found))
			continue
		}
		recorder := httptest.NewRecorder()
		handler.ServeHTTP(recorder, httptest.NewRequest("GET", path, nil))
		if recorder.Code == http.StatusNotFound {
			choices = append(choices, noPattern)
		} else {
			choices = append(choices, redirect)
		}
	}
	return choices
}

func main() {
	var sets []set
	if err := json.NewDecoder(os.Stdin).Decode(&sets); err != nil {
		log.Fatal(err)
	}
	all := [][]int{}
	for _, s := range sets {
		all = append(all, chosenPatterns(s))
	}
	if err := json.NewEncoder(os.Stdout).Encode(all); err != nil {
		log.Fatal(err)
	}
}
