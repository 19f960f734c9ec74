// Package pawl is the client side of Pawl: Caller, Service, Consumer. Package pawltest has a fake for unit tests.
package pawl

import "fmt"

// Kind says what an error means for the operation. Compare with errors.Is(err, pawl.Unknown).
type Kind string

func (k Kind) Error() string { return string(k) }

const (
	// Unknown: it may have happened. Never send it under a new key: look it up, or try again with the same one.
	Unknown Kind = "Unknown"
	// Misuse: the key stands for another request, or is no key: a bug in this program.
	Misuse Kind = "Misuse"
	// Refused: Pawl refused it before anything was executed, and trying again as it is does not help.
	Refused Kind = "Refused"
	// Unavailable: nothing was executed, and the time ran out. The same key may be tried later.
	Unavailable Kind = "Unavailable"
	// InFlight (Consumer): another owner is at it now.
	InFlight Kind = "InFlight"
	// LeaseLost (Consumer): the lease ended while the work ran. It is Unknown as well.
	LeaseLost Kind = "LeaseLost"
	// StaleFence: another owner has this request now. Nothing of this transaction was kept.
	StaleFence Kind = "StaleFence"
	// TransactionEnded (Service): the handler committed or rolled back the transaction that it was given.
	TransactionEnded Kind = "TransactionEnded"
	// EnqueueConflict: another message was enqueued in this place before (PW002).
	EnqueueConflict Kind = "EnqueueConflict"
	// NotGuarded (Service): the request did not come through a transactional route of Pawl.
	NotGuarded Kind = "NotGuarded"
	// NotExecuted is returned by a consumer's work, and only where it is certain that nothing happened.
	NotExecuted Kind = "NotExecuted"
)

// Error is every error of this package. Keep the key: a later try must use the same one.
type Error struct {
	Kind    Kind
	Message string
	Key     string
	Code    string  // of Pawl's problem document, e.g. outcome-unknown
	Status  int     // the last HTTP status, if there was an answer
	Answer  *Answer // the last answer, if there was one
	Cause   error
}

func (e *Error) Error() string {
	if e.Cause != nil {
		return fmt.Sprintf("%s: %s: %v", e.Kind, e.Message, e.Cause)
	}
	return fmt.Sprintf("%s: %s", e.Kind, e.Message)
}

func (e *Error) Unwrap() error { return e.Cause }

// Is makes errors.Is(err, pawl.Unknown) work; a lost lease is unknown too.
func (e *Error) Is(target error) bool {
	kind, ok := target.(Kind)
	return ok && (kind == e.Kind || (kind == Unknown && e.Kind == LeaseLost))
}
