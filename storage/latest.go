package storage

import "time"

// Latest is the content of LATEST.json: for people and tools, never trusted by
// a restart.
type Latest struct {
	Checkpoint string    `json:"checkpoint"`
	Version    uint64    `json:"version"`
	Attempt    string    `json:"attempt"`
	Lineage    string    `json:"lineage"`
	Directory  string    `json:"directory"`
	Iteration  *int64    `json:"iteration"`
	Ranks      int       `json:"ranks"`
	Created    time.Time `json:"created"`
}
