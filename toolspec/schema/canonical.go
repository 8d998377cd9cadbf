package schema

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"fmt"

	"github.com/go-json-experiment/json/jsontext"
)

// Canonical returns raw in the canonical form of RFC 8785. It refuses what
// [CheckJSON] refuses. It rounds numbers to float64 as the RFC says: where that
// would merge two values, [CheckNumbers] goes first.
func Canonical(raw []byte) ([]byte, error) {
	if problem := CheckJSON(raw); problem != nil {
		return nil, fmt.Errorf("canonical form: %w", problem)
	}
	value := jsontext.Value(bytes.Clone(raw))
	if err := value.Canonicalize(); err != nil {
		return nil, fmt.Errorf("canonical form: %w", syntaxProblem(err))
	}
	return value, nil
}

// Digest is the lower-case hex SHA-256 of [Canonical].
func Digest(raw []byte) (string, error) {
	canonical, err := Canonical(raw)
	if err != nil {
		return "", err
	}
	sum := sha256.Sum256(canonical)
	return hex.EncodeToString(sum[:]), nil
}
