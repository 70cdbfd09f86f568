package sandbox

import "context"

// Backend runs commands under profiles. All methods are safe for concurrent use. More abilities are optional
// interfaces, found by a type assertion.
type Backend interface {
	// Name is the backend's short name ("native", "docker"). It is also Result.Backend.
	Name() string

	// Ready answers what a call with p would enforce here and now, without running a program of the caller's. The
	// error is nil exactly when a call would not be refused; the Report is as complete as could be found out either way.
	Ready(ctx context.Context, p ContainerProfile) (Report, error)

	// Prepare does what a call must not spend its time on: fetching an image, resolving an interpreter. It may be
	// called any number of times and is never required; a call that misses something says what to prepare.
	Prepare(ctx context.Context, p ContainerProfile) error

	// Run runs c under p and returns when the program has ended and nothing of the sandbox is left. An error means
	// that the program did not run as asked; everything the program did itself, a non-zero exit and every limit
	// included, is in the Result. When ctx ends first, the sandbox is killed and the Result's status is
	// StatusCanceled; a ctx that has ended before the start is an error, and nothing runs.
	Run(ctx context.Context, p ContainerProfile, c Command) (Result, error)

	// Close kills what still runs, waits for it and gives back every resource. Calls after Close are refused.
	Close() error
}
