package toolspec

// Effect says what a tool may change. Every tool declares one (EFFECT_TYPED).
type Effect string

// The three effects, from harmless to far-reaching.
const (
	// ReadOnly computes or reads; running it twice harms nobody.
	ReadOnly Effect = "read_only"
	// StateChange writes the application's own state: files, rows.
	StateChange Effect = "state_change"
	// ExternalSideEffect reaches other systems: mail, payments, webhooks, shells.
	ExternalSideEffect Effect = "external_side_effect"
)

// Valid reports whether e is one of the three effects.
func (e Effect) Valid() bool {
	switch e {
	case ReadOnly, StateChange, ExternalSideEffect:
		return true
	}
	return false
}

// Risk is how much a person should worry about a call. It is declared beside
// the effect: either can demand an approval.
type Risk string

// The three risks.
const (
	LowRisk    Risk = "low"
	MediumRisk Risk = "medium"
	HighRisk   Risk = "high"
)

// Valid reports whether r is one of the three risks.
func (r Risk) Valid() bool {
	switch r {
	case LowRisk, MediumRisk, HighRisk:
		return true
	}
	return false
}
