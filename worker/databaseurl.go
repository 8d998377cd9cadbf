package worker

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/pawl-run/pawl/internal/secretfile"
)

// maxDatabaseURL is the largest file of PAWL_DATABASE_URL_FILE, in bytes.
const maxDatabaseURL = 16 << 10

// loadDatabaseURL returns the address of the database for Pawl: the value of PAWL_DATABASE_URL, or the content of
// the file that PAWL_DATABASE_URL_FILE names. Without both variables it returns "".
func loadDatabaseURL() (string, error) {
	address, file := os.Getenv("PAWL_DATABASE_URL"), os.Getenv("PAWL_DATABASE_URL_FILE")
	if file == "" {
		return address, nil
	}
	if address != "" {
		return "", errors.New("config: both PAWL_DATABASE_URL_FILE and PAWL_DATABASE_URL are set: unset one of them")
	}
	text, err := secretfile.Read(file, maxDatabaseURL)
	if err != nil {
		return "", fmt.Errorf("config: PAWL_DATABASE_URL_FILE: %w", err)
	}
	if address = strings.TrimSpace(string(text)); address == "" {
		return "", errors.New("config: PAWL_DATABASE_URL_FILE names an empty file")
	}
	return address, nil
}
