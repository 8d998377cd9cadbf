package worker

import (
	"fmt"
	"os"
	"strings"

	"github.com/pawl-run/pawl/internal/postgres"
	"github.com/pawl-run/pawl/internal/secretfile"
)

// maxDatabaseURL is the largest file with the address of a database, in bytes.
const maxDatabaseURL = 16 << 10

// loadDatabaseURL returns the address of the database for Pawl: the value of PAWL_DATABASE_URL, or the content of
// the file that PAWL_DATABASE_URL_FILE names. Without both variables it returns "".
func loadDatabaseURL() (string, error) { return loadURL("PAWL_DATABASE_URL", "PAWL_DATABASE_URL_FILE") }

// LoadTriggerURL returns the address of the database whose notifications are events of triggers: the value of PAWL_TRIGGER_DATABASE_URL, or the content
// of the file that PAWL_TRIGGER_DATABASE_URL_FILE names. Without both variables it returns "".
func LoadTriggerURL() (string, error) {
	const variable = "PAWL_TRIGGER_DATABASE_URL"
	address, err := loadURL(variable, "PAWL_TRIGGER_DATABASE_URL_FILE")
	if err == nil && address != "" {
		if err = postgres.CheckURL(variable, address); err != nil {
			err = fmt.Errorf("config: %w", err)
		}
	}
	return address, err
}

// loadURL returns the value of a variable, or the content of the file that another variable names.
func loadURL(variable, fileVariable string) (string, error) {
	address, file := os.Getenv(variable), os.Getenv(fileVariable)
	if file == "" {
		return address, nil
	}
	if address != "" {
		return "", fmt.Errorf("config: both %s and %s are set: unset one of them", fileVariable, variable)
	}
	text, err := secretfile.Read(file, maxDatabaseURL)
	if err != nil {
		return "", fmt.Errorf("config: %s: %w", fileVariable, err)
	}
	if address = strings.TrimSpace(string(text)); address == "" {
		return "", fmt.Errorf("config: %s names an empty file", fileVariable)
	}
	return address, nil
}
