package document

// Mode says which calls need an approval if no rule decides. It lifts no deny, no
// require_approval and no budget.
type Mode string

// The modes.
const (
	// Yolo never asks for an approval.
	Yolo Mode = "yolo"
	// Auto asks for an approval if the risk is medium or high.
	Auto Mode = "auto"
	// Ask always asks for an approval. It is the default mode of a tenant.
	Ask Mode = "ask"
)
