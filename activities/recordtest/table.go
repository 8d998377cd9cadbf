package recordtest

import (
	"github.com/pawl-run/pawl/activities/stage"
	"github.com/pawl-run/pawl/toolspec"
	"github.com/pawl-run/pawl/workflows/contract"
)

// ownedBut checks that no run owns a call that differs from the admitted call by change.
func ownedBut(change func(*stage.OwnedRow)) owned { return owned{epoch: 1, change: change} }

// another is the id of a claim by another execution of the same dispatch.
const another = "another-execution"

var table = []testCase{
	// Admit
	{"admit opens the record", []step{admit{epoch: 1}}},
	{"each run has an epoch", []step{admit{epoch: 1}, admit{run: second, epoch: 2}, admit{epoch: 3}}},
	{"another input is another call", []step{admit{}, admit{input: "digest-2", epoch: 1}, admit{epoch: 2}}},
	{"an open call belongs to its namespace", []step{admit{}, admit{run: second, namespace: "others", elsewhere: true}, admit{epoch: 2}}},
	{"a settled call answers, and has no more epochs", []step{
		admit{},
		settle{epoch: 1, want: contract.Done},
		admit{run: second, code: ok, epoch: 1},
		admit{input: "digest-2", code: ok, epoch: 1},
	}},
	{"admit returns the highest dispatch", []step{
		admit{},
		claim{epoch: 1, dispatch: 3, want: contract.Done},
		admit{epoch: 2, rounds: contract.Rounds{Dispatch: 3}},
		check{epoch: 2, dispatch: 5, want: contract.Free, raised: 3, claims: claims(3)},
		admit{epoch: 4, rounds: contract.Rounds{Dispatch: 5}},
	}},

	// Owned
	{"a call is its last run's", []step{
		admit{},
		owned{epoch: 1, want: true},
		owned{epoch: 2},
		owned{run: second, epoch: 1},
		owned{run: "none", epoch: 1},
		admit{run: second},
		owned{epoch: 1},
		owned{epoch: 2},
		owned{run: second, epoch: 2, want: true},
	}},
	{"nobody owns a settled call", []step{admit{}, settle{epoch: 1, want: contract.Done}, owned{epoch: 1}}},
	{"owned compares the call", []step{
		admit{},
		ownedBut(func(o *stage.OwnedRow) { o.ToolID = "core__other" }),
		ownedBut(func(o *stage.OwnedRow) { o.ToolCallID = "call_2" }),
		ownedBut(func(o *stage.OwnedRow) { o.Context.TenantID = "other" }),
		ownedBut(func(o *stage.OwnedRow) { o.Context.RunID = "run_2" }),
		ownedBut(func(o *stage.OwnedRow) { o.Context.ActorID = "user:eve" }),
		ownedBut(func(o *stage.OwnedRow) { o.Context.SubjectID = "user:eve" }),
		ownedBut(func(o *stage.OwnedRow) { o.Context.SessionID = "s1" }),
		ownedBut(func(o *stage.OwnedRow) { o.Context.ConnectionID = "c1" }),
	}},

	// Claim
	{"only the run of the record claims", []step{
		admit{},
		claim{run: second, epoch: 1, dispatch: 1, want: contract.Superseded},
		claim{run: "none", epoch: 1, dispatch: 1, want: contract.Superseded},
		claim{epoch: 2, dispatch: 1, want: contract.Superseded},
		claim{tenant: "other", epoch: 1, dispatch: 1, want: contract.Superseded},
		claim{tool: "core__other", epoch: 1, dispatch: 1, want: contract.Superseded},
		claim{epoch: 1, dispatch: 1, want: contract.Done},
	}},
	{"a run that was superseded claims nothing", []step{
		admit{},
		admit{run: second, epoch: 2},
		claim{epoch: 1, dispatch: 1, want: contract.Superseded},
		claim{epoch: 2, dispatch: 1, want: contract.Superseded},
		claim{run: second, epoch: 1, dispatch: 1, want: contract.Superseded},
		claim{run: second, epoch: 2, dispatch: 1, want: contract.Done},
	}},
	{"a reset keeps epoch and number, and not the run", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, want: contract.Done},
		claim{run: second, epoch: 1, dispatch: 1, id: another, want: contract.Superseded},
		claim{run: second, epoch: 1, dispatch: 2, answered: []contract.Claim{{Dispatch: 1}}, want: contract.Superseded},
	}},
	{"what may have happened is not repeated", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, want: contract.Done},
		claim{epoch: 1, dispatch: 1, id: another, want: contract.Claimed},
		claim{epoch: 1, dispatch: 1, id: another, repeatable: true, want: contract.Claimed},
		claim{epoch: 1, dispatch: 2, want: contract.Claimed},
		claim{epoch: 1, dispatch: 2, repeatable: true, want: contract.Claimed},
	}},
	{"a new epoch forgets no claim", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, want: contract.Done},
		admit{run: second},
		claim{run: second, epoch: 2, dispatch: 2, want: contract.Claimed},
		claim{run: second, epoch: 2, dispatch: 2, answered: claims(1), want: contract.Done},
	}},
	{"an answer accounts for its own claim", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, want: contract.Done},
		claim{epoch: 1, dispatch: 2, answered: claims(7), want: contract.Claimed},
		claim{epoch: 1, dispatch: 2, answered: []contract.Claim{{Dispatch: 1}}, want: contract.Claimed},
		claim{epoch: 1, dispatch: 2, answered: []contract.Claim{{Dispatch: 1, ID: another}}, want: contract.Claimed},
		claim{epoch: 1, dispatch: 2, answered: []contract.Claim{{Dispatch: 2, ID: claimID(1)}}, want: contract.Claimed},
		claim{epoch: 1, dispatch: 2, answered: claims(1), want: contract.Done},
		claim{epoch: 1, dispatch: 3, answered: claims(1), want: contract.Claimed},
		claim{epoch: 1, dispatch: 3, answered: claims(1, 2), want: contract.Done},
	}},
	{"what is repeatable is repeated, under another number", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, repeatable: true, want: contract.Done},
		claim{epoch: 1, dispatch: 1, repeatable: true, id: another, want: contract.Redelivered},
		claim{epoch: 1, dispatch: 2, repeatable: true, want: contract.Done},
	}},
	{"what may be repeated no more is not", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, repeatable: true, want: contract.Done},
		claim{epoch: 1, dispatch: 2, want: contract.Claimed},
		claim{epoch: 1, dispatch: 2, answered: claims(1), want: contract.Done},
	}},
	{"an answered number is not used again", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, want: contract.Done},
		claim{epoch: 1, dispatch: 1, id: another, answered: claims(1), want: contract.Redelivered},
	}},
	{"a settled call is not claimed", []step{admit{}, settle{epoch: 1, want: contract.Done}, claim{epoch: 1, dispatch: 1, want: contract.Superseded}}},

	// The claimed lane
	{"an answer is kept for the run that owns the call", []step{
		admit{},
		earlier{epoch: 1},
		claim{epoch: 1, dispatch: 1, subject: "s", want: contract.Done},
		earlier{epoch: 1, dispatch: 1, runs: true},
		keep{dispatch: 1, subject: "s"},
		earlier{epoch: 1, dispatch: 1, subject: "s", runs: true},
		earlier{epoch: 2},
		earlier{epoch: 1, run: second},
		earlier{epoch: 1, run: "none"},
		earlier{epoch: 1, tenant: "other"},
		earlier{epoch: 1, answered: claims(1)},
		earlier{epoch: 1, answered: []contract.Claim{{Dispatch: 1, ID: another}}, dispatch: 1, subject: "s", runs: true},
		earlier{epoch: 1, answered: []contract.Claim{{Dispatch: 2, ID: claimID(1)}}, dispatch: 1, subject: "s", runs: true},
	}},
	{"an answer is kept for its own claim", []step{
		admit{},
		keep{dispatch: 1, subject: "s"},
		claim{epoch: 1, dispatch: 1, subject: "s", want: contract.Done},
		keep{dispatch: 1, id: another, subject: "s"},
		keep{dispatch: 2, subject: "s"},
		earlier{epoch: 1, dispatch: 1, runs: true},
	}},
	{"an answer that comes late is kept for the next epoch", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, subject: "s", want: contract.Done},
		admit{epoch: 2},
		keep{dispatch: 1, subject: "s"},
		claim{epoch: 2, dispatch: 2, subject: "s", want: contract.Claimed},
		earlier{epoch: 2, dispatch: 1, subject: "s", runs: true},
		settle{epoch: 2, claims: claims(1), want: contract.Done},
	}},
	{"a kept answer blocks what may be repeated", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, subject: "s", repeatable: true, ended: true, want: contract.Done},
		keep{dispatch: 1, subject: "s"},
		claim{epoch: 1, dispatch: 2, subject: "s", repeatable: true, want: contract.Claimed},
		earlier{epoch: 1, dispatch: 1, subject: "s"},
		claim{epoch: 1, dispatch: 2, subject: "s", repeatable: true, answered: claims(1), want: contract.Done},
	}},
	{"a kept answer of something else blocks nothing", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, subject: "s", repeatable: true, want: contract.Done},
		keep{dispatch: 1, subject: "s"},
		claim{epoch: 1, dispatch: 2, subject: "other", repeatable: true, want: contract.Done},
		claim{epoch: 1, dispatch: 3, subject: "other", repeatable: true, want: contract.Claimed},
		earlier{epoch: 1, of: "other", dispatch: 2, runs: true},
	}},
	{"an answer that comes after the next claim is found", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, subject: "s", repeatable: true, ended: true, want: contract.Done},
		claim{epoch: 1, dispatch: 2, subject: "s", repeatable: true, ended: true, want: contract.Done},
		keep{dispatch: 1, subject: "s"},
		claim{epoch: 1, dispatch: 3, subject: "s", repeatable: true, want: contract.Claimed},
		earlier{epoch: 1, dispatch: 1, subject: "s"},
		earlier{epoch: 1, of: "other", dispatch: 2},
		earlier{epoch: 1, answered: claims(1), dispatch: 2},
	}},
	{"a kept answer frees nothing that must not be repeated", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, subject: "s", ended: true, want: contract.Done},
		keep{dispatch: 1, subject: "s"},
		claim{epoch: 1, dispatch: 2, subject: "other", want: contract.Claimed},
		settle{epoch: 1, want: contract.Unaccounted, unaccounted: claims(1)},
		earlier{epoch: 1, dispatch: 1, subject: "s"},
	}},
	{"in the claimed lane, a tool that may still run blocks the next dispatch", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, subject: "s", repeatable: true, want: contract.Done},
		claim{epoch: 1, dispatch: 1, subject: "s", repeatable: true, id: another, want: contract.Claimed},
		claim{epoch: 1, dispatch: 2, subject: "s", repeatable: true, want: contract.Claimed},
		claim{epoch: 1, dispatch: 2, repeatable: true, want: contract.Done},
	}},
	{"in the claimed lane, a tool that has ended is repeated under another number", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, subject: "s", repeatable: true, ended: true, want: contract.Done},
		claim{epoch: 1, dispatch: 1, subject: "s", repeatable: true, id: another, want: contract.Redelivered},
		claim{epoch: 1, dispatch: 2, subject: "s", repeatable: true, want: contract.Done},
	}},
	{"a settled call keeps no answer", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, subject: "s", want: contract.Done},
		keep{dispatch: 1, subject: "s"},
		settle{epoch: 1, claims: claims(1), want: contract.Done},
		keep{dispatch: 1, subject: "s"},
		earlier{epoch: 1},
	}},

	// Check
	{"only the run of the record checks", []step{
		admit{},
		check{run: second, epoch: 1, dispatch: 1, want: contract.Superseded},
		check{run: "none", epoch: 1, dispatch: 1, want: contract.Superseded},
		check{epoch: 2, dispatch: 1, want: contract.Superseded},
		claim{epoch: 1, dispatch: 1, want: contract.Done},
	}},
	{"a claim that began is lost", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, want: contract.Done},
		check{epoch: 1, dispatch: 1, want: contract.Lost, raised: 1, claims: claims(1)},
	}},
	{"a claim that did not begin never will", []step{
		admit{},
		check{epoch: 1, dispatch: 1, want: contract.Free, raised: 2},
		claim{epoch: 1, dispatch: 1, want: contract.Superseded},
		claim{epoch: 2, dispatch: 1, want: contract.Tombstoned},
		claim{epoch: 2, dispatch: 1, repeatable: true, want: contract.Tombstoned},
		claim{epoch: 2, dispatch: 2, want: contract.Done},
	}},
	{"a tombstone is put once", []step{
		admit{},
		check{epoch: 1, dispatch: 1, want: contract.Free, raised: 2},
		check{epoch: 1, dispatch: 1, want: contract.Superseded},
		check{epoch: 2, dispatch: 1, want: contract.Free, raised: 2},
		claim{epoch: 2, dispatch: 2, want: contract.Done},
	}},
	{"a tombstone is no claim", []step{
		admit{},
		check{epoch: 1, dispatch: 1, want: contract.Free, raised: 2},
		earlier{epoch: 2},
		settle{epoch: 2, code: toolspec.CodePolicyDenied, want: contract.Done},
	}},
	{"a settled call is not checked", []step{admit{}, settle{epoch: 1, want: contract.Done}, check{epoch: 1, dispatch: 1, want: contract.Superseded}}},

	// Settle
	{"only the run of the record settles", []step{
		admit{},
		settle{run: second, epoch: 1, want: contract.Superseded},
		settle{run: "none", epoch: 1, want: contract.Superseded},
		settle{epoch: 2, want: contract.Superseded},
		settle{tenant: "other", epoch: 1, want: contract.Superseded},
		settle{epoch: 1, want: contract.Done},
	}},
	{"the first result stands, whoever brings another", []step{
		admit{},
		settle{epoch: 1, want: contract.Done},
		settle{epoch: 1, code: toolspec.CodeCancelled, want: contract.AlreadySettled, found: ok},
		settle{epoch: 7, code: toolspec.CodeCancelled, want: contract.AlreadySettled, found: ok},
		settle{run: second, epoch: 1, code: toolspec.CodeCancelled, want: contract.AlreadySettled, found: ok},
	}},
	{"a result tells of each claim", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, want: contract.Done},
		settle{epoch: 1, code: toolspec.CodePolicyDenied, want: contract.Unaccounted, unaccounted: claims(1)},
		settle{epoch: 1, code: toolspec.CodeCancelled, want: contract.Unaccounted, unaccounted: claims(1)},
		settle{epoch: 1, want: contract.Unaccounted, unaccounted: claims(1)},
		settle{epoch: 1, claims: []contract.Claim{{Dispatch: 1, ID: another}, {Dispatch: 1}, {Dispatch: 2, ID: claimID(1)}}, want: contract.Unaccounted, unaccounted: claims(1)},
		settle{epoch: 1, claims: claims(1), want: contract.Done},
	}},
	{"an unknown outcome tells of all claims", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, want: contract.Done},
		settle{epoch: 1, code: toolspec.CodeOutcomeUnknown, want: contract.Done},
	}},
	{"what may be repeated need not be told of", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, repeatable: true, want: contract.Done},
		settle{epoch: 1, code: toolspec.CodePolicyDenied, want: contract.Done},
	}},
	{"a new run tells of the claims of the one before", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, want: contract.Done},
		admit{run: second, epoch: 2},
		settle{run: second, epoch: 2, code: toolspec.CodePolicyDenied, want: contract.Unaccounted, unaccounted: claims(1)},
		settle{run: second, epoch: 2, code: toolspec.CodeOutcomeUnknown, want: contract.Done},
	}},

	// Sweep
	{"a call that began nothing ends as its workflow did", []step{
		admit{},
		sweep{epoch: 1, want: toolspec.CodeCancelled},
		sweep{epoch: 1},
		sweep{epoch: 2},
		claim{epoch: 1, dispatch: 1, want: contract.Superseded},
		settle{epoch: 1, want: contract.AlreadySettled, found: toolspec.CodeCancelled},
		admit{run: second, code: toolspec.CodeCancelled, epoch: 2},
	}},
	{"a call that began has an unknown outcome", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, want: contract.Done},
		sweep{epoch: 1, want: toolspec.CodeOutcomeUnknown},
		admit{run: second, code: toolspec.CodeOutcomeUnknown, epoch: 2},
	}},
	{"a call that may be repeated ends as its workflow did", []step{
		admit{},
		claim{epoch: 1, dispatch: 1, repeatable: true, want: contract.Done},
		sweep{epoch: 1, want: toolspec.CodeCancelled},
	}},
	{"a buried claim is not swept as one", []step{
		admit{},
		check{epoch: 1, dispatch: 1, want: contract.Free, raised: 2},
		sweep{epoch: 2, want: toolspec.CodeCancelled},
	}},
	{"only what was looked at is swept", []step{
		admit{},
		sweep{epoch: 1, namespace: "others"},
		sweep{epoch: 1, run: second},
		admit{run: second, epoch: 2},
		sweep{epoch: 1, run: second},
		sweep{epoch: 2},
		claim{run: second, epoch: 2, dispatch: 1, want: contract.Done},
		settle{run: second, epoch: 2, claims: claims(1), want: contract.Done},
		sweep{run: second, epoch: 2},
	}},
}
