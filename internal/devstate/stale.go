package devstate

import (
	"cmp"
	"fmt"
	"os"
)

// DirVariable is the environment variable that `pawl dev env` sets to the directory of the `pawl dev`.
const DirVariable = "PAWL_DEV_DIR"

// Stale returns a sentence if the environment is of a `pawl dev` that has ended, or that has other servers by now. Otherwise it
// returns "". A program that cannot reach a server adds the sentence to its error.
func Stale() string {
	dir := os.Getenv(DirVariable)
	if dir == "" {
		return ""
	}
	s, err := find(dir)
	switch {
	case err != nil:
		return ""
	case s == nil:
		return fmt.Sprintf("the environment is of a `pawl dev` in %s that has ended: in a new shell, or after `unset TEMPORAL_ADDRESS PAWL_DATABASE_URL %s`, "+
			"start `pawl dev` there again, and then run `eval \"$(pawl dev env)\"`", dir, DirVariable)
	case os.Getenv("TEMPORAL_ADDRESS") != s.Temporal, cmp.Or(os.Getenv("PAWL_DATABASE_URL"), s.DatabaseURL) != s.DatabaseURL:
		return fmt.Sprintf("the environment is of an earlier `pawl dev` in %s: run `eval \"$(pawl dev env)\"` there again", dir)
	}
	return ""
}

// Explain returns err with the sentence of Stale, if there is one.
func Explain(err error) error {
	if sentence := Stale(); err != nil && sentence != "" {
		return fmt.Errorf("%w; %s", err, sentence)
	}
	return err
}
