package answer

import (
	"context"
	"encoding/hex"
	"log/slog"

	"github.com/pawl-run/pawl/workflows/contract"
)

// Keys verifies signatures of workers. An error that a retry can correct is marked errs.Transient.
type Keys interface {
	// Verify reports whether a worker has signed the text.
	Verify(ctx context.Context, text []byte, signature string) (bool, error)
}

// Forged names an activity whose answer does not come from a worker. Answer is the digest of that
// answer, in hexadecimal.
type Forged struct{ InvocationID, TenantID, Activity, Answer string }

// Store writes forged answers to the audit trail.
type Store interface {
	Forged(ctx context.Context, in Forged) error
}

// Accepter checks the receipts of answers. All fields are needed.
type Accepter struct {
	Keys  Keys
	Store Store
	Log   *slog.Logger
}

// Accept reports whether a worker has signed the answer. It notes a forged answer in the audit
// trail: somebody with access to the namespace has made it up, or copied it from another
// activity.
func (a *Accepter) Accept(ctx context.Context, in contract.AcceptIn) (contract.AcceptOut, error) {
	genuine, err := a.Keys.Verify(ctx, in.Answer, in.Receipt)
	if err != nil || genuine {
		return contract.AcceptOut{Genuine: genuine}, err
	}
	a.Log.ErrorContext(ctx, "an answer that no worker has given was refused: somebody completed the activity through the Temporal API",
		"activity", in.Activity, "invocationId", in.InvocationID, "tenantId", in.TenantID)
	return contract.AcceptOut{}, a.Store.Forged(ctx, Forged{
		InvocationID: in.InvocationID, TenantID: in.TenantID, Activity: in.Activity, Answer: hex.EncodeToString(in.Answer),
	})
}
