package contract

import (
	"context"
	"crypto/sha256"

	"go.temporal.io/api/common/v1"
)

// receiptKey is the metadata key for the receipt in the payload of an answer. If a codec
// is configured, it encrypts the receipt together with the payload.
const receiptKey = "pawl-receipt"

// Signer signs texts with a key that only workers have. It marks a temporary error with
// errs.Transient.
type Signer interface {
	// Sign returns a signature of text, in printable ASCII.
	Sign(ctx context.Context, text []byte) (string, error)
}

// AcceptIn is the input of Accept, which checks whether an answer comes from a worker.
type AcceptIn struct {
	InvocationID string `json:"invocationId"`
	TenantID     string `json:"tenantId"`
	// Activity is the name of the activity that the answer belongs to.
	Activity string `json:"activity"`
	// Answer is the AnswerDigest of the answer, which the receipt signs.
	Answer []byte `json:"answer"`
	// Receipt is empty if the answer has no receipt.
	Receipt string `json:"receipt,omitempty"`
}

// AcceptOut says whether the answer comes from a worker.
type AcceptOut struct {
	Genuine bool `json:"genuine"`
}

// AnswerDigest returns the digest that a receipt signs: the SHA-256 of the SHA-256 of
// the input, the SHA-256 of the answer, the name of the activity and the workflow id.
// Input and answer are hashed as they were sent.
//
// The input names the call, its epoch, dispatch and round, so a receipt is valid for one
// input only. The workflow id is in the digest because somebody could schedule the same
// input in another workflow. The run id is not in the digest, because a reset passes the
// answers to a new run.
func AnswerDigest(activity, workflowID string, input, answer []byte) []byte {
	in, out := sha256.Sum256(input), sha256.Sum256(answer)
	h := sha256.New()
	h.Write(in[:])
	h.Write(out[:])
	h.Write([]byte("pawl answer " + activity + "\x00" + workflowID))
	return h.Sum(nil)
}

// sign adds a receipt to the metadata of answer.
func sign(ctx context.Context, signer Signer, activity string, input, answer *common.Payload) error {
	receipt, err := signer.Sign(ctx, AnswerDigest(activity, Executing(ctx).WorkflowID, input.GetData(), answer.GetData()))
	if err != nil {
		return err
	}
	answer.Metadata[receiptKey] = []byte(receipt)
	return nil
}

// ReceiptOf returns the receipt of an answer, or an empty string if it has none.
func ReceiptOf(answer *common.Payload) string { return string(answer.GetMetadata()[receiptKey]) }
