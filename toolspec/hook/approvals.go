package hook

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/pawl-run/pawl/toolspec"
)

// Bounds of Approvals. A policy has the same bounds.
const (
	// MaxApprovers bounds a list of approvers, in entries.
	MaxApprovers = 256
	// MaxQuorum bounds a quorum, in people.
	MaxQuorum = 16
	// MaxChain bounds a chain, in entries.
	MaxChain = 8
	// MinExpiry is the shortest lifetime of a request.
	MinExpiry = time.Second
	// MaxExpiry is the longest lifetime of a request.
	MaxExpiry = 30 * 24 * time.Hour

	maxEntryName = 100 // characters
	maxApprover  = 201 // characters
)

// NamesApprovers lets the hook set Ask.Approvals, which name people who must approve. The hook needs a
// function at willCheckConsent and must not be Durable. Pawl runs this function before each approval
// request and after each edit of the arguments, with the arguments that the request shows, even if
// policy already requires an approval.
func NamesApprovers() Option { return option(func(h *Hook) { h.namesApprovers = true }) }

func (h Hook) checkNamesApprovers() error {
	if !h.namesApprovers {
		return nil
	}
	if _, ok := h.at(WillCheckConsent.stage); !ok {
		return fmt.Errorf("hook %q names approvers and has no function at %s: only that stage asks for an approval", h.name, WillCheckConsent.stage)
	}
	if h.durable != 0 {
		return fmt.Errorf("hook %q names approvers and is durable: make the part that names approvers a hook of its own", h.name)
	}
	return nil
}

// approverHooks returns the hooks among names that run before each approval request. These are all hooks
// that are not durable if at least one of the hooks has the option NamesApprovers. Otherwise there are none.
func (r *Registry) approverHooks(names []string) (approverHooks []string) {
	if !slices.ContainsFunc(names, func(name string) bool { return r.byName[name].namesApprovers }) {
		return nil
	}
	for _, name := range names {
		if r.byName[name].durable == 0 {
			approverHooks = append(approverHooks, name)
		}
	}
	return approverHooks
}

// Approvals are the people who must approve a call in addition to the approvers of policy. A
// request is approved when the approvers of policy and the approvers of every hook have approved.
// One approval counts for policy and for each hook that names its approver.
type Approvals struct {
	// Approvers are the people who may approve, at most MaxApprovers: identities such as
	// "user:ann", prefixes of identities such as "user:*", and "role:NAME" for every identity
	// with that role. "*" is anyone.
	Approvers []string `json:"approvers,omitempty"`
	// Quorum is the number of different Approvers who have to approve, at most MaxQuorum; 0
	// means 1.
	Quorum int `json:"quorum,omitempty"`
	// Chain asks several sets of people, one after the other. It replaces Approvers and Quorum
	// and has at most MaxChain entries.
	Chain []ChainEntry `json:"chain,omitempty"`
	// ExpiresAfter is the longest lifetime of the request: whole seconds from MinExpiry to
	// MaxExpiry. The shortest lifetime of policy and all hooks counts; 0 leaves it as it is.
	ExpiresAfter time.Duration `json:"expiresAfterNs,omitempty"`
}

// ChainEntry is an entry of Approvals.Chain.
type ChainEntry struct {
	// Name is the name of the entry for people: "team lead". If it is empty, the approvers are
	// shown.
	Name string `json:"name,omitempty"`
	// Approvers are as in Approvals.
	Approvers []string `json:"approvers"`
	// Quorum is as in Approvals.
	Quorum int `json:"quorum,omitempty"`
}

// Names reports whether the approvals name people. Otherwise they only have a lifetime.
func (a *Approvals) Names() bool { return a != nil && (len(a.Approvers) > 0 || len(a.Chain) > 0) }

// Entries returns the chain, or one entry for approvals without a chain.
func (a *Approvals) Entries() []ChainEntry {
	if len(a.Chain) > 0 {
		return a.Chain
	}
	return []ChainEntry{{Approvers: a.Approvers, Quorum: a.Quorum}}
}

// size returns the number of bytes of the names.
func (a *Approvals) size() (n int) {
	if a == nil {
		return 0
	}
	for _, s := range a.Entries() {
		n += len(s.Name)
		for _, name := range s.Approvers {
			n += len(name)
		}
	}
	return n
}

func (a *Approvals) clone() *Approvals {
	if a == nil {
		return nil
	}
	c := *a
	c.Approvers, c.Chain = slices.Clone(a.Approvers), slices.Clone(a.Chain)
	for i := range c.Chain {
		c.Chain[i].Approvers = slices.Clone(c.Chain[i].Approvers)
	}
	return &c
}

// Check returns an error if a policy could not have these approvals, or if a list of approvers is empty.
// In a policy, an empty list means anyone; a hook must write "*" for that. The error contains no names.
func (a *Approvals) Check() error {
	if a == nil {
		return nil
	}
	switch {
	case a.ExpiresAfter != 0 && (a.ExpiresAfter < MinExpiry || a.ExpiresAfter > MaxExpiry || a.ExpiresAfter%time.Second != 0):
		return errors.New("ExpiresAfter must be whole seconds from 1s to 30d")
	case len(a.Chain) > 0 && (a.Approvers != nil || a.Quorum != 0):
		return errors.New("a chain replaces Approvers and Quorum; they belong to its entries")
	case a.Chain != nil && len(a.Chain) == 0:
		return errors.New("the chain is empty")
	case len(a.Chain) > MaxChain:
		return fmt.Errorf("the chain has more than %d entries", MaxChain)
	case a.Chain == nil && a.Approvers == nil && a.Quorum == 0:
		if a.ExpiresAfter == 0 {
			return errors.New("they are empty; name approvers")
		}
		return nil
	}
	for _, s := range a.Entries() {
		if err := s.check(); err != nil {
			return err
		}
	}
	return nil
}

func (s ChainEntry) check() error {
	switch {
	case len(s.Approvers) == 0:
		return errors.New(`a set of approvers is empty; name them, or "*" for anyone`)
	case len(s.Approvers) > MaxApprovers:
		return fmt.Errorf("a set has more than %d approvers", MaxApprovers)
	case s.Quorum < 0 || s.Quorum > MaxQuorum:
		return fmt.Errorf("a quorum is at most %d", MaxQuorum)
	}
	if s.Name != "" {
		if toolspec.SecretValue(s.Name) {
			return errors.New("the name of an entry of the chain has the shape of a secret")
		}
		if err := toolspec.CheckVisible("the name of an entry of the chain", s.Name, maxEntryName); err != nil {
			return err
		}
	}
	people, open := map[string]bool{}, false
	for _, name := range s.Approvers {
		if err := checkApprover(name); err != nil {
			return err
		}
		people[name] = true
		open = open || strings.HasSuffix(name, "*") || strings.HasPrefix(name, rolePrefix)
	}
	if !open && len(people) < s.Quorum {
		return fmt.Errorf("a quorum asks for %d approvals and names %d people", s.Quorum, len(people))
	}
	return nil
}

const rolePrefix = "role:"

// checkApprover returns an error if the name is not valid in a policy.
func checkApprover(name string) error {
	prefix, glob := strings.CutSuffix(name, "*")
	whole := prefix
	if glob {
		whole += "x" // a prefix may end in a space, because more characters follow it
	}
	role, isRole := strings.CutPrefix(name, rolePrefix)
	switch {
	case strings.Contains(prefix, "*"):
		return errors.New("in the name of an approver, * may stand only at the end")
	case isRole && (role == "" || glob):
		return errors.New("a role is named exactly, such as role:security")
	case toolspec.SecretValue(name):
		return errors.New("the name of an approver has the shape of a secret")
	}
	return toolspec.CheckVisible("the name of an approver", whole, maxApprover)
}
