package toolspec

import (
	"crypto/sha256"
	"encoding/base32"
	"encoding/hex"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Bounds of the parts of an identity. A workflow id is at most 255 bytes, the
// width of Temporal's column in Postgres.
const (
	// MaxTenantID bounds a tenantId, in characters of A-Z a-z 0-9 _ . -
	MaxTenantID = 48
	// MaxRunID bounds a runId, in characters of A-Z a-z 0-9 _ . -
	MaxRunID = 64
	// MaxToolCallID bounds a toolCallId, in printable characters.
	MaxToolCallID = 128
	maxPlainCall  = 120
)

// WorkflowType, TaskQueue and TaskTimeout are what every client starts a call with.
const (
	WorkflowType = "InvokeTool"
	TaskQueue    = "pawl"
	// TaskTimeout is the workflow task timeout. After this time, Temporal gives the task of a dead worker to another worker.
	TaskTimeout = 5 * time.Second
)

// Identity names one call. The same identity is the same call, whatever is
// retried, reset, restarted or expired.
type Identity struct {
	TenantID, RunID, ToolCallID string
}

// Check reports the first part that breaks its rule.
func (id Identity) Check() error {
	if err := checkName("context.tenantId", id.TenantID, MaxTenantID); err != nil {
		return err
	}
	if err := checkName("context.runId", id.RunID, MaxRunID); err != nil {
		return err
	}
	return CheckToolCallID(id.ToolCallID)
}

// CheckToolCallID returns an error if no call can have this id. An id has 1–128 printable
// characters.
func CheckToolCallID(id string) error { return checkPrintable("toolCallId", id, MaxToolCallID) }

// WorkflowID is `tool:<tenantId>:<runId>:<call>`. The call part is the
// toolCallId where its characters allow it, else `~` and the first 26
// characters of the lower-case base32 SHA-256 of it.
func (id Identity) WorkflowID() string {
	return "tool:" + id.TenantID + ":" + id.RunID + ":" + callPart(id.ToolCallID)
}

// InvocationID is the first 16 bytes of SHA-256(tenantId NUL runId NUL
// toolCallId), written as a UUID of version 8 (RFC 9562, section 5.8).
func (id Identity) InvocationID() string {
	sum := sha256.Sum256([]byte(id.TenantID + "\x00" + id.RunID + "\x00" + id.ToolCallID))
	u := sum[:16]
	u[6] = u[6]&0x0f | 0x80
	u[8] = u[8]&0x3f | 0x80
	h := hex.EncodeToString(u)
	return h[:8] + "-" + h[8:12] + "-" + h[12:16] + "-" + h[16:20] + "-" + h[20:]
}

// ApprovalID names the n-th approval request of an invocation, n from 1.
func ApprovalID(invocationID string, n int) string {
	return invocationID + "." + strconv.Itoa(n)
}

// SplitApprovalID takes an approval id apart; ok is false if it is not one.
func SplitApprovalID(approvalID string) (invocationID string, n int, ok bool) {
	invocationID, number, found := strings.Cut(approvalID, ".")
	if !found || !IsInvocationID(invocationID) || strings.HasPrefix(number, "0") || strings.HasPrefix(number, "+") {
		return "", 0, false
	}
	n, err := strconv.Atoi(number)
	if err != nil || n < 1 {
		return "", 0, false
	}
	return invocationID, n, true
}

// ResultRef returns the reference to the value in the result of a call, for readers who get only a
// part of the value. It is opaque, as every reference to an output.
func ResultRef(invocationID string) string { return invocationID + resultRef }

const resultRef = ".result"

// SplitResultRef takes a ResultRef apart; ok is false if it is not one.
func SplitResultRef(ref string) (invocationID string, ok bool) {
	invocationID, found := strings.CutSuffix(ref, resultRef)
	if !found || !IsInvocationID(invocationID) {
		return "", false
	}
	return invocationID, true
}

// AnswerRef names the final text of the agent that a call has run.
func AnswerRef(invocationID string) string { return invocationID + answerRef }

const answerRef = ".answer"

// SplitAnswerRef takes an AnswerRef apart; ok is false if it is not one.
func SplitAnswerRef(ref string) (invocationID string, ok bool) {
	invocationID, found := strings.CutSuffix(ref, answerRef)
	if !found || !IsInvocationID(invocationID) {
		return "", false
	}
	return invocationID, true
}

// IsInvocationID reports whether s has the form of an invocation id.
func IsInvocationID(s string) bool {
	if len(s) != 36 {
		return false
	}
	for i, c := range []byte(s) {
		switch i {
		case 8, 13, 18, 23:
			if c != '-' {
				return false
			}
		default:
			if (c < '0' || c > '9') && (c < 'a' || c > 'f') {
				return false
			}
		}
	}
	return true
}

func callPart(toolCallID string) string {
	if checkName("", toolCallID, maxPlainCall) == nil {
		return toolCallID
	}
	sum := sha256.Sum256([]byte(toolCallID))
	return "~" + strings.ToLower(base32.StdEncoding.EncodeToString(sum[:]))[:26]
}

func checkName(field, s string, maxLen int) error {
	if s == "" {
		return fmt.Errorf("%s is missing", field)
	}
	if len(s) > maxLen {
		return fmt.Errorf("%s is longer than %d characters", field, maxLen)
	}
	for _, c := range []byte(s) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && c != '_' && c != '.' && c != '-' {
			return fmt.Errorf("%s may hold only letters, digits, '_', '.' and '-'", field)
		}
	}
	return nil
}

func checkPrintable(field, s string, maxLen int) error {
	if s == "" {
		return fmt.Errorf("%s is missing", field)
	}
	if !utf8.ValidString(s) || utf8.RuneCountInString(s) > maxLen {
		return fmt.Errorf("%s must be at most %d characters of UTF-8", field, maxLen)
	}
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return fmt.Errorf("%s may hold only printable characters", field)
		}
	}
	return nil
}

// CheckConnectionID reports whether calls can name a connection by id: 1–200
// characters as CheckVisible wants them, that do not look like a credential.
func CheckConnectionID(id string) error {
	if err := CheckVisible("a connection id", id, maxLooseID); err != nil {
		return err
	}
	if SecretValue(id) {
		return errors.New("a connection id has not the shape of a credential: calls that name it would be refused")
	}
	return nil
}

// AuditID names the n-th audit entry of an invocation, n from 1.
func AuditID(invocationID string, n int) string {
	return invocationID + "/audit/" + strconv.Itoa(n)
}
